"""What `fullrecall doctor` looks at: versions, extras, frameworks, the judges, a store, a model."""

from __future__ import annotations

import json
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from fullrecall.cli.problems import explained
from fullrecall.errors import FullrecallError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from fullrecall.judges import Judge

ADAPTERS: Mapping[str, str] = {
    "langchain-fullrecall": "langchain_fullrecall",
    "llama-index-evaluation-fullrecall": "llama_index.evaluation.fullrecall",
}
"""The distributions beside the core, with the module that each brings."""

_FOLDERS = {
    "fullrecall": ".",
    "langchain-fullrecall": "integrations/langchain",
    "llama-index-evaluation-fullrecall": "integrations/llama-index",
}
"""Where the repository has each distribution of ours."""

_NOT_SHOWN = ("all", "docs", "lint", "test")  # the others once more, and what developers use
_MODULES = {
    "beautifulsoup4": "bs4",
    "llama-index-core": "llama_index.core",
    "opentelemetry-sdk": "opentelemetry.sdk",
}
"""Modules that are not called as their distributions are."""

_HERE = "works here"
_PATIENCE = 300  # seconds for all imports: frameworks take their time on a cold disk
_STATEMENT = "The Eiffel Tower is in Paris."


class State(StrEnum):
    """What came out: `ABSENT` is no fault, `BROKEN` is."""

    OK = "ok"
    ABSENT = "absent"
    BROKEN = "broken"


class Check(NamedTuple):
    """One thing that was looked at. `found` is a version or the like, `advice` what to do."""

    group: str
    name: str
    state: State
    found: str = ""
    advice: str = ""


class Group(NamedTuple):
    """Packages that are looked at together: all needed, or those of an extra."""

    name: str
    wanted: list[Requirement]
    absent: State = State.BROKEN


def checks_of(directory: Path | None = None, judge: Judge | None = None) -> Iterator[Check]:
    """Yield every check: of the installation, of a store in `directory`, and of `judge`, if any.

    Only a `judge` that asks a model sends anything.
    """
    own = _distribution("fullrecall")
    groups = [] if own is None else list(_groups(own))
    adapters = {name: _distribution(name) for name in ADAPTERS}
    beside = {name: _beside(there) for name, there in adapters.items() if there is not None}
    requirements = [package for group in groups for package in group.wanted]
    requirements += [package for of_adapter in beside.values() for package in of_adapter]
    modules = [
        _module(package.name) for package in requirements if _distribution(package.name) is not None
    ]
    problems = _problems([*modules, *(ADAPTERS[name] for name in beside)])
    yield from _itself(own)
    for group in groups:
        yield from _packages(group, problems)
    for name, installed in adapters.items():
        if installed is None:
            yield Check("adapters", name, State.ABSENT, "", _reinstall(name))
            continue
        problem = problems[ADAPTERS[name]]
        yield _tried("adapters", name, installed.version, problem, _reinstall(name))
        yield from _packages(Group("adapters", beside[name]), problems)
    yield _judge_built_in()
    yield _store_in(directory)
    if judge is not None:
        yield _asked(judge)


def _itself(own: Distribution | None) -> Iterator[Check]:
    """Yield this Python, and fullrecall."""
    from packaging.specifiers import SpecifierSet

    if own is None:
        advice = f"runs uninstalled: {_reinstall('fullrecall')}"
        yield Check("core", "fullrecall", State.BROKEN, "", advice)
        return
    supported, version = own.metadata["Requires-Python"], platform.python_version()
    fits = SpecifierSet(supported).contains(version, prereleases=True)
    advice = "" if fits else f"fullrecall needs Python {supported}"
    yield Check("core", "Python", State.OK if fits else State.BROKEN, version, advice)
    yield Check("core", "fullrecall", State.OK, own.version)


def _groups(own: Distribution) -> Iterator[Group]:
    """Yield what fullrecall cannot do without, and what each extra adds."""
    requirements = _requirements(own)
    needed = [package for package in requirements if _applies(package)]
    yield Group("core", needed)
    for extra in own.metadata.get_all("Provides-Extra") or ():
        if extra not in _NOT_SHOWN:
            added = [
                package
                for package in requirements
                if _applies(package, extra) and package not in needed
            ]
            yield Group(f"extra {extra}", added, State.ABSENT)


def _judge_built_in() -> Check:
    """Return whether the built-in judge has its tables, and judges by them."""
    from fullrecall.judges.local import LexicalJudge

    try:
        problem = _misjudged(LexicalJudge())
    except Exception as error:  # noqa: BLE001 - a damaged installation fails in any way
        problem = f"{type(error).__name__}: {error}"
    return _tried(_HERE, "built-in judge", "", problem, _reinstall("fullrecall"))


