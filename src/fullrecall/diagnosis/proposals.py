"""The changes whose gain can be computed from the record of a retrieval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import methodcaller
from typing import NamedTuple, TypeVar

from fullrecall.calls import Stage, identity
from fullrecall.context import Context
from fullrecall.diagnosis.change import ChangeKind
from fullrecall.diagnosis.effects import Baseline, Lists, Proposal
from fullrecall.diagnosis.likeness import duplicates
from fullrecall.measures import Budget
from fullrecall.measures.budgets import Cut
from fullrecall.table.row import Row

_NEAR = 0.01
"""A larger k is enough if it comes this near to the recall of the whole lists."""


class Proposer:
    """Proposes changes of one report: those whose lists are in the record, or were asked for.

    `deeper` has what the retriever returned when asked for more, by the position of the row.
    """

    def __init__(self, baseline: Baseline, deeper: Mapping[int, Sequence[Context]]) -> None:
        self._baseline = baseline
        self._deeper = deeper
        self._pipelines = [_Pipeline.of(row) for row in baseline.rows]

    def proposals(self) -> Iterator[Proposal]:
        """Yield all of them."""
        yield from self._larger_k()
        if self._baseline.rescored:
            yield from self._retrieving_more()
            yield from self._by_stages()
            yield from self._without_duplicates()

    def _larger_k(self) -> Iterator[Proposal]:
        """Yield a larger k within the lists: twice k, and what brings about all that they have."""
        baseline, k = self._baseline, self._baseline.k
        ks = self._from(k)
        if len(ks) < 2:  # noqa: PLR2004 - nothing larger
            return
        values = {
            each: {p: baseline.values_at(p, each) for p in baseline.score_indices} for each in ks
        }
        for larger in _worth(ks, values):
            action = f"raise k from {k} to {larger}"
            if isinstance(k, Budget) and isinstance(larger, Budget):
                action = f"raise the budget from {k.words} to {larger.words}"
            yield Proposal(
                ChangeKind.LARGER_K,
                action,
                values[larger],
                baseline.lists_at(larger),
            )

    def _from(self, k: Cut | None) -> list[Cut]:
        """Return k and those that are larger, up to one that holds all that was retrieved."""
        baseline = self._baseline
        if k is None:
            return []
        if isinstance(k, Budget):
            larger = baseline.budgets_beyond(k)
            first = next((n for n, each in enumerate(larger) if each.amount >= 2 * k.amount), -1)
            return [k, *larger[first:]]
        depth = max(
            (
                row.results[score_index].retrieved
                for row in baseline.rows
                for score_index in baseline.score_indices
            ),
            default=0,
        )
        return [] if depth <= k else [*_doubled(k, depth)]

    def _retrieving_more(self) -> Iterator[Proposal]:
        """Yield more contexts than the lists have, where the retriever was asked for them.

        Provided that longer lists begin with the shorter ones: a list that misses nothing was not
        asked for again, and keeps its recall then.
        """
        baseline, deeper = self._baseline, self._deeper
        whole = list(baseline.lists_at(None))
        nested = [
            _names(contexts[: len(recorded)]) == _names(recorded)
            for position, contexts in deeper.items()
            if (recorded := whole[position]) is not None
        ]
        if not nested or not all(nested):
            return
        lengths = sorted(len(baseline.lists[position] or ()) for position in deeper)
        k, depth = lengths[len(lengths) // 2], max(map(len, deeper.values()))
        if not 0 < k < depth:
            return
        ks = _doubled(k, depth)
        lists_at = {
            each_k: [
                self._deeper[position][:each_k] if position in self._deeper else None
                for position in range(len(baseline.rows))
            ]
            for each_k in ks
        }
        values = {each_k: baseline.over(lists) for each_k, lists in lists_at.items()}
        longest = max(len(contexts or ()) for contexts in whole)
        for larger in _worth(ks, values):
            if baseline.k is None or larger > longest:
                yield Proposal(
                    ChangeKind.LARGER_K,
                    f"retrieve {larger} contexts in place of {k}",
                    values[larger],
                    lists_at[larger],
                )

    def _by_stages(self) -> Iterator[Proposal]:
        """Yield for each stage that all it returned is kept, and that its list is the final one."""
        baseline, pipelines = self._baseline, [each for each in self._pipelines if each is not None]
        for name in dict.fromkeys(name for pipeline in pipelines for name in pipeline.stages):
            having = [pipeline for pipeline in pipelines if name in pipeline.stages]
            if any(pipeline.is_alone(name) for pipeline in having):
                lists = self._lists(methodcaller("with_all_of", name), cut=False)
                sizes = {len(pipeline.stages[name].contexts) for pipeline in having}
                number = f"all {sizes.pop()}" if len(sizes) == 1 else "all"
                dropping = _most_common(pipeline.after(name) for pipeline in pipelines)
                yield Proposal(
                    ChangeKind.KEEP_MORE,
                    f"keep {number} contexts of {name} through {dropping}",
                    baseline.over(lists),
                    lists,
                )
            lists = self._lists(methodcaller("contexts_of", name))
            dropped = _most_common(pipeline.without(name) for pipeline in pipelines)
            action = f"leave out {dropped}: use {name} alone"
            yield Proposal(ChangeKind.SKIP_STAGES, action, baseline.over(lists), lists)

    def _without_duplicates(self) -> Iterator[Proposal]:
        """Yield lists without repeated contexts, filled up with what stood behind them."""
        lists: list[Sequence[Context] | None] = []
        dropped = 0
        for position, (row, recorded) in enumerate(
            zip(self._baseline.rows, self._baseline.lists, strict=True)
        ):
            longer = self._deeper.get(position) or row.sample.retrieved_contexts or ()
            if recorded is None or row.sample.ranks is not None or len(longer) <= len(recorded):
                lists.append(recorded)
                continue
            repeated = duplicates(longer)
            if not repeated or min(repeated) >= len(recorded):
                lists.append(recorded)
                continue
            dropped += 1
            kept = [context for index, context in enumerate(longer) if index not in repeated]
            lists.append(kept[: len(recorded)])
        if dropped:
            yield Proposal(
                ChangeKind.DROP_DUPLICATES,
                "drop duplicates before the list is cut",
                self._baseline.over(lists),
                lists,
            )

    def _lists(
        self, make: Callable[[_Pipeline], Sequence[Context] | None], *, cut: bool = True
    ) -> Lists:
        """Return the lists that `make` makes of pipelines, as many as there were if `cut`."""
        lists: list[Sequence[Context] | None] = []
        for pipeline, recorded in zip(self._pipelines, self._baseline.lists, strict=True):
            contexts = None if pipeline is None or recorded is None else make(pipeline)
            if contexts is None or recorded is None:
                lists.append(recorded)
            else:
                lists.append(contexts[: len(recorded)] if cut else contexts)
        return lists


class _Pipeline(NamedTuple):
    """The stages of one row by their names, the final list, and what the list came from."""

    stages: Mapping[str, Stage]
    final: Sequence[Context]
    last: str

    @classmethod
    def of(cls, row: Row) -> _Pipeline | None:
        """Return the pipeline of a row; None without stages, or where several calls were united."""
        record = row.sample.retrieval
        if record is None or not record.stages or not record.ranked or record.contexts is None:
            return None
        answered = [call for call in record.calls if call.contexts is not None]
        answer = answered[0] if len(answered) == 1 else None
        is_last = answer is not None and record.contexts in (answer.contexts, answer.ranked)
        last = answer.source if answer is not None and is_last else "the last step"
        return cls({stage.name: stage for stage in record.stages}, record.contexts, last)

    def contexts_of(self, name: str) -> Sequence[Context] | None:
        """Return what a stage returned; None where there is no such stage."""
        return self.stages[name].contexts if name in self.stages else None

    def with_all_of(self, name: str) -> Sequence[Context] | None:
        """Return the final list with the rest of what a stage returned behind it."""
        if name not in self.stages:
            return None
        contexts: dict[object, Context] = {}
        for context in (*self.final, *self.stages[name].contexts):
            contexts.setdefault(identity(context), context)
        return list(contexts.values())

    def is_alone(self, name: str) -> bool:
        """Whether nothing else went into the stages after this one, nor into the final list."""
        beside = [stage.into for stage in self.stages.values()]
        return all(beside.count(self.stages[each].into) == 1 for each in [name, *self._below(name)])

    def after(self, name: str) -> str:
        """Return the names of the steps between a stage and the final list."""
        return " and ".join(dict.fromkeys([*self._below(name), self.last]))

    def without(self, name: str) -> str:
        """Return the names of all steps but those that a stage's list came from."""
        others = [each for each in self.stages if name not in (each, *self._below(each))]
        return " and ".join(dict.fromkeys([*others, self.last]))

    def _below(self, name: str) -> list[str]:
        """Return the stages that a stage's list went into, one after another."""
        below: list[str] = []
        while name in self.stages and (into := self.stages[name].into) is not None:
            below.append(into)
            name = into
        return below


def _most_common(names: Iterable[str]) -> str:
    """Return what most pipelines call something; nearly all have one form."""
    return Counter(names).most_common(1)[0][0]


def _names(contexts: Sequence[Context]) -> list[str | None]:
    """Return the key of a context, the same in both lists: IDs alone may have been recorded."""
    return [context.id or context.text for context in contexts]


def _doubled(k: int, depth: int) -> list[int]:
    ks = [k]
    while ks[-1] < depth:
        ks.append(min(2 * ks[-1], depth))
    return ks


K = TypeVar("K", int, Cut)


def _worth(ks: Sequence[K], values: Mapping[K, Mapping[int, Sequence[float | None]]]) -> list[K]:
    """Return the second of `ks`, and the smallest that brings about what the largest does."""
    means = {
        k: {score_index: _mean(recalls) for score_index, recalls in of.items()}
        for k, of in values.items()
    }
    most = means[ks[-1]]
    enough = next(n for n, k in enumerate(ks) if all(means[k][p] >= most[p] - _NEAR for p in most))
    return list(dict.fromkeys((ks[1], ks[max(enough, 1)])))


def _mean(values: Sequence[float | None]) -> float:
    scored = [value for value in values if value is not None]
    return sum(scored) / len(scored) if scored else 0.0
