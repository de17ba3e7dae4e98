"""Budgets of calls, tokens, or seconds spent on contexts, as in `Recall @ calls(3)`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil
from typing import Literal, TypeAlias, get_args

from fullrecall._util.parameters import check_k, check_positive
from fullrecall._util.value_object import ValueObject
from fullrecall.errors import ParameterError

Unit: TypeAlias = Literal["calls", "tokens", "seconds"]

# `(?a)` limits `\d` to ASCII; otherwise it matches the digits of every script.
_FORM = r"(?a)(?P<amount>\d+(?:\.\d+)?)(?P<unit>calls?|tokens?|s|seconds?)"
_WRITTEN = r"(?a)(?P<unit>calls|tokens|seconds)\((?P<amount>\d+(?:\.\d+)?)\)"


@dataclass(frozen=True, eq=False, repr=False)
class CutBudget(ValueObject):
    """A limit on the cost, such as 3 calls, at which a measure stops counting.

    A context counts if at most `amount` of `unit` was spent until it was returned.
    """

    amount: float
    unit: Unit

    def __str__(self) -> str:
        return f"{self.amount:.15g}{'s' if self.unit == 'seconds' else self.unit}"

    def __repr__(self) -> str:
        return f"{self.unit}({self.amount:.15g})"

    @property
    def words(self) -> str:
        """The budget as words: "1 call", "4,000 tokens", "2.5 seconds"."""
        return f"{self.amount:,.15g} {self.unit[:-1] if self.amount == 1 else self.unit}"


Cut: TypeAlias = int | CutBudget
"""The place at which a measure stops counting: a number of ranks, or a budget."""


def calls(most: int) -> CutBudget:
    """Return a budget of the first `most` calls, in the order in which they began.

    Raises `ParameterError` unless `most` is a whole number of at least 1.
    """
    return CutBudget(check_k(most, "calls"), "calls")


def tokens(most: int) -> CutBudget:
    """Return a budget of the first `most` tokens, in the order in which contexts were read.

    The tokens of a context are `tokens` in its metadata, which `Report.with_tokens` adds, or else
    its characters / 4. A context that does not fit completely does not count. Raises
    `ParameterError` unless `most` is a whole number of at least 1.
    """
    return CutBudget(check_k(most, "tokens"), "tokens")


def seconds(most: float) -> CutBudget:
    """Return a budget of the calls that ended within `most` seconds after the retrieval began.

    Raises `ParameterError` unless `most` is a number above 0.
    """
    return CutBudget(check_positive(most, "seconds"), "seconds")


def parse_budget(text: str) -> CutBudget | None:
    """Parse a budget, such as `3calls`, `2s` or `tokens(4000)`; return None for any other text.

    Raises `ParameterError` for an amount out of range.
    """
    match = re.fullmatch(_FORM, text) or re.fullmatch(_WRITTEN, text)
    if match is None:
        return None
    unit, amount = match["unit"], float(match["amount"])
    if unit.startswith("s"):
        return seconds(amount)
    count = int(amount) if amount.is_integer() else amount
    return (calls if unit.startswith("call") else tokens)(count)  # type: ignore[arg-type]


_STEPS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
"""Round numbers of one power of ten, each about a quarter above the previous one."""

_FIRST_POWER = {"tokens": 0, "seconds": -3}


def budgets_to(unit: Unit, most: float) -> list[CutBudget]:
    """Return ascending budgets for a search, up to the first one that is at least `most`.

    Budgets of calls are 1, 2, 3 and so on. Budgets of tokens begin at 1, those of seconds at 0.001;
    both have ten round numbers in each power of ten. For tokens, fractions are left out.
    """
    if unit == "calls":
        return [calls(number) for number in range(1, max(1, ceil(most)) + 1)]
    amounts: list[float] = []
    power = _FIRST_POWER[unit]
    while not amounts or amounts[-1] < most:
        # Round the amounts: 1.6 times 10 ** -3 is not the float that prints as 0.0016.
        decade = [round(step * 10.0**power, 9) for step in _STEPS]
        amounts += decade if unit == "seconds" else filter(float.is_integer, decade)
        power += 1
    last = next(nth for nth, amount in enumerate(amounts) if amount >= most)
    if unit == "seconds":
        return [seconds(amount) for amount in amounts[: last + 1]]
    return [tokens(int(amount)) for amount in amounts[: last + 1]]


def check_unit(unit: object) -> Unit | None:
    """Return `unit` if it is a unit of budgets or None; raise `ParameterError` otherwise."""
    if unit is not None and unit not in get_args(Unit):
        raise ParameterError(f"must be {', '.join(get_args(Unit))}, or None, got {unit!r}", "unit")
    return unit  # type: ignore[return-value]  # one of them


def check_cut(k: object) -> Cut:
    """Return `k` if it is an int >= 1 or a budget; raise `ParameterError` otherwise."""
    return k if isinstance(k, CutBudget) else check_k(k)
