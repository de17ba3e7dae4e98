"""Changes of retrieval or of IDs, each with the recall that it would give and its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import chain, islice
from math import isnan
from typing import Any, NamedTuple, TypeAlias

from fullrecall.lexical import duplicates
from fullrecall.measures import CutBudget, Measure, Recall
from fullrecall.measures.budgets import Cut, Unit
from fullrecall.measures.costs import Costs, tokens_of
from fullrecall.samples.context import Context
from fullrecall.samples.sample import Sample
from fullrecall.scorers import IdRecall
from fullrecall.scorers.derived import rebuilt
from fullrecall.scorers.result import Method, Status
from fullrecall.scorers.scorer import DeterministicScorer
from fullrecall.show.text import outward
from fullrecall.stats.bounds import CONFIDENCE, Interval
from fullrecall.stats.evaluation import Evaluation
from fullrecall.stats.plain import plain_of
from fullrecall.stats.smallest_k import cuts_of
from fullrecall.stats.totals import Totals
from fullrecall.table.row import Row


class ChangeKind(StrEnum):
    """The kind of a change."""

    LARGER_K = "larger_k"
    """Count, or retrieve, more contexts."""
    NORMALIZE_IDS = "normalize_ids"
    """Write equal IDs in one way."""
    ID_LEVEL = "id_level"
    """Compare IDs at the level of the references' IDs."""
    DROP_DUPLICATES = "drop_duplicates"
    """Drop repeated contexts before the list is cut."""
    EARLIER_STAGE = "earlier_stage"
    """Return the list of an earlier stage instead of the last one."""
    SEARCH_ALL = "search_all"
    """Search the documents that are in no list: index them, or drop a filter."""


class Cost(NamedTuple):
    """The mean contexts per question before and after a change, and their tokens.

    Tokens are those in contexts' metadata, else characters / 4; None if a text is unknown.
    """

    contexts_before: float
    contexts_after: float
    tokens_before: float | None = None
    tokens_after: float | None = None

    @property
    def factor(self) -> float | None:
        """The contexts after, divided by those before; None without contexts before."""
        return self.contexts_after / self.contexts_before if self.contexts_before else None

    @property
    def text(self) -> str:
        """The cost in words; "" if the change adds no context."""
        if self.factor is None or abs(self.factor - 1) < _SAME:
            return ""
        words = f"{_times(self.factor)} the contexts"
        if self.tokens_before is None or self.tokens_after is None:
            return words
        tokens = round(self.tokens_after - self.tokens_before)
        return f"{words} ({tokens:+,} tokens per question)" if tokens else words


@dataclass(frozen=True, repr=False)
class Change:
    """A change with the recall that it would give, according to the record.

    `action` is the change in words. `score` is the label of the first score that gains, such as
    `id_recall@5`; `before` and `after` are the score's mean recall before and after the change,
    over `samples` scored samples; the samples of a group count once. `gain` is the difference of
    these means. `interval` is a confidence interval of the mean gain over all questions of this
    kind; it holds for any distribution. The intervals of all changes of a score hold
    simultaneously, with 95 % confidence. `cost` is None if the change does not affect the retrieved
    contexts.
    """

    kind: ChangeKind
    action: str
    score: str
    before: float
    after: float
    gain: float
    interval: Interval
    samples: int
    cost: Cost | None = None

    @property
    def per_context(self) -> tuple[bool, float]:
        """A sort key: the change with the larger key is more worthwhile.

        It is (True, gain) for a change that adds at most 0.05 contexts per question, else (False,
        gain per added context).
        """
        more = 0.0 if self.cost is None else self.cost.contexts_after - self.cost.contexts_before
        return (True, self.gain) if more <= _FREE else (False, self.gain / more)

    @property
    def text(self) -> str:
        """The change in one line.

        For example, "raise k from 5 to 10: +0.11 (+0.06 to +0.16), twice the contexts".
        """
        cost = "" if self.cost is None else self.cost.text
        return f"{self.action}: {self.gain_text}{cost and ', '}{cost}"

    @property
    def gain_text(self) -> str:
        """The gain with its interval: "+0.11 (+0.06 to +0.16)"."""
        low, high = outward(self.interval, 2)
        from_low = "above 0" if self.interval.low > 0 == low else f"{low:+.2f}"
        return f"{self.gain:+.2f} ({from_low} to {high:+.2f})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**plain_of(self), "text": self.text}

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Change({self.gain_text}, {self.score}: {self.action})"


_SAME = 0.005


def _times(factor: float) -> str:
    if abs(factor - 2) < _SAME:
        return "twice"
    # "1.0 times" would look like no change.
    digits = 2 if abs(factor - 1) < 0.05 else 1  # noqa: PLR2004 - half of the last digit
    return f"{factor:.{digits}f} times".replace(".0 ", " ")


