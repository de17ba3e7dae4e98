"""The changes whose gain can be computed from the record of a retrieval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from fullrecall.diagnosis.effects import Baseline, ChangeKind, Proposal, Values
from fullrecall.diagnosis.likeness import duplicates
from fullrecall.measures import CutBudget
from fullrecall.measures.budgets import Cut
from fullrecall.samples.context import Context

_NEAR = 0.01
"""A larger k is enough if it comes this near to the recall of the whole lists."""

DeepLists = Mapping[int, Sequence[Context]]
"""The deeper lists that the retriever returned, by the position of the row."""


def proposals(baseline: Baseline, deep_lists: DeepLists) -> Iterator[Proposal]:
    """Yield the changes whose lists are in the record, or are among the deeper lists."""
    yield from _larger_k(baseline)
    if baseline.rescored:
        yield from _retrieving_more(baseline, deep_lists)
        yield from _without_duplicates(baseline, deep_lists)
        yield from _of_stages(baseline)


def _larger_k(baseline: Baseline) -> Iterator[Proposal]:
    """Yield larger ks within the lists, by doubling, up to one near the recall of whole lists."""
    k = baseline.k

    def proposal(larger: Cut) -> Proposal:
        action = f"raise k from {k} to {larger}"
        if isinstance(k, CutBudget) and isinstance(larger, CutBudget):
            action = f"raise the budget from {k.words} to {larger.words}"
        after = {p: baseline.values_at(p, larger) for p in baseline.values}
        return Proposal(ChangeKind.LARGER_K, action, after, baseline.lists_at(larger))

    yield from _enough(map(proposal, _from(baseline)))


def _from(baseline: Baseline) -> list[Cut]:
    """Return k and larger ks, up to one that holds all retrieved contexts."""
    k = baseline.k
    if isinstance(k, CutBudget):
        cuts = [cut for cut in baseline.cuts(k.unit) if isinstance(cut, CutBudget)]
        larger = [cut for cut in cuts if cut.amount > k.amount]
        return [k, *([cut for cut in larger if cut.amount >= 2 * k.amount] or larger[-1:])]
    return [] if k is None else [*_doubled(k, len(baseline.cuts(None)))]


def _retrieving_more(baseline: Baseline, deep_lists: DeepLists) -> Iterator[Proposal]:
    """Yield proposals of more contexts than the lists have, from the deeper lists.

    Only if each deeper list begins with the recorded one: then a row without a miss, which has no
    deeper list, keeps its recall.
    """
    whole = list(baseline.lists_at(None))
    # A retriever with a random or a fused order need not return a longer list that begins alike.
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
        # Up to the longest list it is a larger k within the lists.
        return Proposal(ChangeKind.LARGER_K, action, after, lists if larger > longest else None)

    if k:
        enough = _enough(map(proposal, _doubled(k, depth)))
        yield from (each for each in enough if each.lists is not None)


def _enough(proposals: Iterable[Proposal]) -> Iterator[Proposal]:
    """Yield proposals of ever more contexts, up to the first with nearly the largest recall."""
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
    """Yield lists without repeated contexts, filled up with the contexts after the cut."""
    lists = list(baseline.lists)
    for position, (row, recorded) in enumerate(zip(baseline.rows, baseline.lists, strict=True)):
        longer = deep_lists.get(position) or row.sample.retrieved_contexts or ()
        if recorded is None or row.sample.ranks is not None or len(longer) <= len(recorded):
            continue
        # Of the longer list: a context that moves up may itself repeat one above it.
        repeated = duplicates(longer)
        if repeated and min(repeated) < len(recorded):
            kept = [context for index, context in enumerate(longer) if index not in repeated]
            lists[position] = kept[: len(recorded)]
    if any(new is not old for new, old in zip(lists, baseline.lists, strict=True)):
        action = "drop duplicates before the list is cut"
        yield Proposal(ChangeKind.DROP_DUPLICATES, action, baseline.over(lists), lists)


def _of_stages(baseline: Baseline) -> Iterator[Proposal]:
    """Yield the list of each earlier stage, cut to the length of the last one's."""
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
    """Return the ID or the text of each context: a recorded list may have only the IDs."""
    return [context.id or context.text for context in contexts]


def _doubled(k: int, depth: int) -> list[int]:
    # By doubling, so that 100 contexts are scored at some six depths and not at each.
    ks = [k]
    while ks[-1] < depth:
        ks.append(min(2 * ks[-1], depth))
    return ks


def _mean(values: Values) -> float:
    scored = [value for value in values if value is not None]
    return sum(scored) / len(scored) if scored else 0.0
