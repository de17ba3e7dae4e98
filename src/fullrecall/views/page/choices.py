"""What the reader of a page can choose to see: the measures of a report or a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fullrecall.measures import Measure
from fullrecall.views.page.columns import Column
from fullrecall.report.summary import default_measures
from fullrecall.result import Method


@dataclass(frozen=True)
class Choice:
    """One measure of each score, in the order of the columns."""

    measures: tuple[Measure, ...]

    @property
    def label(self) -> str:
        """The measures as they are written; several where scores have different headlines."""
        return " / ".join(dict.fromkeys(map(_label, self.measures)))


def choices(methods: Sequence[Method], measures: Sequence[Measure] = ()) -> list[Choice]:
    """Return a choice for each of `measures`; by default for those that `summary` reads."""
    if measures:
        return [Choice((each,) * len(methods)) for each in dict.fromkeys(measures)]
    return [Choice(each) for each in zip(*map(default_measures, methods), strict=True)]


def first_shown(
    offered: Sequence[Choice], columns: Sequence[Column], diagnosed: Iterable[str] = ()
) -> int:
    """Return the choice that a page opens with: what was `diagnosed`, by its labels.

    The headline where nothing was, or it is not offered; the first choice without that either.
    """
    labels = set(diagnosed)
    for nth, choice in enumerate(offered):
        if labels and labels <= set(labels_of(choice, columns)):
            return nth
    headlines = tuple(column.method.headline for column in columns)
    return next((nth for nth, choice in enumerate(offered) if choice.measures == headlines), 0)


def labels_of(choice: Choice, columns: Sequence[Column]) -> list[str]:
    """Return the name of each score by its measure of a choice, such as `id_recall@5`."""
    pairs = zip(columns, choice.measures, strict=True)
    return [column.method.label(measure) for column, measure in pairs]


def families(offered: Sequence[Choice]) -> list[Measure]:
    """Return the measures that are offered, each without its k, once."""
    return list(dict.fromkeys(each.whole for choice in offered for each in choice.measures))


def _label(measure: Measure) -> str:
    return f"{measure!r}, all retrieved" if measure.k is None else repr(measure)
