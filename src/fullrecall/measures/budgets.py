"""Budgets: how much may be paid until a context counts, as `Recall @ calls(3)`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from typing import Literal, TypeAlias

from fullrecall.errors import ParameterError
from fullrecall.parameters import check_k

Unit: TypeAlias = Literal["calls", "tokens", "seconds"]

_FORM = re.compile(r"(?P<amount>\d+(?:\.\d+)?)(?P<unit>calls?|tokens?|s|seconds?)", re.ASCII)
_WRITTEN = re.compile(r"(?P<unit>calls|tokens|seconds)\((?P<amount>\d+(?:\.\d+)?)\)", re.ASCII)


@dataclass(frozen=True, repr=False)
class Budget:
    """At most `amount` of `unit`: a cut like k, of what each context cost until it was there."""

    amount: float
    unit: Unit

    def __str__(self) -> str:
        return f"{self.amount:.15g}{'s' if self.unit == 'seconds' else self.unit}"

    def __repr__(self) -> str:
        return f"{self.unit}({self.amount:.15g})"


def calls(most: int) -> Budget:
    """Return the budget of the first `most` calls, in the order in which they began, each whole.

    Raises `ParameterError` unless it is a whole number of at least 1.
    """
    return Budget(check_k(most, "calls"), "calls")


def tokens(most: int) -> Budget:
    """Return the budget of the first `most` tokens, in the order in which contexts were read.

    A context has a quarter as many tokens as characters, or the `tokens` of its metadata. One
    that does not fit whole does not count. Raises `ParameterError` unless it is a whole number of
    at least 1.
    """
    return Budget(check_k(most, "tokens"), "tokens")


def seconds(most: float) -> Budget:
    """Return the budget of calls that ended within `most` seconds of the retrieval's beginning.

    Raises `ParameterError` unless it is a number above 0.
    """
    number = isinstance(most, (int, float)) and not isinstance(most, bool)
    if not number or not isfinite(most) or most <= 0:
        raise ParameterError(f"seconds must be a number above 0, got {most!r}")
    return Budget(most, "seconds")


def parse_budget(text: str) -> Budget | None:
    """Return the budget that a text such as `3calls`, `4000tokens` or `2s` names; None for others.

    Raises `ParameterError` for an amount that is none.
    """
    match = _FORM.fullmatch(text) or _WRITTEN.fullmatch(text)
    if match is None:
        return None
    unit, amount = match["unit"], float(match["amount"])
    if unit.startswith("s"):
        return seconds(amount)
    count = int(amount) if amount.is_integer() else amount
    return (calls if unit.startswith("call") else tokens)(count)  # type: ignore[arg-type]


def check_cut(k: object) -> int | Budget:
    """Return `k` if it is an int >= 1 or a budget; raise `ParameterError` otherwise."""
    return k if isinstance(k, Budget) else check_k(k)
