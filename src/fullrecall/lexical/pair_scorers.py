"""Score pairs of a passage and a claim by a sequence classifier in ONNX, without torch."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from fullrecall.errors import MissingExtraError, ParameterError
from fullrecall.judge.models.chat import ChatRequest, Completion

_DIGITS = 4
"""The decimals of a score, so few that the score does not depend on other pairs of the batch."""
_PROBES = (
    "The cat is sleeping on the sofa.",
    "The company opened a new office in Paris.",
    "Water boils at one hundred degrees.",
    "She finished the marathon in four hours.",
)
"""Sentences that each entail only themselves: a model's scores for them show which output means
support.
"""
_CLEAR = 0.1
"""The least margin by which the support of equal sentences must exceed that of different ones."""
_READ = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
"""The inputs that a model may have, each with the tokenizer's name for it."""


Logits: TypeAlias = Callable[[Sequence[tuple[str, str]]], Sequence[Sequence[float]]]
"""Runs a model once: returns a row of outputs for each pair of a passage and a claim, in order."""


class PairModel:
    """A classifier of pairs as a chat model, with the tokenizer from its folder.

    `name` consists of "nli:", its folder's name and a digest of its files.
    """

    def __init__(self, folder: Path, graph: Path, batch_size: int, max_length: int) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtraError("onnxruntime tokenizers", "nli", "CrossEncoderJudge") from None
        files = graph, folder / "tokenizer.json", folder / "config.json"
        self.name = f"nli:{folder.name}-{_digest(*files)}"
        self._batch_size = batch_size
        self._lock = threading.Lock()
        self._graph = graph
        with _naming(folder / "config.json"):
            config: Mapping[str, Any] = json.loads(files[2].read_text(encoding="utf-8"))
        with _naming(folder / "tokenizer.json"):
            self._tokenizer: Any = Tokenizer.from_file(str(files[1]))
            self._tokenizer.enable_truncation(max_length, strategy="only_first")
            self._tokenizer.enable_padding(pad_id=config.get("pad_token_id") or 0)
        available = onnxruntime.get_available_providers()
        gpu = [name for name in available if name.startswith(("CUDA", "ROCM", "CoreML", "Dml"))]
        providers = [*gpu, "CPUExecutionProvider"]
        with _naming(graph):
            self._session: Any = onnxruntime.InferenceSession(str(graph), providers=providers)
        self._inputs = _READ.keys() & {entry.name for entry in self._session.get_inputs()}
        outputs = [entry.name for entry in self._session.get_outputs()]
        self._output = "logits" if "logits" in outputs else outputs[0]
        self._support = support_output(self._logits)

    def complete(self, request: ChatRequest) -> Completion:
        """Return the scores of a request's pairs, as JSON.

        Pairs of similar length share a batch, and equal pairs are run once.
        """
        pairs = [(passage, claim) for passage, claim in json.loads(request.messages[0].content)]
        # Sort pairs by length: shorter pairs are padded to the longest of their batch, which takes
        # time.
        distinct = sorted(dict.fromkeys(pairs), key=lambda pair: (sum(map(len, pair)), pair))
        score_of: dict[tuple[str, str], float] = {}
        with self._lock:
            for start in range(0, len(distinct), self._batch_size):
                batch = distinct[start : start + self._batch_size]
                for pair, row in zip(batch, self._logits(batch), strict=True):
                    score_of[pair] = round(support_of(row, self._support), _DIGITS)
        return Completion(json.dumps([score_of[pair] for pair in pairs]))

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return the same scores, computed in a thread."""
        return await asyncio.to_thread(self.complete, request)

    def _logits(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Sequence[float]]:
        """Run the model once: return a row of outputs for each pair of a passage and a claim."""
        import numpy as np

        encoded = self._tokenizer.encode_batch(list(pairs))
        fed = {
            name: np.asarray([getattr(entry, _READ[name]) for entry in encoded], dtype=np.int64)
            for name in self._inputs
        }
        with _naming(self._graph):
            logits = np.asarray(self._session.run([self._output], fed)[0], dtype=float)
        if logits.shape[:1] != (len(pairs),) or logits.ndim > 2:  # noqa: PLR2004 - pairs by labels
            raise ParameterError(
                "must be a sequence classifier, one row of labels for each pair, got "
                f"{self._graph}, whose output {self._output!r} has the shape {logits.shape} for "
                f"{len(pairs)} pairs",
                "model",
            )
        rows: list[list[float]] = logits.reshape(len(pairs), -1).tolist()
        return rows


@lru_cache(maxsize=8)
def load(model: str, batch_size: int, max_length: int) -> PairModel:
    """Return the model from a folder with an ONNX export.

    Raises `ParameterError` for a folder without the needed files.
    """
    folder = Path(model).expanduser()
    graphs = folder / "model.onnx", folder / "onnx/model.onnx"
    graph = next(filter(Path.is_file, graphs), graphs[0])
    for needed in (graph, folder / "tokenizer.json", folder / "config.json"):
        if not needed.is_file():
            raise ParameterError(
                "must be a folder with model.onnx, tokenizer.json and config.json, got "
                f"{model!r} without {needed.name}: fetch an ONNX export with `hf download`",
                "model",
            )
    return PairModel(folder, graph, batch_size, max_length)


def support_of(logits: Sequence[float], support: int) -> float:
    """Return a passage's support for a claim, in [0, 1], from the logits of the pair.

    `support` is the index of the output that means support. A single output x is read as two
    outputs, 0 and x: index 1 means that x is support, index 0 that x denies it.
    """
    outputs = logits if len(logits) > 1 else (0.0, *logits)
    highest = max(outputs)  # subtracted, so that no exponential overflows
    powers = [math.exp(logit - highest) for logit in outputs]
    return powers[support] / sum(powers)


def support_output(logits: Logits) -> int:
    """Return the index of the output that means support of a claim by a passage.

    This output is high if a sentence is paired with itself, and low if it is paired with another.
    The config's labels are not read, since they may be missing or wrong. Raises `ParameterError` if
    no output distinguishes these pairs.
    """
    # Pair each sentence with the next one, which does not support it.
    others = [*_PROBES[1:], _PROBES[0]]
    rows = logits([*zip(_PROBES, _PROBES, strict=True), *zip(_PROBES, others, strict=True)])
    half = len(_PROBES)

    def margin(output: int) -> float:
        """Return how much higher an output is for equal than for different sentences."""
        support = [support_of(row, output) for row in rows]
        return (sum(support[:half]) - sum(support[half:])) / half

    best = max(range(max(2, len(rows[0]))), key=margin)
    if margin(best) < _CLEAR:
        raise ParameterError(
            "must tell whether a passage supports a claim, got a classifier that scores "
            f"{_PROBES[0]!r} alike beside itself and beside other sentences",
            "model",
        )
    return best


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Convert an error of a library that reads `file` to a `ParameterError` naming it."""
    try:
        yield
    except ParameterError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ParameterError(
            f"must be complete, got {file}, which cannot be read: {lines[0][:200]}: "
            "fetch or export it again",
            "model",
        ) from error


def _digest(*files: Path) -> str:
    """Return a digest of a model's files, which distinguishes two exports."""
    hashed = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            hashed.update(hashlib.file_digest(opened, "sha256").digest())
    return hashed.hexdigest()[:8]
