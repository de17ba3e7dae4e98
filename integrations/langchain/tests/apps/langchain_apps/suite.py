"""All applications, and the failures that are known today."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from langchain_apps.application import APPLICATIONS
from langchain_apps.doors import doors_of

KNOWN_FAILURES = Path(__file__).parents[1] / "known_failures.txt"
"""The cases that are wrong or needlessly unscored today: a fix takes its lines out.

Under a comment that names the class of the failure, each line has the verdict, the application,
and its doors: `*` for all, `* but` for all but some.
"""

_MODULES = {"chains": "langchain_core", "several_queries": "langchain_core",
            "own_code": "langchain_core", "classic": "langchain_classic", "agents": "langchain",
            "agent_results": "langchain", "agent_teams": "langchain", "graph_runs": "langgraph",
            "graphs": "langgraph", "fan_out": "langgraph", "experiments": "langsmith",
            "tutorials": "langchain"}  # fmt: skip


def load() -> bool:
    """Declare the applications whose libraries are installed; return whether these are all."""
    installed = [name for name, library in _MODULES.items() if find_spec(library) is not None]
    for name in installed:
        import_module(f"langchain_apps.{name}")
    return len(installed) == len(_MODULES)


class KnownFailure(NamedTuple):
    """A known verdict, and the class of its failure."""

    verdict: str
    reason: str


def known_failures() -> dict[tuple[str, str], KnownFailure]:
    """Return the known failures by application and door. `load` comes first."""
    known: dict[tuple[str, str], KnownFailure] = {}
    reason = ""
    for line in KNOWN_FAILURES.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            reason = line.removeprefix("#").strip()
        elif line.strip():
            application, _, doors = line.partition(":")
            verdict, name = application.split()
            for door in _doors(name, doors):
                known[name, door] = KnownFailure(verdict, reason)
    return known


def _doors(name: str, listed: str) -> list[str]:
    whole, _, left_out = listed.strip().partition(" but ")
    if whole != "*":
        return [each.strip() for each in listed.split(",")]
    if name not in APPLICATIONS:
        return []
    out = {each.strip() for each in left_out.split(",")}
    return [each for each in doors_of(APPLICATIONS[name]) if each not in out]
