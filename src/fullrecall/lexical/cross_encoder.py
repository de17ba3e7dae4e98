"""A cross-encoder as a judge: a classifier that reads a passage and a claim together.

Any sequence-classification or NLI model works: a few sentences show which of its outputs means
support. It runs locally without a key. Drivers use it as
a `ChatModel`, so a store keeps its scores.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fullrecall._util.caches import remembered
from fullrecall._util.parameters import check_k
from fullrecall.errors import JudgeError
from fullrecall.judge.judge import Ask, Asked, Flow, Verdict
from fullrecall.judge.models.chat import ChatRequest, Message
from fullrecall.lexical.claim_judge import Best, ClaimJudge, Judged
from fullrecall.lexical.pair_scorers import PairModel, load
from fullrecall.lexical.sentences import located_parts


@dataclass(frozen=True)
class CrossEncoderJudge(ClaimJudge):
    """Judges claims by a cross-encoder that runs on this machine.

    - `model`: a folder with an ONNX export (`model.onnx` or `onnx/model.onnx`, beside
      `tokenizer.json` and `config.json`). It needs the extra `nli`.
    - `threshold`: the score from which a claim is supported, in (0, 1]. `examine` of
      `fullrecall.testing.examine` measures one on your labels.
    - `window`: sentences read at a time. Each context's best window counts; if no context supports
      a claim, the two best windows count together.
    - `batch_size`: pairs in one run of the model. `max_length`: tokens of a pair; the passage is
      cut, never the claim. The model runs on a GPU if onnxruntime has one.

    Raises `ParameterError` for a model without an output that means support, and
    `MissingExtraError` without the packages. The judge splits texts into the facts of their
    sentences, and cannot decide whether a question is answered.
    """

    model: str
    threshold: float = 0.5
    window: int = 3
    batch_size: int = 32
    max_length: int = 512

    called: ClassVar[str] = "CrossEncoderJudge"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("window", "batch_size", "max_length"):
            check_k(getattr(self, name), name)
        _ = self._pairs  # a model that cannot be loaded raises here, not in a report

    @property
    def name(self) -> str:
        """The model, the threshold and the window."""
        return f"{self._pairs.name}:{self.threshold:g}/{self.window}"

    def _attributed(self, asked: Asked) -> Flow[Sequence[Verdict]]:
        targets = asked.targets
        judged = [Judged(alone) for alone in (yield from self._alone(targets, asked.contexts))]
        pair_of = {
            number: pair
            for number, claim in enumerate(judged)
            if all(best.support < self.threshold for best in claim.alone)
            and len(pair := _best_two(claim.alone)) > 1
        }
        scores = yield from self._ask(
            [
                (" ".join(judged[number].alone[index].quote for index in pair), targets[number])
                for number, pair in pair_of.items()
            ]
        )
        for (number, pair), together in zip(pair_of.items(), scores, strict=True):
            judged[number] = Judged(judged[number].alone, pair, together)
        return [claim.verdict(self.threshold) for claim in judged]

    def _alone(self, targets: Sequence[str], contexts: Sequence[str]) -> Flow[list[list[Best]]]:
        """Return for each target the best window of each context."""
        windows = [
            (index, window)
            for index, text in enumerate(contexts)
            for window in _windows(text, self.window)
        ]
        scores = iter((yield from self._ask([(text, t) for t in targets for _, text in windows])))
        best_of = []
        for _ in targets:
            best = [Best()] * len(contexts)
            for index, text in windows:
                support = next(scores)
                if not best[index].quote or support > best[index].support:
                    best[index] = Best(support, text)
            best_of.append(best)
        return best_of

    def _ask(self, pairs: Sequence[tuple[str, str]]) -> Flow[list[float]]:
        if not pairs:
            return []
        # All pairs in one request: the model sorts them into batches of similar length.
        request = ChatRequest((Message("user", json.dumps(pairs)),), schema_name="support")
        (completion,) = yield [Ask(self._pairs, request)]
        if completion.failure is not None:
            raise JudgeError(f"the cross-encoder failed: {completion.problem}")
        scores: list[float] = json.loads(completion.text)
        return scores

    @property
    def _pairs(self) -> PairModel:
        return load(self.model, self.batch_size, self.max_length)


def _best_two(alone: Sequence[Best]) -> tuple[int, ...]:
    """Return the indices of the two contexts that support a claim most, the earlier first."""
    read = [index for index, best in enumerate(alone) if best.quote]
    return tuple(sorted(sorted(read, key=lambda index: (-alone[index].support, index))[:2]))


@remembered(2_000_000)
def _windows(text: str, size: int) -> tuple[str, ...]:
    """Return windows of `size` sentences, each sharing its last sentence with the next."""
    spans = [(start, end) for _, start, end in located_parts(text)]
    step = max(1, size - 1)
    starts = range(0, max(1, len(spans) - (size - step)), step) if spans else ()
    return tuple(text[spans[n][0] : spans[min(n + size, len(spans)) - 1][1]] for n in starts)
