"""From values before and after a change, sample by sample, to its effects with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from fullrecall.context import Context
from fullrecall.diagnosis.change import Change, ChangeKind, Cost, Effect
from fullrecall.measures import Recall
from fullrecall.report.bounds import CONFIDENCE, Interval, interval, upper_bound
from fullrecall.report.report import Report
from fullrecall.report.smallest_k import CHARACTERS_PER_TOKEN
from fullrecall.report.totals import totals_of
from fullrecall.result import Status

LEAST = 0.0005
"""Gains below this are shown as none, and are none."""

Values = Sequence[float | None]
"""One value for each row, None where a row has none."""


@dataclass(frozen=True)
class Proposal:
    """A change to be weighed: by the place of each score, recall of every row after it.

    A value that is None stands for one that cannot be computed; its row is left out. `contexts`
    are those that each row would have, None where the change is not one of what is retrieved.
    """

    kind: ChangeKind
    action: str
    after: Mapping[int, Values]
    contexts: Sequence[Sequence[Context]] | None = None
    at_most: bool = False


class Baseline:
    """Recall of every row as it is: what changes are measured from.

    `places` are those of the scores whose headline is recall, `k` the cut-off.
    """

    def __init__(self, report: Report, k: int | None) -> None:
        self.report, self.k = report, k
        self.measure = Recall if k is None else Recall @ k
        self.places = tuple(
            place for place, method in enumerate(report.methods) if method.headline == Recall
        )
        self.groups = report.groups
        self.values = {place: self.values_at(place, k) for place in self.places}

    def label(self, place: int) -> str:
        """Return the label of a score, with its cut-off."""
        return self.report.methods[place].label(self.measure)

    def values_at(self, place: int, k: int | None) -> list[float | None]:
        """Return recall within the first `k` of every row that has a score."""
        measure = Recall if k is None else Recall @ k
        results = (row.results[place] for row in self.report.rows)
        return [one[measure] if one.status is Status.SCORED else None for one in results]

    def contexts(self, k: int | None) -> list[Sequence[Context]]:
        """Return the contexts at the first `k` ranks of every row with a retrieval."""
        return [
            first(contexts, row.sample.ranks, k)
            for row in self.report.rows
            if (contexts := row.sample.retrieved_contexts) is not None
        ]

    def changes(self, proposals: Sequence[Proposal]) -> tuple[Change, ...]:
        """Return the proposals that gain something, the largest gain first.

        The intervals of all proposals for one score hold together: each is made at a confidence
        of 1 - 0.05 / their number (Bonferroni), those that gain nothing counted in.
        """
        weighed = []
        for proposal in proposals:
            effects = [
                self._effect(place, after, sum(place in one.after for one in proposals), proposal)
                for place, after in proposal.after.items()
            ]
            kept = tuple(effect for effect in effects if effect is not None)
            if any(effect.gain >= LEAST for effect in kept):
                weighed.append(
                    Change(
                        proposal.kind, proposal.action, kept, self._cost(proposal), proposal.at_most
                    )
                )
        return tuple(sorted(weighed, key=lambda change: (-change.gain, change.at_most)))

    def _effect(
        self, place: int, after: Values, proposals: int, proposal: Proposal
    ) -> Effect | None:
        pairs = [
            (before, value, group)
            for before, value, group in zip(self.values[place], after, self.groups, strict=True)
            if before is not None and value is not None
        ]
        gained = totals_of((value - before, group) for before, value, group in pairs)
        before = totals_of((before, group) for before, _, group in pairs).mean
        if gained.mean is None or before is None:
            return None
        # Whether it can only gain is known of the change, not of its values.
        least = 0.0 if proposal.at_most or proposal.kind in ONLY_GAIN else -1.0
        counts = gained.counts(least=least)
        confidence = 1 - (1 - CONFIDENCE) / proposals
        if proposal.at_most:
            found = Interval(0.0, upper_bound(counts.high, 1 - confidence), confidence)
        else:
            low = interval(counts.low, confidence, least=least).low
            found = Interval(low, interval(counts.high, confidence, least=least).high, confidence)
        return Effect(
            self.label(place), before, before + gained.mean, gained.mean, found, gained.samples
        )

    def _cost(self, proposal: Proposal) -> Cost | None:
        if proposal.contexts is None:
            return None
        before = self.contexts(self.k)
        return Cost(
            _mean(map(len, before)),
            _mean(map(len, proposal.contexts)),
            _tokens(before),
            _tokens(proposal.contexts),
        )


ONLY_GAIN = frozenset({
    ChangeKind.LARGER_K, ChangeKind.KEEP_MORE, ChangeKind.ACCEPT_DUPLICATES,
})  # fmt: skip
"""Changes that find whatever was found before, so that no sample can lose."""


def first(
    contexts: Sequence[Context], ranks: Sequence[int] | None, k: int | None
) -> Sequence[Context]:
    """Return the contexts whose rank is at most `k`; without `ranks` their place is the rank."""
    if k is None or ranks is None:
        return contexts[:k]
    return contexts[: sum(rank <= k for rank in ranks)]


def _tokens(lists: Iterable[Sequence[Context]]) -> float | None:
    """Return the mean of tokens over the lists; None where a text is not known."""
    texts = [[context.text for context in contexts] for contexts in lists]
    if not texts or any(text is None for each in texts for text in each):
        return None
    return _mean([sum(len(text or "") for text in each) for each in texts]) / CHARACTERS_PER_TOKEN


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return fsum(known) / len(known) if known else 0.0
