"""The subject of a page: one report or two, with the scores that it shows, and their measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from fullrecall.measures import Measure, as_shares
from fullrecall.measures.budgets import Unit
from fullrecall.scorers.result import Method
from fullrecall.stats.comparison import Comparison
from fullrecall.stats.estimates import default_measures
from fullrecall.stats.evaluation import Evaluation
from fullrecall.table.row import Row

ComparedRows: TypeAlias = "tuple[Row | None, ...]"
"""One sample in each report of a page, None where a report does not have it."""


class Column(NamedTuple):
    """One score.

    `letter` is its short name, `positions[side]` the index of its results in a row of that side's
    report, and `measures[choice]` its measure for a choice of the reader.
    """

    letter: str
    method: Method
    positions: tuple[int, ...]
    measures: Sequence[Measure]


@dataclass(frozen=True)
class Subject:
    """One unnamed report, or two by their names, with their comparison."""

    reports: Mapping[str, Evaluation]
    columns: Sequence[Column]
    comparison: Comparison | None = None

    @property
    def rows(self) -> Iterable[ComparedRows]:
        """Every sample, with its row in each of the reports."""
        if self.comparison is not None:
            return self.comparison.rows
        return ((row,) for report in self.reports.values() for row in report)

    @property
    def choices(self) -> list[tuple[Measure, ...]]:
        """The measures of each choice, in the order of the columns."""
        return [*zip(*(column.measures for column in self.columns), strict=True)] or [()]

    @property
    def choice_labels(self) -> list[str]:
        """The measures of each choice as text; several where headlines differ."""
        return [" / ".join(dict.fromkeys(map(_label, measures))) for measures in self.choices]

    def labels(self, choice: int) -> list[str]:
        """Return the name of each score with its measure for a choice, such as `id_recall@5`."""
        return [column.method.label(column.measures[choice]) for column in self.columns]

    def first_shown(self, diagnosed: Iterable[str]) -> int:
        """Return the choice that a page opens with: the `diagnosed` measures, by their labels.

        If no diagnosed measure is offered, it is the headlines, or else the first choice.
        """
        labels, choices = set(diagnosed), self.choices
        for nth in range(len(choices)):
            if labels and labels <= set(self.labels(nth)):
                return nth
        headlines = tuple(column.method.headline for column in self.columns)
        return choices.index(headlines) if headlines in choices else 0

    @property
    def families(self) -> dict[Family, list[int]]:
        """The offered measures, each without its k, with the choices that read it."""
        families: dict[Family, list[int]] = {}
        for nth, measures in enumerate(self.choices):
            for family in dict.fromkeys(Family(each.whole, each.unit) for each in measures):
                families.setdefault(family, []).append(nth)
        return families


class Family(NamedTuple):
    """A measure without its k, and the unit of its budgets; None for ranks."""

    measure: Measure
    unit: Unit | None

    def amounts(self, measures: Iterable[Measure]) -> dict[float, Measure]:
        """Return the given measures of this family by k or budget, ascending."""
        own = {each.amount: each for each in measures if (each.whole, each.unit) == self}
        return {amount: own[amount] for amount in sorted(each for each in own if each is not None)}


def columns(
    methods: Sequence[Method], positions: Sequence[tuple[int, ...]], measures: Sequence[Measure]
) -> list[Column]:
    """Return the columns of `methods`, with letters from A; a single column needs none.

    Each of `measures` is a choice; by default those that `summary` reads.
    """
    chosen = tuple(dict.fromkeys(as_shares(measures)))
    letters = [chr(ord("A") + nth) for nth in range(len(methods))] if len(methods) > 1 else [""]
    return [
        Column(letters[nth], method, numbers, chosen or default_measures(method))
        for nth, (method, numbers) in enumerate(zip(methods, positions, strict=True))
    ]


def _label(measure: Measure) -> str:
    return f"{measure!r}, all retrieved" if measure.k is None else repr(measure)
