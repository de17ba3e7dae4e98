"""The changes whose gain can be computed from the record of a retrieval."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import methodcaller
from typing import TypeVar

from fullrecall.calls import Stage, identity
from fullrecall.context import Context
from fullrecall.diagnosis.change import ChangeKind
from fullrecall.diagnosis.effects import Baseline, Lists, Proposal
from fullrecall.diagnosis.likeness import duplicates
from fullrecall.measures import Budget
from fullrecall.measures.budgets import Cut
from fullrecall.table.row import Row

RANK_CONSTANT = 60
"""Of reciprocal rank fusion: Cormack, Clarke, Büttcher, "Reciprocal Rank Fusion", SIGIR 2009."""

_NEAR = 0.01
"""A larger k is enough if it comes this near to the recall of the whole lists."""


class Proposer:
    """Proposes changes of one report: those whose lists are in the record, or were asked for.

    `deeper` has what the retriever returned when asked for more, by the position of the row,
    `exact` what the exact search did.
    """

    def __init__(
        self,
        baseline: Baseline,
        deeper: Mapping[int, Sequence[Context]],
        exact: Mapping[int, Sequence[Context]],
    ) -> None:
        self._baseline = baseline
        self._deeper = deeper
        self._exact = exact
        self._pipelines = [_Pipeline.of(row) for row in baseline.rows]

    def proposals(self) -> Iterator[Proposal]:
        """Yield all of them."""
        yield from self._larger_k()
        if self._baseline.rescored:
            yield from self._retrieving_more()
            yield from self._keeping_more()
            yield from self._skipping()
            yield from self._fusing()
            yield from self._without_duplicates()
            yield from self._searching_exactly()

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
                depth=larger if isinstance(larger, int) else None,
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
                    depth=larger,
                )

    def _keeping_more(self) -> Iterator[Proposal]:
        """Yield, for each stage on the way to the final list, that all it returned is kept."""
        for name in self._stages(lambda pipeline, stage: pipeline.is_alone(stage)):
            lists = self._lists(
                lambda pipeline, contexts: _union(pipeline.final, contexts), name, cut=False
            )
            sizes = {len(p.contexts[name]) for p in self._pipelines if p and name in p.contexts}
            number = f"all {sizes.pop()}" if len(sizes) == 1 else "all"
            dropping = self._common(methodcaller("after", name))
            yield Proposal(
                ChangeKind.KEEP_MORE,
                f"keep {number} contexts of {name} through {dropping}",
                self._baseline.over(lists),
                lists,
                depth=max(len(contexts or ()) for contexts in lists),
            )

    def _skipping(self) -> Iterator[Proposal]:
        """Yield, for each stage, that its list is the final one."""
        for name in self._stages(lambda *_: True):
            lists = self._lists(lambda _, contexts: contexts, name)
            dropped = self._common(methodcaller("without", name))
            yield Proposal(
                ChangeKind.SKIP_STAGES,
                f"leave out {dropped}: use {name} alone",
                self._baseline.over(lists),
                lists,
            )

    def _fusing(self) -> Iterator[Proposal]:
        """Yield the fusion of the first stages, and that of the final list with what it was."""
        names = [*self._stages(lambda *_: True)]
        starts = [*self._stages(lambda pipeline, stage: pipeline.is_first(stage))]
        ends = [*self._stages(lambda _, stage: stage.into is None)]
        options: dict[tuple[str, ...], str] = {}
        if len(starts) > 1:
            options[tuple(starts)] = " and ".join(starts)
        if len(ends) == 1 and names:
            last = self._common(lambda pipeline: pipeline.last)
            options[*ends, _FINAL] = f"{ends[0]} and {last}"
        for parts, shown in options.items():
            lists: list[Sequence[Context] | None] = []
            for pipeline, recorded in zip(self._pipelines, self._baseline.lists, strict=True):
                if pipeline is None or not any(name in pipeline.contexts for name in parts):
                    lists.append(recorded)
                    continue
                lists_by_name = {**pipeline.contexts, _FINAL: pipeline.final}
                fused = _fused([lists_by_name[name] for name in parts if name in lists_by_name])
                lists.append(fused[: len(recorded or ())])
            yield Proposal(
                ChangeKind.FUSE_STAGES,
                f"fuse {shown} by reciprocal rank",
                self._baseline.over(lists),
                lists,
            )

    def _without_duplicates(self) -> Iterator[Proposal]:
        """Yield lists without repeated contexts, filled up with what stood behind them."""
        lists: list[Sequence[Context] | None] = []
        dropped = depth = 0
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
            depth = max(depth, len(longer))
            lists.append(_without(longer, repeated)[: len(recorded)])
        if dropped:
            counted = self._baseline.depth
            yield Proposal(
                ChangeKind.DROP_DUPLICATES,
                "drop duplicates before the list is cut",
                self._baseline.over(lists),
                lists,
                depth=depth,
                transform=lambda _, contexts: _without(contexts, duplicates(contexts))[:counted],
            )

    def _searching_exactly(self) -> Iterator[Proposal]:
        """Yield the lists of the exact search in place of the retriever's.

        A bound: it was asked where something was missed, and may miss what was found elsewhere.
        """
        if not self._exact:
            return
        counted = self._baseline.depth
        lists: list[Sequence[Context] | None] = list(self._baseline.lists)
        for position, contexts in self._exact.items():
            lists[position] = contexts[:counted]
        yield Proposal(
            ChangeKind.SEARCH_EXACTLY,
            "search as the exact search does: no approximate index, no filter",
            self._baseline.over(lists),
            lists,
        )

    def _lists(
        self,
        make: Callable[[_Pipeline, Sequence[Context]], Sequence[Context]],
        name: str,
        *,
        cut: bool = True,
    ) -> Lists:
        """Return the list that `make` makes of a stage's contexts, as many as there were."""
        lists: list[Sequence[Context] | None] = []
        for pipeline, recorded in zip(self._pipelines, self._baseline.lists, strict=True):
            if pipeline is None or name not in pipeline.contexts or recorded is None:
                lists.append(recorded)
                continue
            contexts = make(pipeline, pipeline.contexts[name])
            lists.append(contexts[: len(recorded)] if cut else contexts)
        return lists

    def _stages(self, is_chosen: Callable[[_Pipeline, Stage], bool]) -> list[str]:
        """Return the names of the stages that are `wanted`, in the order of the pipeline."""
        return list(
            dict.fromkeys(
                stage.name
                for pipeline in self._pipelines
                if pipeline is not None
                for stage in pipeline.stages
                if is_chosen(pipeline, stage)
            )
        )

    def _common(self, name: Callable[[_Pipeline], str]) -> str:
        """Return what the pipelines call something; most have one form."""
        names = [name(pipeline) for pipeline in self._pipelines if pipeline is not None]
        return max(dict.fromkeys(names), key=names.count)


