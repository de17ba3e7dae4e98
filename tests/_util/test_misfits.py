"""The search for the argument that a failed call cannot work with is bounded."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from fullrecall import Sample, evaluate
from fullrecall._util.misfits import Misfit, misfit
from fullrecall.measures.findings import CreditStep

read: list[object] = []


class Counted(list[Any]):
    """A list that counts the items read from it."""

    def __iter__(self) -> Iterator[Any]:
        for each in super().__iter__():
            read.append(each)
            yield each


def call(values: Any) -> None:
    """Take any values."""


def test_a_bounded_part_of_the_arguments_is_read() -> None:
    """A wrong item is found among the first ones; of a million items, a tenth is read."""
    many = Counted([Counted(["a"] * 1_000) for _ in range(1_000)])
    assert misfit(call, {"values": many}) is None
    assert 90_000 < len(read) < 110_000
    many[50][3] = "\ud800"
    found = misfit(call, {"values": many})
    assert found is not None
    assert found.problem.startswith("has an item that must be a text without NUL")


def test_each_source_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search reads the source of a module once, and not for each sample."""
    sources: list[object] = []
    getsource = inspect.getsource

    def counted(module: Any) -> str:
        sources.append(module)
        return getsource(module)

    monkeypatch.setattr(inspect, "getsource", counted)
    assert misfit(evaluate, {"samples": [Sample(user_input="q"), Sample()]}) is None
    assert len(sources) == len(set(sources))


def texts(by_name: Mapping[str, str]) -> None:
    """Take texts by their names."""


def test_keys_values_and_fields_are_checked() -> None:
    """A key or a value of another type is a misfit, and so is a field of a named tuple."""
    assert misfit(texts, {"by_name": {"a": "b"}}) is None
    for wrong in ({"a": 1}, {1: "a"}):
        found = misfit(texts, {"by_name": wrong})
        assert found == Misfit("by_name", f"must be Mapping[str, str], got {wrong}")
    step: Any = CreditStep("x", 1.0)  # type: ignore[arg-type]
    assert misfit(call, {"values": step}) == Misfit("values.rank", "must be int, got 'x'")
