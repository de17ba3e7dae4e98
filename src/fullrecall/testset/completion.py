"""`complete`: judge what nobody labeled, and say how complete the references are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from fullrecall.errors import InputError, ParameterError
from fullrecall.evaluation.run import SampleLike, as_samples
from fullrecall.judges.judge import Flow, Judge
from fullrecall.models.chat import ChatModel
from fullrecall.run.asker import Asker
from fullrecall.run.budget import models_of
from fullrecall.run.retrievers import RetrieverLike, as_retriever
from fullrecall.sample import Sample
from fullrecall.testset import pair_labels
from fullrecall.testset.assessment import Assessed, Judged, assessed
from fullrecall.testset.completeness import drawn, edges
from fullrecall.testset.execution import (
    ModelOptions,
    Outcome,
    Plan,
    Unpack,
    acarried_out,
    carried_out,
    check_options,
)
from fullrecall.testset.gain import FalseMiss, RecallAtK, false_misses, recalls, unjudged_share
from fullrecall.testset.judgments import Judgments
from fullrecall.testset.pair_labels import PairToLabel
from fullrecall.testset.pool import Pair, Pool, aretrieved, retrieved
from fullrecall.testset.references import extended
from fullrecall.testset.statement import statement


@dataclass(frozen=True)
class CompletedSet(Judgments):
    """What was found beyond the references, and what that says of them.

    Without people's labels nothing is added: `to_label` draws what they should look at,
    `with_labels` takes it.
    """

    def to_label(
        self, n: int = 200, path: str | Path | None = None, *, tail: str = "found"
    ) -> list[PairToLabel]:
        """Draw pairs for people to label, and write them to a new `.csv` or `.jsonl` file.

        `n` are of the pool, half of those that the judge found relevant, half of the others. Of
        the tail come those that the judge found (`tail="found"`: completeness is then an upper
        bound), or all (`tail="all"`: it is an estimate with an interval). Verdicts are hidden.
        Labels that this completion has are filled in. Raises `ParameterError` for arguments out
        of range, and for a file that exists.
        """
        if not isinstance(n, int) or isinstance(n, bool) or n < 1:
            raise ParameterError(f"n must be a whole number of at least 1, got {n!r}")
        if tail not in ("found", "all"):
            raise ParameterError(f"tail: choose one of found, all, got {tail!r}")
        chosen = [
            *self._of_pool(n),
            *(one for one in self._tail if tail == "all" or one.verdict[0]),
        ]
        chosen.sort(key=lambda one: one.item)  # no order that tells the verdict
        pairs = pair_labels.filled(map(self._to_label, chosen), self.labels)
        if path is not None:
            pair_labels.write(pairs, path)
        return pairs

    def with_labels(
        self, labels: str | Path | Mapping[str, Any] | Iterable[PairToLabel]
    ) -> CompletedSet:
        """Return this completion with people's labels: a file of `to_label`, or pairs.

        Raises `InputError` for an unknown label, and for labels of another completion.
        """
        read = pair_labels.read(labels)
        known = {one.item for one in self.judged}
        foreign = read.keys() - known
        if foreign:
            raise InputError(
                f"{len(foreign):,} of {len(read):,} labels are of pairs that this completion does "
                "not have: use the same samples, retrievers, depth, tail and seed"
            )
        return replace(self, labels={**self.labels, **read})

    @cached_property
    def samples(self) -> list[Sample]:
        """The samples with what was accepted, and with the IDs of all that was judged.

        What supports a claim joins its any-of group; what does not is a reference of its own.
        """
        return extended(self)

    def recall(self, k: int) -> list[RecallAtK]:
        """Return each retriever's recall at `k` over all targets, before and after.

        Raises `ParameterError` for a k beyond `depth`: what lies deeper was not judged.
        """
        if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= self.depth:
            raise ParameterError(f"k must be from 1 to the depth of {self.depth}, got {k!r}")
        return recalls(self, k)

    def false_misses(self, k: int) -> list[FalseMiss]:
        """Return the targets that a retriever seemed to miss within `k` and did not."""
        return false_misses(self, k)

    def unjudged(self, k: int) -> dict[str, float]:
        """Return the share of each retriever's first `k` that nobody labeled or judged."""
        return {
            name: unjudged_share(self.pool, self.judged, which, k)
            for which, name in enumerate(self.names)
        }

    def __str__(self) -> str:
        return statement(self)

    @property
    def _tail(self) -> list[Judged]:
        return [one for one in self.judged if one.stratum is not None]

    def _of_pool(self, n: int) -> list[Judged]:
        import random

        draw = random.Random(f"{self.seed}:labels")  # noqa: S311 - a sample, no secret
        by_verdict: dict[bool, list[Judged]] = {True: [], False: []}
        for one in self.judged:
            if one.stratum is None and one.verdict.relevant is not None:
                by_verdict[one.verdict.relevant].append(one)
        for members in by_verdict.values():
            draw.shuffle(members)
        yes = min(len(by_verdict[True]), max((n + 1) // 2, n - len(by_verdict[False])))
        return by_verdict[True][:yes] + by_verdict[False][: n - yes]

    def _to_label(self, one: Judged) -> PairToLabel:
        targets = self.pool.targets[one.pair.question]
        question = self.given[one.pair.question].user_input or ""
        claims = "\n".join(f"- {claim}" for claim in targets.claims)
        return PairToLabel(one.item, question, one.pair.context.label, claims)


def complete(
    samples: Iterable[SampleLike],
    retrievers: Sequence[RetrieverLike] | Mapping[str, RetrieverLike],
    judge: Judge,
    *,
    depth: int = 20,
    frame: int = 100,
    tail: int = 1000,
    seed: int = 0,
    **options: Unpack[ModelOptions],
) -> CompletedSet:
    """Pool what several retrievers return, judge what nobody labeled, and sample what lies below.

    `retrievers` are whatever `evaluate` takes: functions of the question, or `observed` chains,
    graphs and engines; in a list, or by names. Every retriever that is to be compared belongs
    here. All of their first `depth` are judged; of what lies below, down to `frame`, a random
    `tail`, more densely near the top, says how much is left. Nothing is said of what no retriever
    has in its frame.

    - `judge`: an `LLMJudge`, or any other.
    - `options`: those of `evaluate`: `store`, `budget`, `max_concurrency`, … With a store, the
      same call again costs nothing: run it once more when the labels are there.

    Raises `ParameterError` for arguments out of range, and `InputError` for what is no sample.
    """
    work = _Work(samples, retrievers, judge, depth, frame, tail, seed, options)
    lists = [retrieved(asker, work.samples, frame) for asker in work.askers.values()]
    done, spent = carried_out(work.plan(lists), work.models, options)
    return replace(done, spent=spent)


async def acomplete(
    samples: Iterable[SampleLike],
    retrievers: Sequence[RetrieverLike] | Mapping[str, RetrieverLike],
    judge: Judge,
    *,
    depth: int = 20,
    frame: int = 100,
    tail: int = 1000,
    seed: int = 0,
    **options: Unpack[ModelOptions],
) -> CompletedSet:
    """Return what `complete` does, without blocking the event loop."""
    work = _Work(samples, retrievers, judge, depth, frame, tail, seed, options)
    lists = [await aretrieved(asker, work.samples, frame) for asker in work.askers.values()]
    done, spent = await acarried_out(work.plan(lists), work.models, options)
    return replace(done, spent=spent)


class _Work:
    """One call of `complete`, its arguments checked."""

    def __init__(  # noqa: PLR0917 - those of `complete`, in its order
        self,
        samples: Iterable[SampleLike],
        retrievers: Sequence[RetrieverLike] | Mapping[str, RetrieverLike],
        judge: Judge,
        depth: int,
        frame: int,
        tail: int,
        seed: int,
        options: ModelOptions,
    ) -> None:
        for name, value, least in (("depth", depth, 1), ("frame", frame, depth), ("tail", tail, 0)):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ParameterError(
                    f"{name} must be a whole number of at least {least}, got {value!r}"
                )
        if not all(hasattr(judge, method) for method in ("attribute", "relevance")):
            raise ParameterError(f"judge: expected a Judge, got {type(judge).__name__}")
        check_options(options)
        self.samples = list(as_samples(samples))
        limits = options.get("max_concurrency", 16), options.get("timeout", 60.0)
        self.askers = {
            name: Asker(as_retriever(one), *limits) for name, one in _named(retrievers).items()
        }
        self.judge = judge
        self.models: list[ChatModel] = models_of(judge)
        self.depth, self.frame, self.tail, self.seed = depth, frame, tail, seed

    def plan(self, lists: Sequence[Any]) -> Plan[list[Assessed], CompletedSet]:
        """Judge the pool and the sample of the tail, question by question."""
        pool = Pool.of(self.samples, lists)
        open_pairs = [
            [pair for pair in pairs if not pair.named and pair.context.text] for pairs in pool.pairs
        ]
        below, sizes = self._tail(open_pairs)
        asked = [
            [(pair, None) for pair in pairs if pair.best <= self.depth] + below.get(number, [])
            for number, pairs in enumerate(open_pairs)
        ]
        questions = [number for number, pairs in enumerate(asked) if pairs]
        outcomes = yield [self._flow(pool, number, asked[number]) for number in questions]
        judged: list[Judged] = []
        problems: dict[str, int] = {}
        for number, outcome in zip(questions, outcomes, strict=True):
            judged += self._judged(asked[number], outcome, problems)
        return CompletedSet(
            self.samples, pool, tuple(judged), tuple(sizes), self.depth, self.frame,
            tuple(self.askers), self.seed, problems=problems,
        )  # fmt: skip

    def _flow(
        self, pool: Pool, number: int, pairs: Sequence[tuple[Pair, int | None]]
    ) -> Flow[list[Assessed]]:
        texts = [pair.context.text or "" for pair, _ in pairs]
        return assessed(self.judge, self.samples[number], pool.targets[number].claims, texts)

    def _judged(
        self,
        pairs: Sequence[tuple[Pair, int | None]],
        outcome: Outcome[list[Assessed]],
        problems: dict[str, int],
    ) -> list[Judged]:
        verdicts = outcome.value or [Assessed(None, problem=outcome.problem)] * len(pairs)
        for verdict in verdicts:
            if verdict.relevant is None:
                problems[verdict.problem] = problems.get(verdict.problem, 0) + 1
        return [
            Judged(pair, verdict, stratum, self._item(pair))
            for (pair, stratum), verdict in zip(pairs, verdicts, strict=True)
        ]

    def _item(self, pair: Pair) -> str:
        sample = self.samples[pair.question]
        text = f"{sample.id}\n{sample.user_input}\n{pair.context.text}"
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def _tail(
        self, open_pairs: Sequence[Sequence[Pair]]
    ) -> tuple[dict[int, list[tuple[Pair, int | None]]], list[int]]:
        """Return what is drawn below the pool, by question, and the strata's sizes."""
        from bisect import bisect_left

        bounds = edges(self.depth, self.frame)
        flat = [pair for pairs in open_pairs for pair in pairs if pair.best > self.depth]
        members: dict[int, list[int]] = {number: [] for number in range(len(bounds))}
        for at, pair in enumerate(flat):
            members[bisect_left(bounds, pair.best)].append(at)
        sizes = [len(members[number]) for number in range(len(bounds))]
        if not self.tail:
            return {}, []
        middle = {
            number: (flat[of[0]].best if not of else sum(flat[at].best for at in of) / len(of))
            for number, of in members.items()
            if of
        }
        filled = {number: of for number, of in members.items() if of}
        chosen: dict[int, list[tuple[Pair, int | None]]] = {}
        for number, ats in drawn(filled, middle, self.tail, self.seed).items():
            for at in ats:
                chosen.setdefault(flat[at].question, []).append((flat[at], number))
        return chosen, sizes


def _named(
    retrievers: Sequence[RetrieverLike] | Mapping[str, RetrieverLike],
) -> dict[str, RetrieverLike]:
    """Return retrievers by name: those given, else those of functions, numbered where equal."""
    if isinstance(retrievers, Mapping):
        named = {str(name): one for name, one in retrievers.items()}
    else:
        if callable(retrievers) or not isinstance(retrievers, (list, tuple)):
            raise ParameterError("retrievers: expected a list or a mapping from names")
        named = {}
        for number, one in enumerate(retrievers, start=1):
            name = getattr(one, "__name__", None) or type(one).__name__
            fresh = name not in named and name != "<lambda>"
            named[name if fresh else f"retriever {number}"] = one
    if not named:
        raise ParameterError("retrievers must have at least one")
    return named
