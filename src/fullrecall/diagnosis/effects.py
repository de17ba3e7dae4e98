"""From values before and after a change, sample by sample, to its effects with their intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from fullrecall.diagnosis.change import Change, ChangeKind, Cost
from fullrecall.diagnosis.rescoring import Rescore
from fullrecall.measures import CutBudget, Measure, Recall
from fullrecall.measures.budgets import Cut, budgets_to
from fullrecall.measures.costs import CHARACTERS_PER_TOKEN, Costs
from fullrecall.samples.context import Context
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Method
from fullrecall.stats.bounds import CONFIDENCE
from fullrecall.stats.evaluation import Evaluation
from fullrecall.stats.totals import Totals
from fullrecall.table.row import Row

LEAST = 0.0005
"""A mean gain below this is none."""

Values: TypeAlias = Sequence[float | None]
"""A value for each row of a report, None where it has none."""

RetrievedLists: TypeAlias = Sequence[Sequence[Context] | None]
"""A list of contexts for each row of a report, None where it has none."""


@dataclass(frozen=True)
class Proposal:
    """A change to be weighed: recall of every row after it, by the index of the score.

    A value that is None stands for one that cannot be computed; its row is left out. `lists` are
    the contexts that each row would have, None for a row where they are not known, and None as a
    whole where the change is not one of what is retrieved.
    """

    kind: ChangeKind
    action: str
    after: Mapping[int, Values]
    lists: Iterable[Sequence[Context] | None] | None = None


class Baseline:
    """Recall of every row as it is: what changes are measured from.

    `labels` are those of the scores whose headline is recall, by score index, `k` where counting
    stops, `values` recall by score index and row, `lists` the contexts that count. `rescored`
    scores other lists, by the index of each score that can be scored again.
    """

    def __init__(self, report: Evaluation, k: Cut | None, rescored: Mapping[int, Rescore]) -> None:
        self.rows: Sequence[Row] = report.rows
        self.methods: Sequence[Method] = report.methods
        self.k = k
        self.rescored = rescored
        self.labels = {
            score_index: method.label(recall_at(k))
            for score_index, method in enumerate(report.methods)
            if method.headline == Recall
        }
        self._table = report.table
        self.values = {score_index: self.values_at(score_index, k) for score_index in self.labels}
        self.lists: RetrievedLists = list(self.lists_at(k))

    def values_at(self, score_index: int, k: Cut | None) -> list[float | None]:
        """Return recall within `k` of every row that has a score."""
        import numpy as np

        # Rounded: thirds must add up to one.
        values = np.round(self._table.values(score_index, recall_at(k)), _DIGITS)
        return [None if value != value else value for value in values.tolist()]  # noqa: PLR0124

    def over(self, lists: RetrievedLists) -> dict[int, list[float | None]]:
        """Return recall of each row over other lists, by the index of each score that can be told.

        A list that is the recorded one, or is not known, keeps its value.
        """
        return {
            score_index: [
                before
                if before is None or contexts is None or contexts is recorded
                else rescore(row, contexts)
                for row, before, recorded, contexts in zip(
                    self.rows, self.values[score_index], self.lists, lists, strict=True
                )
            ]
            for score_index, rescore in self.rescored.items()
        }

    def lists_at(self, k: Cut | None) -> Iterator[Sequence[Context] | None]:
        """Yield the contexts within `k` of every row with a retrieval, None without."""
        for row in self.rows:
            contexts = row.sample.contexts
            yield None if contexts is None else _within(contexts, row.sample, k)

    def budgets_beyond(self, budget: CutBudget) -> list[CutBudget]:
        """Return larger budgets of the same unit, up to the first that pays for all contexts."""
        import numpy as np

        costs = (getattr(part.costs, budget.unit) for part in self._table.parts)
        most = float(np.nanmax(np.concatenate([np.zeros(1), *costs])))
        if most <= budget.amount:
            return []
        return [each for each in budgets_to(budget.unit, most) if each.amount > budget.amount]

    def changes(self, proposals: Sequence[Proposal]) -> tuple[Change, ...]:
        """Return the proposals that gain something, the largest gain first.

        The intervals of all proposals for one score hold together: each is made at a confidence of
        1 - 0.05 / their number (Bonferroni), those that gain nothing counted in.
        """
        # Also those that gain nothing: the best of many is chosen after looking at all of them.
        count = Counter(score_index for proposal in proposals for score_index in proposal.after)
        changes = []
        for proposal in proposals:
            by_score = (self._change(proposal, p, count[p]) for p in proposal.after)
            change = next((each for each in by_score if each and each.gain >= LEAST), None)
            if change is not None:
                cost = None if proposal.lists is None else self._cost(proposal.lists)
                changes.append(replace(change, cost=cost))
        return tuple(sorted(changes, key=lambda change: -change.gain))

    def _change(self, proposal: Proposal, score_index: int, proposals: int) -> Change | None:
        """Return what a proposal does to one score; None where that is not known of any row."""
        import numpy as np

        columns = self.values[score_index], proposal.after[score_index]
        before, after = (np.array(column, np.float64) for column in columns)
        gains = after - before
        due = np.zeros(len(gains), np.bool_)  # a row whose gain is not known is left out
        gained, had = (
            Totals.of(values, due=due, groups=self._table.group_codes)
            for values in (gains, np.where(np.isnan(gains), np.nan, before))
        )
        # More contexts cannot lose, but the lists may be of a retriever that has changed since.
        cannot_lose = proposal.kind is ChangeKind.LARGER_K and not (gains < 0).any()
        confidence = 1 - (1 - CONFIDENCE) / proposals
        interval = gained.interval(confidence, least=0.0 if cannot_lose else -1.0)
        if interval is None or gained.mean is None or had.mean is None:
            return None
        return Change(
            proposal.kind,
            proposal.action,
            self.labels[score_index],
            had.mean,
            had.mean + gained.mean,
            gained.mean,
            interval,
            gained.samples,
        )

    def _cost(self, lists: Iterable[Sequence[Context] | None]) -> Cost:
        """Return the contexts before and after, over the rows whose list after is known."""
        pairs = [
            (recorded, contexts)
            for recorded, contexts in zip(self.lists, lists, strict=True)
            if recorded is not None and contexts is not None
        ]
        before, after = zip(*pairs, strict=True) if pairs else ((), ())
        (count, tokens), (later_count, later_tokens) = map(_size, (before, after))
        return Cost(count, later_count, tokens, later_tokens)


_DIGITS = 12


def _within(contexts: Sequence[Context], sample: Sample, k: Cut | None) -> Sequence[Context]:
    """Return the contexts within `k`; without ranks, their position in the list is the rank."""
    if isinstance(k, CutBudget):
        paid, _ = Costs.of([sample]).within(k)
        return [context for context, is_paid in zip(contexts, paid, strict=False) if is_paid]
    if k is None or sample.ranks is None:
        return contexts[:k]
    return contexts[: sum(rank <= k for rank in sample.ranks)]


def recall_at(k: Cut | None) -> Measure:
    """Return recall within `k`."""
    return Recall if k is None else Recall @ k


def _size(lists: Sequence[Sequence[Context]]) -> tuple[float, float | None]:
    """Return the mean contexts of lists, and their mean tokens; None where a text is not known."""
    texts = [context.text for contexts in lists for context in contexts]
    lengths = [len(text) for text in texts if text is not None]
    tokens = sum(lengths) / max(len(lists), 1) / CHARACTERS_PER_TOKEN
    return len(texts) / max(len(lists), 1), tokens if len(lengths) == len(texts) else None
