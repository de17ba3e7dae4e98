"""Two judges in a row: the second decides the targets that the first is unsure of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self, TypeAlias

from fullrecall.errors import JudgeError, ParameterError
from fullrecall.judge.judge import (
    Flow,
    Judge,
    Relation,
    SplitKind,
    Verdict,
    fact_by_fact,
    requiring_quotes,
)

_Asking: TypeAlias = Callable[[Judge, Sequence[str]], Flow[Sequence[Verdict]]]


@dataclass(frozen=True)
class Cascade:
    """Asks `first` about every target, and `second` about those that the first is unsure about.

    Unsure is a `support` within `unsure`, both ends included, and a target without a verdict, such
    as a claim in another language. `first` must give `support`: `LexicalJudge` and
    `CrossEncoderJudge` do. The first judge splits texts. Questions, which those two cannot judge,
    all go to the second.

    `Verdict.referred` marks the targets that the second judge decided; their `support` is the
    first judge's. A summary counts them and their cost.
    """

    first: Judge
    second: Judge
    unsure: tuple[float, float] = (0.3, 0.65)

    def __post_init__(self) -> None:
        low, high = self.unsure
        if not 0 <= low <= high <= 1:
            raise ParameterError(f"must be (low, high) within [0, 1], got {self.unsure}", "unsure")

    @property
    def name(self) -> str:
        """Both judges and the band."""
        low, high = self.unsure
        return f"cascade({self.first.name}, {self.second.name}, {low:g}-{high:g})"

    @property
    def quotes_by_rules(self) -> bool:
        """Whether rules alone decide if a quote is verified."""
        return all(getattr(each, "quotes_by_rules", False) for each in (self.first, self.second))

    def requiring_quotes(self) -> Self:
        """Return the same judges, asking once more for quotes where they can."""
        first, second = map(requiring_quotes, (self.first, self.second))
        return replace(self, first=first, second=second)

    def split(
        self, text: str, *, kind: SplitKind, question: str | None = None
    ) -> Flow[Sequence[str]]:
        """Return the first judge's parts of the text, or the second's where it gives none."""
        try:
            return (yield from self.first.split(text, kind=kind, question=question))
        except JudgeError:
            return (yield from self.second.split(text, kind=kind, question=question))

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per target, in order."""

        def ask(judge: Judge, shown: Sequence[str]) -> Flow[Sequence[Verdict]]:
            return judge.attribute(shown, contexts, question=question, relation=relation)

        if relation == "claim":
            return (yield from fact_by_fact(targets, partial(self._decided, ask)))
        return (yield from self._decided(ask, targets))

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per context, in order."""

        def ask(judge: Judge, shown: Sequence[str]) -> Flow[Sequence[Verdict]]:
            verdicts = yield from judge.relevance(shown, question=question, reference=reference)
            # A context cites itself: the second judge was shown some of them alone.
            places = [contexts.index(context) for context in shown]
            return [_at(verdict, place) for verdict, place in zip(verdicts, places, strict=True)]

        return (yield from self._decided(ask, contexts))

    def _decided(self, ask: _Asking, items: Sequence[str]) -> Flow[list[Verdict]]:
        """Return the first judge's verdicts, and the second's where it is unsure."""
        try:
            verdicts = list((yield from ask(self.first, items)))
        except JudgeError:
            verdicts = [Verdict(None)] * len(items)
        low, high = self.unsure
        unsure = [
            number
            for number, verdict in enumerate(verdicts)
            if verdict.label is None
            or (verdict.support is not None and low <= verdict.support <= high)
        ]
        if unsure:
            asked = yield from ask(self.second, [items[number] for number in unsure])
            for number, verdict in zip(unsure, asked, strict=True):
                verdicts[number] = replace(verdict, support=verdicts[number].support, referred=True)
        return verdicts


def _at(verdict: Verdict, place: int) -> Verdict:
    """Return a verdict on one context with its citations at that context's place."""
    return replace(
        verdict,
        citations=tuple(citation._replace(context=place) for citation in verdict.citations),
        others=tuple(_at(other, place) for other in verdict.others),
    )
