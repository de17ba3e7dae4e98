"""Each application gives the right number through every door, or none for a good reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_apps.application import APPLICATIONS
from langchain_apps.doors import answer_of, doors_of, forget, right_of, table, verdict_of
from langchain_apps.suite import known_failures, load

IS_WHOLE = load()
KNOWN = known_failures()
CHECKS = [(name, door) for name, each in APPLICATIONS.items() for door in doors_of(each)]

pytestmark = [
    # Chains that LangChain deprecates are still common in public code.
    pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta"),
    # The oldest version has no such parameter.
    pytest.mark.filterwarnings("ignore:The default value of `allowed_objects`"),
]


@pytest.fixture(autouse=True, scope="module")
def forgotten() -> Iterator[None]:
    """Remove all evaluators, since LangChain's runs are recorded while one exists."""
    yield
    forget()


class WrongNumberError(AssertionError):
    """An error: a door gives a wrong number."""


class NeedlesslyUnscoredError(AssertionError):
    """An error: a door gives no number, though it could."""


_ERRORS = {"wrong": WrongNumberError, "needless": NeedlesslyUnscoredError}


def _case(name: str, door: str) -> Any:
    known = KNOWN.get((name, door))
    marks = (
        [pytest.mark.xfail(strict=True, raises=_ERRORS[known.verdict], reason=known.reason)]
        if known is not None
        else []
    )
    return pytest.param(name, door, id=f"{name}-{door}", marks=marks)


@pytest.mark.parametrize(("name", "door"), [_case(*each) for each in CHECKS])
def test_every_door_is_right(name: str, door: str) -> None:
    """Each door gives the number that the application states, or none with a stated reason."""
    verdict = verdict_of(name, door)
    if verdict in _ERRORS:
        right = right_of(APPLICATIONS[name], door)
        raise _ERRORS[verdict](f"{answer_of(name, door)}, right: {right}")


def test_known_failures_are_checks() -> None:
    """Each line of the list names an application and doors of this suite."""
    unknown = KNOWN.keys() - CHECKS if IS_WHOLE else ()
    # Without the instrumentor no door reads spans.
    assert {each for each in unknown if each[1] != "spans"} == set()


def test_the_suite_has_many_new_applications() -> None:
    """The suite has at least 60 applications; half are not in the field notes."""
    new = [name for name, each in APPLICATIONS.items() if not each.in_notes]
    assert len(APPLICATIONS) >= 60
    assert 2 * len(new) >= len(APPLICATIONS)


def test_the_table_counts_every_check() -> None:
    """The table has a line for each door, whose verdicts add up to the number of checks."""
    *_, last = table().splitlines()
    assert sum(map(int, last.split()[1:])) == len(CHECKS)
