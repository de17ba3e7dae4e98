"""`fullrecall doctor`: check whether the installed packages work."""

from __future__ import annotations

import platform
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from itertools import groupby, starmap
from typing import Literal, NamedTuple

import typer
from packaging.requirements import Requirement

from fullrecall.cli import options
from fullrecall.cli.console import show, write_json
from fullrecall.cli.streams import write
from fullrecall.show import terminal
from fullrecall.show.sheet import Line, Section, Sheet
from fullrecall.show.text import NOTHING

_ADAPTERS = {
    "langchain-fullrecall": "langchain_fullrecall",
    "llama-index-evaluation-fullrecall": "llama_index.evaluation.fullrecall",
}
"""This project's distributions beside the core, each with its module."""

_FOR_DEVELOPERS = ("all", "docs", "lint", "test")
_MODULES = {
    "pyyaml": "yaml",
    **_ADAPTERS,
    "beautifulsoup4": "bs4",
    "llama-index-core": "llama_index.core",
    "opentelemetry-sdk": "opentelemetry.sdk",
}
"""Modules whose names differ from those of their distributions."""


class EnvironmentCheck(NamedTuple):
    """One checked part; `advice` tells how to install or repair it.

    A missing package of an extra is "not installed"; a missing package that is required, or one
    that cannot be imported, is "broken".
    """

    group: str
    name: str
    state: Literal["ok", "not installed", "broken"]
    version: str = ""
    advice: str = ""


def doctor(*, as_json: options.JsonOption = False) -> None:
    """Check the installation: versions, extras, what works.

    Missing extras come with an install command. Exit code 1: an installed part fails. No request
    is sent.

    Examples:
      fullrecall doctor
    """
    with terminal.console(sys.stderr).status("Trying what is installed…"):
        checks = list(_checks())
    is_well = not any(check.state == "broken" for check in checks)
    if as_json:
        write_json({"ok": is_well, "checks": [check._asdict() for check in checks]})
    else:
        _print(checks)
    if not is_well:
        raise typer.Exit(1)


def _checks() -> Iterator[EnvironmentCheck]:
    """Yield every check: of Python, and of this project's distributions with their packages."""
    yield EnvironmentCheck("core", "Python", "ok", platform.python_version())
    for name, group in {"fullrecall": "core", **dict.fromkeys(_ADAPTERS, "adapters")}.items():
        repair = "install it from fullrecall's repository, as its README says"
        own = _package(group, Requirement(name), repair)
        yield own
        if own.state != "not installed":
            yield from starmap(_package, _requirements(name, group))


def _requirements(name: str, group: str) -> Iterator[tuple[str, Requirement]]:
    """Yield the packages that a distribution needs, then those that each of its extras adds."""
    installed = distribution(name)
    extras = installed.metadata.get_all("Provides-Extra") or ()
    groups = {"": group, **{e: f"extra {e}" for e in extras if e not in _FOR_DEVELOPERS}}
    packages = [Requirement(line) for line in installed.requires or ()]
    for extra, of_group in groups.items():
        for package in packages:
            # A package that every installation needs also applies with each extra: list it once.
            is_conditional = "extra" in str(package.marker)
            applies = package.marker is None or package.marker.evaluate({"extra": extra})
            if applies and is_conditional == bool(extra) and package.name != "fullrecall":
                yield of_group, package


def _package(group: str, package: Requirement, repair: str = "") -> EnvironmentCheck:
    """Check that a distribution is installed, in the supported range, and can be imported."""
    install = repair or f"pip install {shlex.quote(f'{package.name}{package.specifier}')}"
    try:
        version = distribution(package.name).version
    except PackageNotFoundError:
        is_optional = repair or group.startswith("extra ")
        return EnvironmentCheck(
            group, package.name, "not installed" if is_optional else "broken", "", install
        )
    # A prerelease is in no range by default, but works like the release that it precedes.
    if not package.specifier.contains(version, prereleases=True):
        advice = f"{package.specifier} is supported: {install}"
        return EnvironmentCheck(group, package.name, "broken", version, advice)
    try:
        # Some packages print when they are imported: print that on standard error, so that --json
        # prints only JSON.
        with redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import_module(_MODULES.get(package.name, package.name.replace("-", "_")))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a damaged package fails in any way
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        return EnvironmentCheck(group, package.name, "broken", version, f"{problem}: {install}")
    return EnvironmentCheck(group, package.name, "ok", version)


def _print(checks: Sequence[EnvironmentCheck]) -> None:
    """Print the table, then the install and repair commands, in unbroken lines.

    An extra without any installed package is only named, since the user did not choose it.
    """
    groups = {
        group: list(members) for group, members in groupby(checks, key=lambda check: check.group)
    }
    unused = [
        group
        for group, members in groups.items()
        if all(each.state == "not installed" for each in members)
    ]
    sections = [
        Section(group, [Line(each.name, [each.version or NOTHING, each.state]) for each in members])
        for group, members in groups.items()
        if group not in unused
    ]
    show(terminal.Grid(Sheet(["version", "state"], sections)))
    if unused:
        write(f"\nNothing is installed of: {', '.join(unused)}.\n")
    # List each command once, since two extras may need the same package.
    absent = dict.fromkeys(
        f"  {each.advice}"
        for each in checks
        if each.state == "not installed" and each.group not in (*unused, "adapters")
    )
    broken = [f"  {check.name}: {check.advice}" for check in checks if check.state == "broken"]
    missing = ["", "Not installed; to install:", *absent] if absent else []
    fail = [f"{len(broken)} of {len(checks)} fail:", *broken]
    write("\n".join([*missing, "", *(fail if broken else ["Every installed part works."]), ""]))