_FREE = 0.05
"""The largest number of additional contexts per question that counts as free."""

_LEAST = 0.0005
"""The smallest mean gain that counts."""

RetrievedLists: TypeAlias = Sequence[Sequence[Context] | None]
"""A list of contexts for each row of a report, None for a row without one."""


@dataclass(frozen=True)
class Proposal:
    """A proposed change, with the recall that each row would have.

    `after` has the recall of each row after the change, by the index of the score. A row whose
    recall cannot be computed has None and is left out. `lists` has the contexts that each row would
    have, or None if they are unknown; `lists` itself is None if the change does not affect the
    retrieved contexts.
    """

    kind: ChangeKind
    action: str
    after: Mapping[int, Sequence[float | None]]
    lists: Iterable[Sequence[Context] | None] | None = None


_CHECKED = 20
"""The number of recorded samples whose scores a rebuilt scorer must reproduce."""

Rescore: TypeAlias = Callable[[Row, Sequence[Context]], "float | None"]
"""Returns the recall of a row's sample over another whole list; None if it is unknown."""


class Baseline:
    """The recorded recall of every row, with which changes are compared.

    - `k`: the number of contexts that count, or a budget; None if all count.
    - `labels`: the labels of the scores whose main measure is recall, by score index.
    - `values`: the recall of each row within `k`, by score index.
    - `lists`: the contexts within `k` of each row.
    - `rescored`: functions that compute the recall of another list, by score index, for the scores
      that can be computed again.
    """

    def __init__(self, report: Evaluation, k: Cut | None) -> None:
        self.rows: Sequence[Row] = report.rows
        self.methods: Sequence[Method] = report.methods
        self.k = k
        self.rescored = _rescoring(report)
        self.labels = {
            score_index: method.label(recall_at(k))
            for score_index, method in enumerate(report.methods)
            if method.headline == Recall
        }
        self._table = report.table
        self.values = {score_index: self.values_at(score_index, k) for score_index in self.labels}
        self.lists: RetrievedLists = list(self.lists_at(k))

    def values_at(self, score_index: int, k: Cut | None) -> list[float | None]:
        """Return each row's recall within `k`, or None for a row without a score."""
        import numpy as np

        # Round the sum, so that three thirds add up to 1.
        values = np.round(self._table.values(score_index, recall_at(k)), _DIGITS)
        return [None if value != value else value for value in values.tolist()]  # noqa: PLR0124

    def over(self, lists: RetrievedLists) -> dict[int, list[float | None]]:
        """Return the recall of each row over other lists, by the index of the score.

        Only the scores in `rescored` are included.

        A row keeps its recorded value if its list is the recorded one, or is unknown.
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
        """Yield the contexts within `k` of every row, None for a row without a retrieval."""
        for row in self.rows:
            contexts = row.sample.contexts
            yield None if contexts is None else _within(contexts, row.sample, k)

    def cuts(self, unit: Unit | None) -> list[Cut]:
        """Return all ks, or budgets of a unit, up to one that covers all retrieved contexts."""
        cuts = (cuts_of(self._table, score_index, unit) for score_index in self.labels)
        return max(cuts, key=len, default=[])

    def changes(self, proposals: Sequence[Proposal]) -> tuple[Change, ...]:
        """Return the proposals with a significant gain as changes, ordered by gain and cost.

        Proposals that add no context come first, then those with the largest gain per context. The
        intervals of all proposals for one score hold simultaneously, with 95 % confidence. For
        this, each has a confidence of 1 - 0.05 / n (Bonferroni), where n counts all proposals, also
        those without a gain.
        """
        # Count proposals without a gain too, since the best of many is chosen after all were seen.
        count = Counter(score_index for proposal in proposals for score_index in proposal.after)
        changes = []
        for proposal in proposals:
            by_score = (self._change(proposal, p, count[p]) for p in proposal.after)
            shown = (each for each in by_score if each is not None and each.gain >= _LEAST)
            change = next((each for each in shown if each.interval.low > 0), None)
            if change is not None:
                cost = None if proposal.lists is None else self._cost(proposal.lists)
                changes.append(replace(change, cost=cost))
        return tuple(sorted(changes, key=lambda change: change.per_context, reverse=True))

    def _change(self, proposal: Proposal, score_index: int, proposals: int) -> Change | None:
        """Return the effect of a proposal on one score; None if no row has a known gain."""
        import numpy as np

        columns = self.values[score_index], proposal.after[score_index]
        before, after = (np.array(column, np.float64) for column in columns)
        gains = after - before
        due = np.zeros(len(gains), np.bool_)  # a row with an unknown gain is left out
        gained, had = (
            Totals.of(values, due=due, groups=self._table.group_codes)
            for values in (gains, np.where(np.isnan(gains), np.nan, before))
        )
        # More contexts, or more spellings of an ID, cannot lower recall, so the interval may assume
        # gains of at least 0. A negative gain shows that the retriever has changed since the
        # recording.
        adds = proposal.kind not in {ChangeKind.DROP_DUPLICATES, ChangeKind.EARLIER_STAGE}
        cannot_lose = adds and not (gains < 0).any()
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
        """Return the cost over the rows whose list after the change is known."""
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
    """Return the contexts within `k` ranks, or within a budget; all if `k` is None.

    If there are no ranks, the position in the list is the rank.
    """
    if isinstance(k, CutBudget):
        paid, _ = Costs.of([sample]).within(k)
        return [context for context, is_paid in zip(contexts, paid, strict=False) if is_paid]
    if k is None or sample.ranks is None:
        return contexts[:k]
    return contexts[: sum(rank <= k for rank in sample.ranks)]


def recall_at(k: Cut | None) -> Measure:
    """Return the measure of recall within `k`."""
    return Recall if k is None else Recall @ k


def _size(lists: Sequence[Sequence[Context]]) -> tuple[float, float | None]:
    """Return the mean numbers of contexts and of tokens per list; None for unknown tokens."""
    contexts, count = [*chain.from_iterable(lists)], max(len(lists), 1)
    tokens = sum(map(tokens_of, contexts)) / count
    return len(contexts) / count, None if isnan(tokens) else tokens


def _rescoring(report: Evaluation) -> dict[int, Rescore]:
    """Return functions that compute the recall of another list, by score index.

    Deterministic scorers are rebuilt from the names and parameters in the report, and used if they
    reproduce the scores of recorded samples. Recall by ID is computed from the targets. Scores by a
    judge are not computed again, so they have no function.
    """
    rescored: dict[int, Rescore] = {}
    for score_index, method in enumerate(report.methods):
        scorer = rebuilt(method)
        if method.headline != Recall or not isinstance(scorer, DeterministicScorer):
            continue
        rows = (row for row in report.rows if row.results[score_index].status is Status.SCORED)
        # A scorer that does not reproduce the saved scores must not propose a gain.
        if all(
            _by_scorer(scorer, row, None) == row.results[score_index].score
            for row in islice(rows, _CHECKED)
        ):
            by_id = partial(_by_ids, score_index)
            rescored[score_index] = (
                by_id if isinstance(scorer, IdRecall) else partial(_by_scorer, scorer)
            )
    return rescored


def _by_ids(score_index: int, row: Row, contexts: Sequence[Context]) -> float | None:
    """Return the share of targets that have an ID in the contexts.

    Returns None if there are contexts, but none with an ID.
    """
    ids = {context.id for context in contexts}
    if ids == {None}:
        return None
    targets = row.results[score_index].targets
    return sum(not ids.isdisjoint(target.any_of) for target in targets) / len(targets)


def _by_scorer(
    scorer: DeterministicScorer, row: Row, contexts: Sequence[Context] | None
) -> float | None:
    """Return recall by a deterministic scorer, over the recorded list if `contexts` is None."""
    sample = row.sample if contexts is None else row.sample.with_retrieval(contexts)
    result = scorer.score(sample)
    return result[Recall] if result.status is Status.SCORED else None


_NEAR = 0.01
"""A larger k is enough if its recall is at most this much below that of whole lists."""

DeepLists = Mapping[int, Sequence[Context]]
"""The deeper lists that the retriever returned, by the position of the row."""


def proposals(baseline: Baseline, deep_lists: DeepLists) -> Iterator[Proposal]:
    """Yield the changes that can be computed from the recorded lists and the deeper lists."""
    yield from _larger_k(baseline)
    if baseline.rescored:
        yield from _retrieving_more(baseline, deep_lists)
        yield from _without_duplicates(baseline, deep_lists)
        yield from _of_stages(baseline)


def _larger_k(baseline: Baseline) -> Iterator[Proposal]:
    """Yield proposals of larger ks or budgets, up to nearly the recall of the whole lists."""
    k = baseline.k

    def proposal(larger: Cut) -> Proposal:
        action = f"raise k from {k} to {larger}"
        if isinstance(k, CutBudget) and isinstance(larger, CutBudget):
            action = f"raise the budget from {k.words} to {larger.words}"
        after = {p: baseline.values_at(p, larger) for p in baseline.values}
        return Proposal(ChangeKind.LARGER_K, action, after, baseline.lists_at(larger))

    yield from _enough(map(proposal, _current_and_larger(baseline)))


def _current_and_larger(baseline: Baseline) -> list[Cut]:
    """Return the current k and larger ones, up to one that covers all retrieved contexts.

    Returns [] if k is None, since all contexts count already.
    """
    k = baseline.k
    if isinstance(k, CutBudget):
        cuts = [cut for cut in baseline.cuts(k.unit) if isinstance(cut, CutBudget)]
        larger = [cut for cut in cuts if cut.amount > k.amount]
        return [k, *([cut for cut in larger if cut.amount >= 2 * k.amount] or larger[-1:])]
    return [] if k is None else [*_doubled(k, len(baseline.cuts(None)))]


def _retrieving_more(baseline: Baseline, deep_lists: DeepLists) -> Iterator[Proposal]:
    """Yield proposals to retrieve more contexts than the lists have, from the deeper lists.

    Yields none unless each deeper list begins with the recorded one. Rows without a deeper list
    keep their recall: they have no miss, and their lists would only become longer.
    """
    whole = list(baseline.lists_at(None))
    # A retriever with a random or fused order may return a longer list with another beginning.
    nested = [
        _keys(contexts[: len(recorded)]) == _keys(recorded)
        for position, contexts in deep_lists.items()
        if (recorded := whole[position]) is not None
    ]
    if not nested or not all(nested):
        return
    lengths = sorted(len(baseline.lists[position] or ()) for position in deep_lists)
    k, depth = lengths[len(lengths) // 2], max(map(len, deep_lists.values()))
    longest = 0 if baseline.k is None else max(len(contexts or ()) for contexts in whole)

    def proposal(larger: int) -> Proposal:
        deeper = (deep_lists.get(position) for position in range(len(whole)))
        lists = [None if contexts is None else contexts[:larger] for contexts in deeper]
        action, after = f"retrieve {larger} contexts in place of {k}", baseline.over(lists)
        # `_larger_k` already proposes each k up to the length of the longest recorded list: mark
        # such a k by `lists=None`, so that it is left out below.
        return Proposal(ChangeKind.LARGER_K, action, after, lists if larger > longest else None)

    if k:
        enough = _enough(map(proposal, _doubled(k, depth)))
        yield from (each for each in enough if each.lists is not None)


def _enough(proposals: Iterable[Proposal]) -> Iterator[Proposal]:
    """Yield the proposals after the first, up to the first one with nearly the largest recall.

    The proposals are ordered by their number of contexts. The first one is the current list, which
    changes nothing. The second one is always yielded, if it exists.
    """
    listed = list(proposals)
    if len(listed) < 2:  # noqa: PLR2004 - nothing larger
        return
    means = [{p: _mean(values) for p, values in each.after.items()} for each in listed]
    most = means[-1]
    enough = next(
        n for n, mean in enumerate(means) if all(mean[p] >= most[p] - _NEAR for p in most)
    )
    yield from listed[1 : max(enough, 1) + 1]


def _without_duplicates(baseline: Baseline, deep_lists: DeepLists) -> Iterator[Proposal]:
    """Yield the proposal to drop repeated contexts; contexts beyond k then take their places."""
    lists = list(baseline.lists)
    for position, (row, recorded) in enumerate(zip(baseline.rows, baseline.lists, strict=True)):
        longer = deep_lists.get(position) or row.sample.retrieved_contexts or ()
        if recorded is None or row.sample.ranks is not None or len(longer) <= len(recorded):
            continue
        # Find copies in the longer list, since a context that moves up into the kept part may
        # repeat one that is already there.
        repeated = duplicates(longer)
        if repeated and min(repeated) < len(recorded):
            kept = [context for index, context in enumerate(longer) if index not in repeated]
            lists[position] = kept[: len(recorded)]
    if any(new is not old for new, old in zip(lists, baseline.lists, strict=True)):
        action = "drop duplicates before the list is cut"
        yield Proposal(ChangeKind.DROP_DUPLICATES, action, baseline.over(lists), lists)


def _of_stages(baseline: Baseline) -> Iterator[Proposal]:
    """Yield proposals to return an earlier stage's list, cut to the length of the last list."""
    stages = [
        {} if row.sample.ranks else {stage.name: stage.contexts for stage in row.sample.stages}
        for row in baseline.rows
    ]
    for name in dict.fromkeys(chain.from_iterable(stages)):
        lists = [
            recorded if recorded is None or name not in of else of[name][: len(recorded)]
            for of, recorded in zip(stages, baseline.lists, strict=True)
        ]
        action = f"return the list of {name} as it is, without the stages after it"
        yield Proposal(ChangeKind.EARLIER_STAGE, action, baseline.over(lists), lists)


def _keys(contexts: Sequence[Context]) -> list[str | None]:
    """Return the ID of each context, or its text if it has no ID."""
    return [context.id or context.text for context in contexts]


def _doubled(k: int, depth: int) -> list[int]:
    # Double the depths, so that 100 contexts are scored at about six depths instead of at each.
    ks = [k]
    while ks[-1] < depth:
        ks.append(min(2 * ks[-1], depth))
    return ks


def _mean(values: Sequence[float | None]) -> float:
    scored = [value for value in values if value is not None]
    return sum(scored) / len(scored) if scored else 0.0
