"""A cross-encoder as a judge: a classifier that reads a passage and a claim together.

Any sequence-classification or NLI model: one score for support, or entailment, neutral and
contradiction, as the model's own config says. It runs here, needs no key, and is a
`ChatModel` to whoever drives it: pairs of samples that are judged side by side share a batch, and
what was scored once is in the store.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

from fullrecall.caches import remembered
from fullrecall.errors import JudgeError, ParameterError
from fullrecall.judges.clauses import facts_of
from fullrecall.judges.judge import Ask, Citation, Flow, Kind, Relation, Verdict
from fullrecall.judges.pair_scorers import PairScorer, Scored, load, stamp_of
from fullrecall.judges.sentences import located_parts, sentences
from fullrecall.models.chat import ChatRequest, Completion, Message

_DIGITS = 4
"""Decimals of a score: fewer than what the company of other pairs in a batch may change."""
_TURNS_OF_OTHERS = 3
"""Steps of the event loop that other samples have to ask, before a batch is run."""


@dataclass(frozen=True)
class CrossEncoderJudge:
    """Judges claims by a cross-encoder that runs on this machine.

    - `model`: a folder that holds one, or its name on the Hugging Face hub. A folder with an ONNX
      export (`model.onnx` or `onnx/model.onnx`, beside `tokenizer.json` and `config.json`) needs
      the extra `nli`; anything else needs sentence-transformers, which brings torch.
    - `threshold`: the score from which a claim is supported, in (0, 1]. `judge examine` finds
      the one that fits your labels.
    - `window`: sentences that are read at a time; each context's best window counts, and where no
      context supports a claim, the two best windows together.
    - `batch_size`: pairs in one run of the model. `max_length`: tokens of a pair; the passage is
      cut, never the claim. `device`: "cpu", "cuda"; None takes what there is.

    Raises `ParameterError` for a model whose labels do not say which of them is support, and
    `MissingExtraError` without the packages. It splits texts into the facts of their sentences,
    and cannot decide whether a question is answered.
    """

    model: str
    threshold: float = 0.5
    window: int = 3
    batch_size: int = 32
    max_length: int = 512
    device: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise ParameterError(f"threshold must be above 0 and at most 1, got {self.threshold!r}")
        for name in ("window", "batch_size", "max_length"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ParameterError(f"{name} must be at least 1, got {value!r}")
        _ = self._pairs  # a model that cannot be loaded is told of here, not in a report

    @property
    def name(self) -> str:
        """The model and what decides its verdicts."""
        return f"{self._pairs.name}:{self.threshold:g}/{self.window}"

    def split(
        self,
        text: str,
        *,
        kind: Kind,
        question: str | None = None,  # noqa: ARG002 - the protocol's
    ) -> Flow[Sequence[str]]:
        """Return the facts of the text, sentence by sentence; raises `JudgeError` for entities."""
        yield from ()
        if kind == "entities":
            raise JudgeError("CrossEncoderJudge lists no entities: pass reference_entities")
        return facts_of(text) if kind == "claims" else sentences(text)

    def attribute(
        self,
        targets: Sequence[str],
        contexts: Sequence[str],
        *,
        question: str | None = None,  # noqa: ARG002 - the protocol's
        relation: Relation = "claim",
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per claim, in order; raises `JudgeError` for questions."""
        if relation == "question":
            raise JudgeError(
                "CrossEncoderJudge cannot decide whether a question is answered: "
                "pass judge=LLMJudge(…)"
            )
        judged = yield from self._scored(targets, contexts)
        return [self._verdict(each) for each in judged]

    def relevance(
        self, contexts: Sequence[str], *, question: str | None, reference: str | None
    ) -> Flow[Sequence[Verdict]]:
        """Return one verdict per context: it helps if it supports a fact of the reference."""
        del question
        if reference is None:
            raise JudgeError(
                "CrossEncoderJudge cannot decide what helps to answer a question without a "
                "reference answer: pass judge=LLMJudge(…)"
            )
        facts = yield from self._scored(facts_of(reference), contexts, jointly=False)
        if not facts:
            return [Verdict("not_supported")] * len(contexts)
        best = [
            max(windows, key=lambda w: w.support)
            for windows in zip(*(judged.alone for judged in facts), strict=True)
        ]
        return [
            Verdict("supported", (Citation(index, window.text),))
            if window.support >= self.threshold
            else Verdict("not_supported")
            for index, window in enumerate(best)
        ]

    def support(
        self, targets: Sequence[str], contexts: Sequence[str], *, question: str | None = None
    ) -> Flow[Sequence[float]]:
        """Return how far each claim is supported, in [0, 1]: what `threshold` is compared with."""
        del question
        judged = yield from self._scored(targets, contexts)
        return [each.support for each in judged]

    def _scored(
        self, targets: Sequence[str], contexts: Sequence[str], *, jointly: bool = True
    ) -> Flow[list[_Judged]]:
        """Return each target against each context's best window, and against two together."""
        windows = [
            (index, window)
            for index, text in enumerate(contexts)
            for window in _windows(text, self.window)
        ]
        scores = yield from self._ask([(text, target) for target in targets for _, text in windows])
        judged = []
        for number in range(len(targets)):
            own = scores[number * len(windows) : (number + 1) * len(windows)]
            judged.append(_judged(windows, own, len(contexts)))
        weak = [n for n, each in enumerate(judged) if jointly and self._may_join(each)]
        pairs = [(judged[n].joined_text, targets[n]) for n in weak]
        for number, scored in zip(weak, (yield from self._ask(pairs)), strict=True):
            judged[number] = judged[number]._replace(together=scored.support)
        return judged

    def _may_join(self, judged: _Judged) -> bool:
        return len(judged.best_two) > 1 and judged.support < self.threshold

    def _ask(self, pairs: Sequence[tuple[str, str]]) -> Flow[list[Scored]]:
        if not pairs:
            return []
        request = ChatRequest((Message("user", json.dumps(pairs)),), schema_name="pairs")
        (completion,) = yield [Ask(self._pairs, request)]
        if completion.failure is not None:
            raise JudgeError(f"the cross-encoder failed: {completion.problem}")
        return [Scored(*scores) for scores in json.loads(completion.text)]

    def _verdict(self, judged: _Judged) -> Verdict:
        def cited(indices: Iterable[int]) -> tuple[Citation, ...]:
            return tuple(Citation(index, judged.alone[index].text) for index in indices)

        alone = list(enumerate(judged.alone))
        enough = [index for index, best in alone if best.support >= self.threshold]
        if enough:
            return Verdict("supported", cited(enough))
        if judged.together >= self.threshold:
            return Verdict("supported", cited(judged.best_two), together=True)
        denied = [index for index, best in alone if best.contradiction >= self.threshold]
        return Verdict("contradicted" if denied else "not_supported", cited(denied))

    @property
    def _pairs(self) -> PairModel:
        return _pair_model(
            self.model, self.batch_size, self.max_length, self.device, stamp_of(self.model)
        )


