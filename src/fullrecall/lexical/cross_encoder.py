"""A cross-encoder as a judge: a classifier that reads a passage and a claim together.

Any sequence-classification or NLI model works. A few test sentences show which of its outputs means
support. The model runs locally without a key. It is called as a `ChatModel`, so that a store keeps
its scores.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fullrecall._util.caches import remembered
from fullrecall._util.parameters import check_k
from fullrecall.errors import JudgeError
from fullrecall.judge.judge import Ask, Flow, JudgeRequest, Verdict
from fullrecall.judge.models.chat import ChatRequest, Message
from fullrecall.lexical.claim_judge import Best, ClaimJudge, Judged
from fullrecall.lexical.pair_scorers import PairModel, load
from fullrecall.lexical.sentences import sentences


@dataclass(frozen=True)
class CrossEncoderJudge(ClaimJudge):
    """Judges claims by a cross-encoder that runs on this machine.

    - `model`: a folder with an ONNX export (`model.onnx` or `onnx/model.onnx`, beside
      `tokenizer.json` and `config.json`). It needs the extra `nli`.
    - `threshold`: the lowest score of a supported claim, in (0, 1]. `fullrecall.testing.examine`
      measures a judge on your labels.
    - `window`: the number of sentences read at a time. Each context's best window counts.
    - `batch_size`: the number of pairs in one run of the model. `max_length`: the most tokens of a
      pair; a longer passage is cut, never the claim. The model runs on a GPU if onnxruntime can use
      one.

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
        _ = self._pairs  # raise here, not in a report, if the model cannot be loaded

    @property
    def name(self) -> str:
        """The model, the threshold and the window."""
        return f"{self._pairs.name}:{self.threshold:g}/{self.window}"

    def _attributed(self, asked: JudgeRequest) -> Flow[Sequence[Verdict]]:
        windows = [
            (index, window)
            for index, text in enumerate(asked.contexts)
            for window in _windows(text, self.window)
        ]
        pairs = [(text, target) for target in asked.targets for _, text in windows]
        scores = iter((yield from self._scores(pairs)))
        verdicts = []
        for _ in asked.targets:
            best = [Best()] * len(asked.contexts)
            for index, text in windows:
                best[index] = max(best[index], Best(next(scores), text), key=lambda b: b.support)
            verdicts.append(Judged(best).verdict(self.threshold))
        return verdicts

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> Flow[list[float]]:
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


@remembered(2_000_000)
def _windows(text: str, size: int) -> tuple[str, ...]:
    """Return windows of `size` sentences, each sharing its last sentence with the next."""
    texts = sentences(text)
    step = max(1, size - 1)
    starts = range(0, max(1, len(texts) - (size - step)), step) if texts else ()
    return tuple("\n".join(texts[n : n + size]) for n in starts)
