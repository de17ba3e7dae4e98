"""Several calls at the same time give what one after another would, and read no further."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar

import pytest

from fullrecall.evaluation.side_by_side import in_tasks, in_threads

Ways = Callable[[Iterator[int], int], list[object]]
inherited: ContextVar[str] = ContextVar("inherited", default="nothing")


def double(number: int) -> int:
    """Return twice a number."""
    return 2 * number


async def adouble(number: int) -> int:
    """Return twice a number, at another moment for each."""
    await asyncio.sleep(0 if number % 2 else 0.001)
    return 2 * number


def drained(results: Iterator[object]) -> list[object]:
    """Return results, and what was raised in the place of the rest."""
    found: list[object] = []
    try:
        found.extend(results)
    except ValueError as error:
        found.append(str(error))
    return found


async def adrained(results: AsyncIterator[object]) -> list[object]:
    """Return the same of an asynchronous iterator."""
    found: list[object] = []
    try:
        async for result in results:
            found.append(result)  # noqa: PERF401 - what came before the error counts
    except ValueError as error:
        found.append(str(error))
    return found


WAYS: list[Ways] = [
    lambda items, at_once: drained(in_threads(double, items, at_once)),
    lambda items, at_once: asyncio.run(adrained(in_tasks(adouble, items, at_once))),
]


@pytest.mark.parametrize("way", WAYS, ids=["threads", "tasks"])
@pytest.mark.parametrize("at_once", [1, 3, 50])
def test_results_are_in_the_order_of_the_items(way: Ways, at_once: int) -> None:
    """Whatever ends first."""
    assert way(iter(range(20)), at_once) == [2 * n for n in range(20)]
    assert way(iter(()), at_once) == []


@pytest.mark.parametrize("way", WAYS, ids=["threads", "tasks"])
@pytest.mark.parametrize("at_once", [1, 3, 50])
def test_an_error_of_the_items_waits_for_its_turn(way: Ways, at_once: int) -> None:
    """What was asked before it is not lost."""

    def items() -> Iterator[int]:
        yield from range(7)
        raise ValueError("item 7 is none")

    assert way(items(), at_once) == [*(2 * n for n in range(7)), "item 7 is none"]


def test_threads_inherit_the_context() -> None:
    """Tracing and instrumentation go by context variables."""
    token = inherited.set("this")
    try:
        found = list(in_threads(lambda _: inherited.get(), iter(range(3)), 2))
    finally:
        inherited.reset(token)
    assert found == ["this"] * 3
