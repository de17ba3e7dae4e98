"""Arguments are checked at their limits, and a wrong call names the parameter that was meant."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from fullrecall._util.counts import counted
from fullrecall._util.parameters import (
    as_path,
    check_choice,
    check_k,
    check_positive,
    check_seconds,
    check_share,
    no_parameter,
    public,
)
from fullrecall._util.values import shown
from fullrecall.errors import ParameterError

CHECKS: dict[Callable[[Any], Any], tuple[list[Any], list[Any]]] = {
    lambda v: check_k(v, "x"): ([1, 2, 10**100 - 1], [0, -1, 10**100, 1.0, True, None, "1"]),
    lambda v: check_k(v, "x", least=0): ([0, 1], [-1, False]),
    lambda v: check_seconds(v, "x"): (
        [None, 1e-9, 1, 2**53, inf],
        [0, -1, 2**53 + 2, 10**400, nan, -inf, True, "1"],
    ),
    lambda v: check_positive(v, "x"): ([1e-300, 1, 10**9], [0, -1, inf, nan, True, "1", None]),
    lambda v: check_share(v, "x"): ([0, 0.5, 1], [-1e-9, 1.000001, nan, True, False, "0", None]),
    lambda v: check_share(v, "x", whole=False): ([1e-9, 0.5, 0.999], [0, 1, -1, nan, True]),
    lambda v: check_choice(v, "x", ("a", "b")): (["a", "b"], ["", "ab", None, ["a"]]),
    lambda v: as_path(v, "x"): (
        ["a", b"a", Path("a")],
        ["", b"", "a\0", b"a\0", "\ud800", None, 1, ["a"]],
    ),
}


@pytest.mark.parametrize("check", CHECKS)
def test_values_are_taken_up_to_their_limits(check: Callable[[Any], Any]) -> None:
    """Values beyond a limit, and those of another type, are refused by the parameter's name."""
    taken, refused = CHECKS[check]
    for value in taken:
        expected = Path(os.fsdecode(value)) if value in ("a", b"a", Path("a")) else value
        assert check(value) in (None, expected)
    for value in refused:
        with pytest.raises(ParameterError, match=r"^x must be "):
            check(value)


@pytest.mark.parametrize(
    ("unknown", "names", "way"),
    [
        ("k", ["samples"], "; k belongs to a measure: pass Recall @ 7"),
        ("llm", ["samples", "judge"], ": did you mean judge?"),
        ("llm", ["samples", "lm"], ": did you mean lm?"),
        ("sampels", ["judge", "samples"], ": did you mean samples?"),
        ("zzz", ["judge", "samples"], ": choose one of judge, samples"),
        ("zzz", [], ": it has none"),
    ],
)
def test_an_unknown_parameter_names_the_one_that_was_meant(
    unknown: str, names: list[str], way: str
) -> None:
    """The advice for a known mistake comes before another tool's name, and a near name."""
    assert no_parameter(unknown, 7, names) == f" has no parameter {unknown!r}{way}"


class _Base:
    def __init__(self, size: int = 1, *, color: str = "red") -> None:
        self.size, self.color = size, color

    def cut(self, at: int, /, *, by: int = 1) -> int:
        """Return a number, unless `by` is not one."""
        return at + by

    async def acut(self, at: int) -> int:
        """Return a number."""
        return at + 1

    @classmethod
    def made(cls, size: int) -> _Base:
        """Return an object."""
        return cls(size)

    @staticmethod
    def half(number: float) -> float:
        """Return the half of a number."""
        return number / 2

    def alone(self) -> int:
        """Return a number."""
        return 1

    def anything(self, **options: Any) -> dict[str, Any]:
        """Return the options."""
        return options

    def told(self, text: str) -> str:
        """Fail with an error of Python by an argument of the right type."""
        return text + 1  # type: ignore[operator]

    def _own(self, at: int) -> int:
        return at


_Base.__module__ = "fullrecall.tests"


@public
class _Kind(_Base):
    def named(self, *, first: int, second: int = 2) -> int:
        """Return a number."""
        return first + second


_Kind.__module__ = "fullrecall.tests"
public(_Kind)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _Kind(colour="blue"), "_Kind has no parameter 'colour': did you mean color?"),
        (lambda: _Kind(1, 2), "_Kind: too many positional arguments; it takes size, color"),
        (lambda: _Kind().cut(), "_Kind.cut: missing a required .*'at'.*; it takes at, by"),
        (lambda: _Kind().cut(1, bye=2), "_Kind.cut has no parameter 'bye': did you mean by?"),
        (lambda: _Kind().alone(1), "_Kind.alone: too many.*; it takes nothing"),
        (lambda: _Kind().named(), "_Kind.named: missing.*; it takes first, second, by name"),
        (_Kind.made, "_Kind.made: missing.*; it takes size"),
        (_Kind.half, "^half: missing.*; it takes number"),
        (lambda: _Kind.half(1, n=2), "^half has no parameter 'n': choose one of number"),
    ],
)
def test_a_wrong_call_is_explained(call: Callable[[], Any], message: str) -> None:
    """The message names the class of the object, and the options; methods of bases count."""
    with pytest.raises(ParameterError, match=message):
        call()


async def _explained_later() -> None:
    await _Kind().acut(1, 2)  # type: ignore[call-arg]


def test_a_right_call_is_not_touched() -> None:
    """Right calls return their values, and errors inside of a call are raised as they are."""
    import asyncio

    kind = _Kind(2)
    assert (kind.size, kind.color, _Kind.made(3).size, _Kind.half(3)) == (2, "red", 3, 1.5)
    assert (kind.cut(1, by=2), kind.named(first=1), kind.alone()) == (3, 3, 1)
    assert kind.anything(x=1) == {"x": 1}
    assert asyncio.run(kind.acut(1)) == 2
    with pytest.raises(ParameterError, match=r"_Kind\.acut: too many.*; it takes at"):
        asyncio.run(_explained_later())
    with pytest.raises(TypeError, match="can only concatenate"):
        kind.told("a")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        kind._own()  # type: ignore[call-arg]
    assert public(5) == 5
    assert public(len) is len


def test_a_public_function_is_imported_from_where_users_find_it() -> None:
    """The wrapper's module is the given one; by default it is that of the function."""

    def add(one: int) -> int:
        return one + 1

    assert public(add).__module__ == __name__
    assert public(add, "fullrecall").__module__ == "fullrecall"
    assert public(public(add)).__wrapped__ is add  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        ("abc", 60, "'abc'"),
        ("a" * 58, 60, repr("a" * 58)),
        ("a" * 59, 60, "'" + "a" * 58 + "…"),
        (b"abcdef", 6, "b'abc…"),
        ([1, 2], 6, "[1, 2]"),
        ([1, 2], 5, "[1, …"),
    ],
)
def test_a_shown_value_is_one_short_line(value: object, limit: int, text: str) -> None:
    """A value is cut at the limit, and one without a `repr` is named by its type."""
    assert shown(value, limit) == text
    assert shown(10**5000) == "a value of type int"


def test_one_is_singular() -> None:
    """Every other number is plural."""
    assert [counted(n, "sample") for n in (0, 1, 2, 1200)] == [
        "0 samples", "1 sample", "2 samples", "1,200 samples",
    ]  # fmt: skip


def test_a_function_is_wrapped_once() -> None:
    """A public function that is made public again is the same, whether it is sync or async."""

    def search(text: str) -> str:
        return text

    async def ask(text: str) -> str:
        return text

    for function in (search, ask):
        wrapped = public(function)
        assert wrapped is not function
        assert public(wrapped) is wrapped
