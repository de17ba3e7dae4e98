"""Numbers and texts are rounded, shortened, and freed of control characters in one way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fullrecall.show import text as texts

INTERVAL = (0.9121, 0.9304)

SHOWN: list[tuple[Callable[..., Any], tuple[Any, ...], Any]] = [
    (texts.shown, (None,), "-"),
    (texts.shown, (0.98765,), "0.988"),
    (texts.signed, (None,), "-"),
    (texts.signed, (0.0123,), "+.012"),
    (texts.signed, (-1.5,), "-1.500"),
    (texts.outward, (INTERVAL,), (0.912, 0.931)),
    (texts.outward, ((0.912 + 1e-12, 0.931 - 1e-12),), (0.912, 0.931)),
    (texts.outward, ((0.9129, 0.9131), 1), (0.9, 1.0)),
    (texts.between, (None,), "-"),
    (texts.between, (INTERVAL,), ".912–.931"),
    (texts.from_to, (None,), ""),
    (texts.from_to, (INTERVAL,), "0.912 to 0.931"),
    (texts.signed_between, (None,), "-"),
    (texts.signed_between, ((-0.01, 0.0335),), "-.010 to +.034"),
    (texts.chance, (None,), ""),
    (texts.chance, (0.0312,), "0.0312"),
    (texts.chance, (0.0001,), "0.0001"),
    (texts.chance, (0.00009,), "<0.0001"),
    (texts.printable, ("a\x1b[31mb\nc",), "a [31mb\nc"),
    (texts.one_line, ("a\n b\x1bc  d", 7), "a b c d"),
    (texts.one_line, ("12345678", 8), "12345678"),
    (texts.one_line, ("123456 89", 8), "123456…"),
    (texts.one_line, (" " * 31 + "a", 8), "a"),
    (texts.first_of, (["a", "bcd"], 2, 2), "a; b…"),
    (texts.first_of, (["a"] * 1003, 1, 2, ", "), "a, … and 1,002 more"),
    (texts.spelled, ("a\u202eb\x00",), [("a", "U+202E"), ("b", "U+0000"), ("", "")]),
    (texts.replaced, (" a\u202eb\n\tc",), "a\ufffdb c"),
]


@pytest.mark.parametrize(("function", "given", "expected"), SHOWN)
def test_values_are_shown(
    function: Callable[..., Any], given: tuple[Any, ...], expected: Any
) -> None:
    """Ends are rounded outwards, no p-value is 0, and no control sequence reaches a terminal."""
    assert function(*given) == expected
