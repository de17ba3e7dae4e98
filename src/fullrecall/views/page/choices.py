"""What a page is of: one report or two, with the scores that it shows, and measures to choose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fullrecall.measures import DEFAULT_KS, Measure
from fullrecall.result import Method

if TYPE_CHECKING:
    from fullrecall.measures.budgets import Unit
    from fullrecall.report.report import Report
    from fullrecall.results.comparison import Comparison
    from fullrecall.table.row import Row

Rows: TypeAlias = "tuple[Row | None, ...]"
"""One sample in each report of a page, None where a report does not have it."""


class Column(NamedTuple):
    """One score.

    `letter` names it where there is no room, `positions[side]` is the index of its results in a
    row of that side's report.
    """

    letter: str
    method: Method
    positions: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """One measure of each score, in the order of the columns."""

    measures: tuple[Measure, ...]

    @property
    def label(self) -> str:
        """The measures as they are written; several where scores have different headlines."""
        return " / ".join(
            dict.fromkeys(
                f"{m!r}, all retrieved" if m.k is None else repr(m) for m in self.measures
            )
        )


@dataclass(frozen=True)
class Subject:
    """One report, which has no name, or two by their names, with their comparison."""

    reports: Mapping[str, Report]
    columns: Sequence[Column]
    choices: Sequence[Choice]
    comparison: Comparison | None = None

    @property
    def last(self) -> Report:
        """The report that was made last."""
        *_, last = self.reports.values()
        return last

    @property
    def rows(self) -> Iterable[Rows]:
        """Every sample in each of the reports."""
        return ((row,) for row in self.last) if self.comparison is None else self.comparison.rows

    def labels(self, choice: int) -> list[str]:
        """Return the name of each score by its measure of a choice, such as `id_recall@5`."""
        pairs = zip(self.columns, self.choices[choice].measures, strict=True)
        return [column.method.label(measure) for column, measure in pairs]

    def first_shown(self, diagnosed: Iterable[str]) -> int:
        """Return the choice that a page opens with: what was `diagnosed`, by its labels.

        The headline where nothing was, or it is not offered; the first without that either.
        """
        labels, numbers = set(diagnosed), range(len(self.choices))
        for nth in numbers:
            if labels and labels <= set(self.labels(nth)):
                return nth
        headlines = tuple(column.method.headline for column in self.columns)
        return next((nth for nth in numbers if self.choices[nth].measures == headlines), 0)

    @property
    def families(self) -> dict[Family, list[int]]:
        """The measures that are offered, each without its k, with the choices that read it."""
        families: dict[Family, list[int]] = {}
        for nth, choice in enumerate(self.choices):
            for family in dict.fromkeys(Family(each.whole, each.unit) for each in choice.measures):
                families.setdefault(family, []).append(nth)
        return families


class Family(NamedTuple):
    """A measure without its k, and the unit of the budgets at which it is read; None: ranks."""

    measure: Measure
    unit: Unit | None

    def amounts(self, measures: Iterable[Measure]) -> dict[float, Measure]:
        """Return those of some measures that are of this family, by k or budget, ascending."""
        own = {each.amount: each for each in measures if (each.whole, each.unit) == self}
        return {amount: own[amount] for amount in sorted(each for each in own if each is not None)}


def columns(methods: Sequence[Method], positions: Sequence[tuple[int, ...]]) -> list[Column]:
    """Return the columns of `methods`, lettered from A on."""
    return [
        Column(chr(ord("A") + nth), method, numbers)
        for nth, (method, numbers) in enumerate(zip(methods, positions, strict=True))
    ]


def choices(methods: Sequence[Method], measures: Sequence[Measure] = ()) -> list[Choice]:
    """Return a choice for each of `measures`; by default for those that `summary` reads."""
    if measures:
        return [Choice((each,) * len(methods)) for each in dict.fromkeys(measures)]
    heads = [method.headline for method in methods]
    cuts = [Choice(tuple(head @ k for head in heads)) for k in DEFAULT_KS]
    return [*cuts, Choice(tuple(heads))]