def _store_in(directory: Path | None) -> Check:
    """Return whether a store works in `directory`, None for that of temporary files.

    What is written there is removed again.
    """
    name = f"store in {directory or 'a temporary directory'}"
    try:
        with TemporaryDirectory(prefix="fullrecall-doctor-", dir=directory) as folder:
            mode = _kept_in(Path(folder) / "runs.sqlite")
    except (FullrecallError, OSError) as error:
        repair = "try a directory on a local disk with --directory"
        return _tried(_HERE, name, "", "; ".join(explained(error)), repair)
    return Check(_HERE, name, State.OK, f"journal {mode}")


def _asked(judge: Judge) -> Check:
    """Return whether a judge's model answers, and in the form that is asked for."""
    began = perf_counter()
    problem = _misjudged(judge)
    took = f"{perf_counter() - began:.1f} s"
    return _tried(
        _HERE, "the judge asked", took, problem, "check --judge, --base-url and OPENAI_API_KEY"
    )


def _packages(group: Group, problems: Mapping[str, str]) -> Iterator[Check]:
    """Yield for each distribution whether it is there, in the range supported, and imports."""
    missing = [_quoted(package) for package in group.wanted if _distribution(package.name) is None]
    for package in group.wanted:
        repair = f"pip install {_quoted(package)}"
        installed = _distribution(package.name)
        if installed is None:
            install = f"pip install {' '.join(missing)}"  # one command for all of the group
            how = install if group.absent is State.ABSENT else f"not installed: {install}"
            yield Check(group.name, package.name, group.absent, "", how)
        elif not package.specifier.contains(installed.version, prereleases=True):
            outside = f"{package.specifier} is supported: {repair}"
            yield Check(group.name, package.name, State.BROKEN, installed.version, outside)
        else:
            problem = problems[_module(package.name)]
            again = f"pip install --force-reinstall {_quoted(package)}"
            yield _tried(group.name, package.name, installed.version, problem, again)


def _quoted(package: Requirement) -> str:
    """Return a requirement as a shell takes it: quoted where it has a version."""
    return shlex.quote(f"{package.name}{package.specifier}")


def _reinstall(name: str) -> str:
    """Return what to do about a distribution of ours, which its repository has."""
    return f"pip install {_FOLDERS[name]}, in fullrecall's repository"


def _tried(group: str, name: str, found: str, problem: str, repair: str) -> Check:
    if problem:
        return Check(group, name, State.BROKEN, found, f"{problem}: {repair}")
    return Check(group, name, State.OK, found)


def _problems(modules: Iterable[str]) -> dict[str, str]:
    """Return for each module what its import raises, tried in a Python of its own.

    One that takes Python down with it is reported too, and the others are tried without it.
    """
    problems: dict[str, str] = {}
    left = list(dict.fromkeys(modules))
    while left:
        # -P: a file in the working directory that is called as a package is not meant.
        command = [sys.executable, "-P", "-W", "ignore", "-m", "fullrecall.cli.probe", *left]
        try:
            ended = subprocess.run(  # noqa: S603 - this interpreter
                command,
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=_PATIENCE,
                check=False,
            )
            answers, how = ended.stdout, f"its import ends Python (exit code {ended.returncode})"
        except subprocess.TimeoutExpired as slow:
            answers = (slow.stdout or b"").decode()
            how = f"its import takes more than {_PATIENCE} seconds"
        problems |= dict(json.loads(line) for line in answers.splitlines())
        left = [name for name in left if name not in problems]
        if left:
            problems[left.pop(0)] = how
    return problems


def _misjudged(judge: Judge) -> str:
    """Return what is wrong with a judge's verdict on the plainest case; empty if nothing."""
    from fullrecall.scorers import ClaimRecall

    result = ClaimRecall(judge=judge).score(
        retrieved_contexts=[_STATEMENT], reference_claims=[_STATEMENT]
    )
    if result.score == 1.0:
        return ""
    if result.score is None:
        return result.reason
    return "answers, and calls a claim unsupported that its context states word for word"


def _kept_in(path: Path) -> str:
    """Keep something in a store, read it back, and return the journal's mode."""
    import sqlite3
    from contextlib import closing

    from fullrecall.errors import StoreError
    from fullrecall.run.sqlite import SQLiteLedger

    key, kept = "answer:doctor", '{"text": "kept"}'
    with SQLiteLedger(path) as store:
        if not store.problem:
            store.put(key, kept, "doctor").result()
        if store.problem or store.get(key).value != kept:
            raise StoreError(store.problem or f"{path} does not return what was written")
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("PRAGMA journal_mode").fetchone()[0]).upper()


def _requirements(installed: Distribution) -> list[Requirement]:
    from packaging.requirements import Requirement

    return [Requirement(line) for line in installed.requires or ()]


def _beside(adapter: Distribution) -> list[Requirement]:
    """Return what an adapter needs of others."""
    return [
        package
        for package in _requirements(adapter)
        if _applies(package) and package.name != "fullrecall"
    ]


def _applies(package: Requirement, extra: str = "") -> bool:
    return package.marker is None or package.marker.evaluate({"extra": extra})


def _module(name: str) -> str:
    return _MODULES.get(name, name.replace("-", "_"))


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
