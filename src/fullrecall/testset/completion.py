"""`complete`: judge what nobody labeled, and say how complete the references are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Unpack

from fullrecall.errors import ParameterError
from fullrecall.evaluation.run import SampleLike, as_samples
from fullrecall.judges.judge import Flow, Judge
from fullrecall.models.chat import ChatModel
from fullrecall.run.asker import Asker
from fullrecall.run.budget import models_of
from fullrecall.run.retrievers import RetrieverLike, as_retriever
from fullrecall.testset.assessment import Assessed, Judged, assessed
from fullrecall.testset.completed import CompletedSet
from fullrecall.testset.execution import ModelOptions, Plan, carried_out, check_options
from fullrecall.testset.pool import Pair, Pool, retrieved


def complete(
    samples: Iterable[SampleLike],
    retrievers: Sequence[RetrieverLike] | Mapping[str, RetrieverLike],
    judge: Judge,
    *,
    depth: int = 20,
    seed: int = 0,
    **options: Unpack[ModelOptions],
) -> CompletedSet:
    """Pool what several retrievers return, judge what nobody labeled, and draw what to label.

    `retrievers` are whatever `evaluate` takes: functions of the question, or `observed` chains,
    graphs and engines; in a list, or by names; asked for `depth` contexts where they take a `k`.
    Every retriever that is to be compared belongs here. All of their first `depth` that have a
    text are judged; people's labels of a sample then say how complete the references are. Nothing
    is said of what no retriever has there.

    - `judge`: an `LLMJudge`, or any other.
    - `options`: those of `evaluate`: `store`, `budget`, `max_concurrency`, … With a store, the
      same call again costs nothing: run it once more when the labels are there.

    Raises `ParameterError` for arguments out of range, and `InputError` for what is no sample.
    """
    work = _Work(samples, retrievers, judge, depth, seed, options)
    lists = [retrieved(asker, work.samples, depth) for asker in work.askers.values()]
    outcomes, spent = carried_out(work.plan(lists), work.models, options)
    return replace(outcomes, spent=spent)


class _Work:
    """One call of `complete`, its arguments checked."""

    def __init__(  # noqa: PLR0917 - those of `complete`, in its order
        self,
        samples: Iterable[SampleLike],
        retrievers: Sequence[RetrieverLike] | Mapping[str, RetrieverLike],
        judge: Judge,
        depth: int,
        seed: int,
        options: ModelOptions,
    ) -> None:
        if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
            raise ParameterError(f"depth must be a whole number of at least 1, got {depth!r}")
        if not all(hasattr(judge, method) for method in ("attribute", "relevance")):
            raise ParameterError(f"judge: expected a Judge, got {type(judge).__name__}")
        check_options(options)
        self.samples = list(as_samples(samples))
        limits = options.get("max_concurrency", 16), options.get("timeout", 60.0)
        self.askers = {
            name: Asker(as_retriever(retriever, k=depth), *limits)
            for name, retriever in _named(retrievers).items()
        }
        self.judge = judge
        self.models: list[ChatModel] = models_of(judge)
        self.depth, self.seed = depth, seed

    def plan(self, lists: Sequence[Any]) -> Plan[list[Assessed], CompletedSet]:
        """Judge the whole frame, question by question."""
        pool = Pool.of(self.samples, lists)
        unnamed = [[pair for pair in pairs if not pair.named] for pairs in pool.pairs]
        with_text = [[pair for pair in pairs if pair.context.text] for pairs in unnamed]
        questions = [number for number, pairs in enumerate(with_text) if pairs]
        outcomes = yield [self._flow(pool, number, with_text[number]) for number in questions]
        verdicts: dict[int, Assessed] = {}
        problems: dict[str, int] = {}
        for number, outcome in zip(questions, outcomes, strict=True):
            silent = [Assessed(None, problem=outcome.problem)] * len(with_text[number])
            for pair, verdict in zip(with_text[number], outcome.value or silent, strict=True):
                verdicts[id(pair)] = verdict
                if verdict.relevant is None:
                    problems[verdict.problem] = problems.get(verdict.problem, 0) + 1
        textless = Assessed(None, problem="no text")
        judged = tuple(
            Judged(pair, verdicts.get(id(pair), textless), self._item(pair))
            for pairs in unnamed
            for pair in pairs
        )
        return CompletedSet(
            self.samples, pool, judged, self.depth, tuple(self.askers), self.seed, problems=problems
        )

    def _flow(self, pool: Pool, number: int, pairs: Sequence[Pair]) -> Flow[list[Assessed]]:
        texts = [pair.context.text or "" for pair in pairs]
        return assessed(self.judge, self.samples[number], pool.targets[number].claims, texts)

    def _item(self, pair: Pair) -> str:
        sample = self.samples[pair.question]
        text = f"{sample.id}\n{sample.user_input}\n{pair.context.label}"
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _named(
    retrievers: Sequence[RetrieverLike] | Mapping[str, RetrieverLike],
) -> dict[str, RetrieverLike]:
    """Return retrievers by name: those given, else those of functions, numbered where equal."""
    if isinstance(retrievers, Mapping):
        named = {str(name): retriever for name, retriever in retrievers.items()}
    else:
        if callable(retrievers) or not isinstance(retrievers, (list, tuple)):
            raise ParameterError("retrievers: expected a list or a mapping from names")
        named = {}
        for number, retriever in enumerate(retrievers, start=1):
            name = getattr(retriever, "__name__", None) or type(retriever).__name__
            fresh = name not in named and name != "<lambda>"
            named[name if fresh else f"retriever {number}"] = retriever
    if not named:
        raise ParameterError("retrievers must have at least one")
    return named