class _Best(NamedTuple):
    """The window of a context that supports a claim most; `contradiction` is of any window."""

    support: float = 0.0
    contradiction: float = 0.0
    text: str = ""


class _Judged(NamedTuple):
    """A claim against each context alone, and against the two that support it most."""

    alone: list[_Best]
    together: float = 0.0

    @property
    def support(self) -> float:
        """How far the claim is supported, by one context or two."""
        return max([self.together, *(best.support for best in self.alone)])

    @property
    def best_two(self) -> list[int]:
        """The contexts that support the claim most, at most two, the earlier first."""
        read = [n for n, best in enumerate(self.alone) if best.text]
        return sorted(sorted(read, key=lambda n: (-self.alone[n].support, n))[:2])

    @property
    def joined_text(self) -> str:
        """The best windows of the two, one after the other."""
        return " ".join(self.alone[n].text for n in self.best_two)


def _judged(windows: Sequence[tuple[int, str]], scores: Sequence[Scored], count: int) -> _Judged:
    best = [_Best()] * count
    for (index, text), scored in zip(windows, scores, strict=True):
        best_so_far = best[index]
        contradiction = max(best_so_far.contradiction, scored.contradiction)
        if not best_so_far.text or scored.support > best_so_far.support:
            best_so_far = _Best(scored.support, text=text)
        best[index] = best_so_far._replace(contradiction=contradiction)
    return _Judged(best)


