"""The table of all applications by every door, and the list of the failures that are known.

`PYTHONPATH=integrations/llama-index/tests/apps:integrations/llama-index/tests/doubles python -m
llama_apps.table` prints the table and rewrites the list of known failures. A repair shortens the
list; an added line is a defect.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, get_args

from llama_apps import (  # noqa: F401 - each adds its applications
    agents,
    chats,
    citations,
    contract,
    databases,
    engines,
    functions,
    indexes,
    postprocessors,
    retrievers,
    tutorials,
    workflows,
)
from llama_apps.application import APPLICATIONS
from llama_apps.doors import DOORS, Verdict, answer_of, doors_of, verdict_of
from llama_apps.parts import mock_settings

KNOWN_FAILURES = Path(__file__).parent.parent / "known_failures.txt"
"""A line for each application and kind of failure: "wrong name: door | door"."""

AGREEMENT = "agreement"
"""The name in that list for doors that record and do not all say the same."""

FAILURES: tuple[Verdict, ...] = ("wrong", "needless")


class Check(NamedTuple):
    """An application by its name, and the door through which it is asked."""

    name: str
    door: str


def checks() -> Iterator[Check]:
    """Yield every application with every door that takes it."""
    for name, application in APPLICATIONS.items():
        for door in doors_of(application):
            yield Check(name, door)


def agree(name: str) -> bool:
    """Return whether all doors that record the final list of an application give one answer."""
    said = set()
    for door in doors_of(APPLICATIONS[name]):
        is_final = door in DOORS and DOORS[door].records and DOORS[door].is_final
        if is_final and verdict_of(name, door) != "by design":
            recall, first, *_ = answer_of(name, door)
            said.add((recall, first if APPLICATIONS[name].first is not None else None))
    return len(said) == 1


def known_failures() -> dict[Check, Verdict]:
    """Return the checks that are known to fail, and how."""
    known: dict[Check, Verdict] = {}
    for line in KNOWN_FAILURES.read_text(encoding="utf-8").splitlines():
        head, _, doors = line.partition(": ")
        verdict, _, name = head.partition(" ")
        (kind,) = [each for each in FAILURES if each == verdict]
        known |= {Check(name, door): kind for door in doors.split(" | ")}
    return known


def failure_lines() -> Iterator[str]:
    """Yield the lines that the list of known failures should have."""
    failed: dict[str, list[str]] = defaultdict(list)
    for check in checks():
        verdict = verdict_of(*check)
        if verdict in FAILURES:
            failed[f"{verdict} {check.name}"].append(check.door)
    for name in contract.CONTRACT:
        if not agree(name):
            failed[f"wrong {name}"].append(AGREEMENT)
    for head, doors in failed.items():
        yield f"{head}: {' | '.join(doors)}"


def table() -> str:
    """Return how many answers of each door are right, wrong, unscored, needless, or by design."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for check in checks():
        door = check.door if check.door in DOORS else "stages"
        counts[door][verdict_of(*check)] += 1
    verdicts = get_args(Verdict)
    total = sum(counts.values(), Counter())
    rows: list[tuple[str, Mapping[str, object]]] = [("door", {each: each for each in verdicts})]
    rows += [(door, counts[door]) for door in (*DOORS, "stages")]
    rows.append(("all", total))
    return "".join(
        f"{door:<24}{''.join(f'{row[each]:>11}' for each in verdicts)}\n" for door, row in rows
    )


def print_table() -> None:
    """Print the table, and write the list of known failures anew."""
    with mock_settings():
        sys.stdout.write(table())
        KNOWN_FAILURES.write_text("".join(f"{each}\n" for each in failure_lines()), "utf-8")


if __name__ == "__main__":
    print_table()
