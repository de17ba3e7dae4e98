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


def checks_of(directory: Path | None = None, judge: Judge | None = None) -> Iterator[Check]:
    """Yield every check: of the installation, of a store in `directory`, and of `judge`, if any.

    Only a `judge` that asks a model sends anything.
    """
    problems = _problems(_modules())
    yield from _core(problems)
    yield from _extras(problems)
    yield from _adapters(problems)
    yield _judge_built_in()
    yield _store_in(directory)
    if judge is not None:
        yield _asked(judge)


def _core(problems: Mapping[str, str]) -> Iterator[Check]:
    """Yield this Python, and fullrecall with what it cannot do without."""
    own = _distribution("fullrecall")
    if own is None:
        yield Check(
            "core", "fullrecall", State.BROKEN, "", f"runs uninstalled: {_reinstall('fullrecall')}"
        )
        return
    yield _python(own)
    yield Check("core", "fullrecall", State.OK, own.version)
    needed = [wanted for wanted in _requirements(own) if _applies(wanted)]
    yield from _packages("core", needed, problems)


def _extras(problems: Mapping[str, str]) -> Iterator[Check]:
    """Yield each package of each extra, with the command that installs what is not there."""
    own = _distribution("fullrecall")
    if own is None:
        return
    needed = _requirements(own)
    for extra in own.metadata.get_all("Provides-Extra") or ():
        wanted = [one for one in needed if _applies(one, extra) and not _applies(one)]
        if extra in _NOT_SHOWN:
            continue
        yield from _packages(f"extra {extra}", wanted, problems, absent=State.ABSENT)


def _adapters(problems: Mapping[str, str]) -> Iterator[Check]:
    """Yield each adapter, whether it imports, and the framework that it needs."""
    for name, module in ADAPTERS.items():
        installed = _distribution(name)
        if installed is None:
            yield Check("adapters", name, State.ABSENT, "", _reinstall(name))
            continue
        yield _tried("adapters", name, installed.version, problems[module], _reinstall(name))
        yield from _packages("adapters", _beside_us(installed), problems)


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


def _python(own: Distribution) -> Check:
    from packaging.specifiers import SpecifierSet

    wanted, version = own.metadata["Requires-Python"], platform.python_version()
    if SpecifierSet(wanted).contains(version, prereleases=True):
        return Check("core", "Python", State.OK, version)
    return Check("core", "Python", State.BROKEN, version, f"fullrecall needs Python {wanted}")


def _packages(
    group: str,
    wanted: Iterable[Requirement],
    problems: Mapping[str, str],
    *,
    absent: State = State.BROKEN,
) -> Iterator[Check]:
    """Yield for each distribution whether it is there, in the range supported, and imports."""
    wanted = list(wanted)
    missing = [_quoted(one) for one in wanted if _distribution(one.name) is None]
    for one in wanted:
        repair = f"pip install {_quoted(one)}"
        installed = _distribution(one.name)
        if installed is None:
            install = f"pip install {' '.join(missing)}"  # one command for all of the group
            how = install if absent is State.ABSENT else f"not installed: {install}"
            yield Check(group, one.name, absent, "", how)
        elif not one.specifier.contains(installed.version, prereleases=True):
            outside = f"{one.specifier} is supported: {repair}"
            yield Check(group, one.name, State.BROKEN, installed.version, outside)
        else:
            problem = problems[_module(one.name)]
            again = f"pip install --force-reinstall {_quoted(one)}"
            yield _tried(group, one.name, installed.version, problem, again)


def _quoted(wanted: Requirement) -> str:
    """Return a requirement as a shell takes it: quoted where it has a version."""
    return shlex.quote(f"{wanted.name}{wanted.specifier}")


def _reinstall(name: str) -> str:
    """Return what to do about a distribution of ours, which its repository has."""
    return f"pip install {_FOLDERS[name]}, in fullrecall's repository"


def _tried(group: str, name: str, found: str, problem: str, repair: str) -> Check:
    if problem:
        return Check(group, name, State.BROKEN, found, f"{problem}: {repair}")
    return Check(group, name, State.OK, found)


def _modules() -> list[str]:
    """Return the modules of all that fullrecall and its adapters may use, and that is installed."""
    found = []
    for name in ("fullrecall", *ADAPTERS):
        installed = _distribution(name)
        if installed is None:
            continue
        found.append(ADAPTERS.get(name, name))
        found += [_module(one.name) for one in _beside_us(installed) if _distribution(one.name)]
    return found


def _problems(modules: Iterable[str]) -> dict[str, str]:
    """Return for each module what its import raises, tried in a Python of its own.

    One that takes Python down with it is told of too, and the others are tried without it.
    """
    problems: dict[str, str] = {}
    left = list(dict.fromkeys(modules))
    while left:
        # -P: a file in the working directory that is called as a package is not meant.
        command = [sys.executable, "-P", "-W", "ignore", "-m", "fullrecall.cli.probe", *left]
        try:
            ended = subprocess.run(  # noqa: S603 - this interpreter
                command, capture_output=True, text=True, encoding="utf-8", timeout=_PATIENCE,
                check=False,
            )  # fmt: skip
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


def _beside_us(installed: Distribution) -> list[Requirement]:
    """Return what a distribution of ours needs of others, for an extra or always."""
    extras = [
        extra
        for extra in installed.metadata.get_all("Provides-Extra") or ()
        if extra not in _NOT_SHOWN
    ]
    return [
        wanted
        for wanted in _requirements(installed)
        if wanted.name != "fullrecall" and any(_applies(wanted, extra) for extra in ("", *extras))
    ]


def _applies(wanted: Requirement, extra: str = "") -> bool:
    return wanted.marker is None or wanted.marker.evaluate({"extra": extra})


def _module(name: str) -> str:
    return _MODULES.get(name, name.replace("-", "_"))


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