@remembered(2_000_000)
def _windows(text: str, size: int) -> tuple[str, ...]:
    """Return windows of `size` sentences, each sharing its last sentence with the next."""
    spans = [(start, end) for _, start, end in located_parts(text)]
    step = max(1, size - 1)
    starts = range(0, max(1, len(spans) - (size - step)), step) if spans else ()
    return tuple(text[spans[n][0] : spans[min(n + size, len(spans)) - 1][1]] for n in starts)


class PairModel:
    """A pair scorer as a chat model: requests that wait at the same time share their batches."""

    def __init__(self, scorer: PairScorer, batch_size: int) -> None:
        self.name = f"nli:{scorer.name}"
        self.runs = 0
        self._scorer = scorer
        self._batch_size = batch_size
        self._lock = threading.Lock()
        self._waiting: WeakKeyDictionary[asyncio.AbstractEventLoop, list[_Waiting]] = (
            WeakKeyDictionary()
        )
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    def complete(self, request: ChatRequest) -> Completion:
        """Return the scores of a request's pairs, as JSON."""
        return _written(self._score(_pairs_of(request)))

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return the same, in one batch with what else is asked for meanwhile.

        While the model runs, requests gather; whichever has the next turn scores them all.
        """
        loop = asyncio.get_running_loop()
        mine = _Waiting(_pairs_of(request))
        waiting = self._waiting.setdefault(loop, [])
        waiting.append(mine)
        try:
            async with self._turns.setdefault(loop, asyncio.Lock()):
                if mine.scores is None:
                    for _ in range(_TURNS_OF_OTHERS):
                        await asyncio.sleep(0)
                    await self._score_all(list(waiting))
        finally:
            waiting.remove(mine)
        assert mine.scores is not None  # noqa: S101 - its turn came, or it raised
        return _written(mine.scores)

    async def _score_all(self, requests: Sequence[_Waiting]) -> None:
        open_ones = [request for request in requests if request.scores is None]
        pairs = [pair for request in open_ones for pair in request.pairs]
        scores = iter(await asyncio.to_thread(self._score, pairs))
        for request in open_ones:
            request.scores = [next(scores) for _ in request.pairs]

    def _score(self, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
        """Return the score of each pair; pairs of like length share a batch, each is run once."""
        distinct = sorted(dict.fromkeys(pairs), key=lambda pair: (sum(map(len, pair)), pair))
        score_of: dict[tuple[str, str], Scored] = {}
        with self._lock:
            for start in range(0, len(distinct), self._batch_size):
                batch = distinct[start : start + self._batch_size]
                score_of |= zip(batch, self._scorer.score(batch), strict=True)
                self.runs += 1
        return [score_of[pair] for pair in pairs]


@dataclass(eq=False)
class _Waiting:
    """A request that waits for its turn."""

    pairs: list[tuple[str, str]]
    scores: list[Scored] | None = None


@lru_cache(maxsize=8)
def _pair_model(
    model: str,
    batch_size: int,
    max_length: int,
    device: str | None,
    stamp: tuple[tuple[str, int, int], ...],  # a changed folder is read anew
) -> PairModel:
    del stamp
    return PairModel(load(model, max_length=max_length, device=device), batch_size)


def _pairs_of(request: ChatRequest) -> list[tuple[str, str]]:
    return [(passage, claim) for passage, claim in json.loads(request.messages[0].content)]


def _written(scores: Sequence[Scored]) -> Completion:
    return Completion(
        json.dumps([[round(value, _DIGITS) for value in scored] for scored in scores])
    )