_FINAL = ""


class _Pipeline:
    """The stages of one row, and the final list that they ended with."""

    def __init__(self, stages: Sequence[Stage], final: Sequence[Context], last: str) -> None:
        self.stages = stages
        self.final = final
        self.last = last
        self.contexts = {stage.name: stage.contexts for stage in stages}
        self._into = {stage.name: stage.into for stage in stages}

    @classmethod
    def of(cls, row: Row) -> _Pipeline | None:
        """Return the pipeline of a row; None without stages, or where several calls were united."""
        record = row.sample.retrieval
        if record is None or not record.calls or not record.ranked or record.contexts is None:
            return None
        stages = record.stages
        if not stages:
            return None
        answered = [call for call in record.calls if call.contexts is not None]
        answer = answered[0] if len(answered) == 1 else None
        is_last = answer is not None and record.contexts in (answer.contexts, answer.ranked)
        last = answer.source if answer is not None and is_last else "the last step"
        return cls(stages, record.contexts, last)

    def is_first(self, stage: Stage) -> bool:
        """Whether no stage went into this one."""
        return stage.name not in self._into.values()

    def is_alone(self, stage: Stage) -> bool:
        """Whether nothing else went into the stages after this one, nor into the final list."""
        beside = [other.into for other in self.stages]
        return beside.count(stage.into) == 1 and all(
            beside.count(self._into[name]) == 1 for name in self._below(stage.name)
        )

    def after(self, name: str) -> str:
        """Return the names of the steps between a stage and the final list."""
        steps = [*self._below(name), self.last]
        return " and ".join(dict.fromkeys(steps))

    def without(self, name: str) -> str:
        """Return the names of all steps but those that a stage's list came from."""
        sources, grown = {name}, True
        while grown:
            more = {stage for stage, into in self._into.items() if into in sources} - sources
            grown = bool(more)
            sources |= more
        others = [stage.name for stage in self.stages if stage.name not in sources]
        return " and ".join(dict.fromkeys([*others, self.last]))

    def _below(self, name: str) -> list[str]:
        """Return the stages that a stage's list went into, one after another."""
        below: list[str] = []
        into = self._into.get(name)
        while into is not None:
            below.append(into)
            into = self._into.get(into)
        return below


def _fused(lists: Sequence[Sequence[Context]]) -> list[Context]:
    """Return the contexts of several lists by the sum of their reciprocal ranks."""
    worth: dict[object, float] = {}
    context_of: dict[object, Context] = {}
    for contexts in lists:
        for rank, context in enumerate(_union(contexts, ()), start=1):
            key = identity(context)
            context_of.setdefault(key, context)
            worth[key] = worth.get(key, 0.0) + 1 / (RANK_CONSTANT + rank)
    return sorted(context_of.values(), key=lambda context: -worth[identity(context)])


def _union(first: Sequence[Context], second: Sequence[Context]) -> list[Context]:
    """Return the contexts of both lists, each where it first stands."""
    contexts: dict[object, Context] = {}
    for context in (*first, *second):
        contexts.setdefault(identity(context), context)
    return list(contexts.values())


def _without(contexts: Sequence[Context], repeated: frozenset[int]) -> list[Context]:
    return [context for index, context in enumerate(contexts) if index not in repeated]


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
