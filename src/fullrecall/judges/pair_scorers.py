"""What scores a passage and a claim: an ONNX export, or whatever sentence-transformers loads."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from fullrecall.errors import MissingExtraError, ParameterError

_SUPPORTS = ("entail", "support", "consistent", "faithful", "attributable", "true", "yes")
_END = 8_000_000  # bytes of a file's beginning and end that identify it
_DENIES = ("contradict", "refut", "inconsistent", "unsupport", "not_", "false", "no")


class Scored(NamedTuple):
    """How far a passage supports a claim, and contradicts it, each in [0, 1].

    Contradiction is 0 from a model that only tells support.
    """

    support: float
    contradiction: float


class PairScorer(Protocol):
    """Scores pairs of a passage and a claim."""

    @property
    def name(self) -> str:
        """What identifies the model."""
        ...

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
        """Return the score of each pair, in order, from one run of the model."""
        ...


class Head(NamedTuple):
    """What a model's outputs mean: their number, and which of them is what."""

    outputs: int
    support: int
    contradiction: int | None = None

    def read(self, logits: Sequence[float]) -> Scored:
        """Return the score that one row of logits gives."""
        if self.outputs == 1:
            return Scored(1 / (1 + math.exp(-max(-700.0, min(700.0, logits[0])))), 0.0)
        highest = max(logits)
        powers = [math.exp(logit - highest) for logit in logits]
        shares = [power / sum(powers) for power in powers]
        denied = 0.0 if self.contradiction is None else shares[self.contradiction]
        return Scored(shares[self.support], denied)


def load(model: str, *, max_length: int, device: str | None) -> PairScorer:
    """Return the scorer of a model: by onnxruntime where its folder has an ONNX export."""
    folder = Path(model).expanduser()
    graph = next((folder / at for at in ("model.onnx", "onnx/model.onnx")
                  if (folder / at).is_file()), None)  # fmt: skip
    if graph is not None:
        return OnnxScorer(folder, graph, max_length=max_length, device=device)
    return SentenceTransformersScorer(model, max_length=max_length, device=device)


def head_of(config: Mapping[str, Any], where: str) -> Head:
    """Return what the outputs mean by a model's config; raises `ParameterError` if it is silent."""
    labels = {int(index): str(name).lower() for index, name in config.get("id2label", {}).items()}
    count = len(labels) or int(config.get("num_labels", 1))
    if count == 1:
        return Head(1, 0)
    denies = [n for n, name in labels.items() if any(sign in name for sign in _DENIES)]
    supports = [n for n, name in labels.items()
                if n not in denies and any(sign in name for sign in _SUPPORTS)]  # fmt: skip
    if not supports and count == 2 and not denies:  # noqa: PLR2004 - no and yes, by custom
        return Head(2, 1)
    if len(supports) != 1:
        named = ", ".join(labels.values()) or f"{count} outputs without names"
        raise ParameterError(
            f"id2label in the config of {where} must name one label as entailment or support, "
            f"got {named}: name them there"
        )
    contradiction = next((n for n in denies if "contradict" in labels[n] or "refut" in labels[n]),
                         None)  # fmt: skip
    return Head(count, supports[0], contradiction)


class OnnxScorer:
    """A sequence classifier in ONNX, with the tokenizer that lies beside it. No torch."""

    def __init__(self, folder: Path, graph: Path, *, max_length: int, device: str | None) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtraError("onnxruntime tokenizers", "nli", "CrossEncoderJudge") from None
        for needed in ("tokenizer.json", "config.json"):
            if not (folder / needed).is_file():
                raise ParameterError(
                    f"model must be a folder with tokenizer.json and config.json, got {folder} "
                    f"without {needed}"
                )
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.name = f"{folder.name}-{_digest(graph, folder / 'tokenizer.json')}"
        self._head = head_of(config, str(folder))
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(max_length, strategy="only_first")
        pad = config.get("pad_token_id") or 0
        self._tokenizer.enable_padding(pad_id=pad)
        self._session: Any = onnxruntime.InferenceSession(
            str(graph), providers=_providers(onnxruntime, device)
        )
        self._inputs = {one.name for one in self._session.get_inputs()}

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
        """Return the score of each pair, in order, from one run of the model."""
        import numpy as np

        encoded = self._tokenizer.encode_batch(list(pairs))
        columns = {
            "input_ids": [one.ids for one in encoded],
            "attention_mask": [one.attention_mask for one in encoded],
            "token_type_ids": [one.type_ids for one in encoded],
        }
        fed = {
            name: np.asarray(column, dtype=np.int64)
            for name, column in columns.items()
            if name in self._inputs
        }
        logits = np.asarray(self._session.run(None, fed)[0], dtype=float).reshape(len(pairs), -1)
        return [self._head.read(row.tolist()) for row in logits]


def _digest(*files: Path) -> str:
    """Return what tells two exports of one folder name apart: their ends, sizes and tokenizers."""
    told = hashlib.sha256()
    for file in files:
        size = file.stat().st_size
        told.update(str(size).encode())
        with file.open("rb") as read:
            told.update(read.read(_END))
            read.seek(max(0, size - _END))
            told.update(read.read(_END))
    return told.hexdigest()[:8]


def _providers(onnxruntime: Any, device: str | None) -> list[str]:
    there = onnxruntime.get_available_providers()
    gpu = [name for name in there if name.startswith(("CUDA", "ROCM", "CoreML", "Dml"))]
    if device is None or device.startswith("cpu"):
        return ["CPUExecutionProvider"] if device else [*gpu, "CPUExecutionProvider"]
    if not gpu:
        raise ParameterError(
            f"device must be 'cpu' with this onnxruntime, got {device!r}: install onnxruntime-gpu"
        )
    return [*gpu, "CPUExecutionProvider"]


class SentenceTransformersScorer:
    """Any cross-encoder that sentence-transformers loads, from a folder or the hub."""

    def __init__(self, model: str, *, max_length: int, device: str | None) -> None:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError:
            raise MissingExtraError(
                "sentence-transformers", "nli", "CrossEncoderJudge (a model without ONNX export)"
            ) from None
        self.name = Path(model).name if Path(model).is_dir() else model
        try:
            self._model: Any = CrossEncoder(
                model, max_length=max_length, device=device, trust_remote_code=False
            )
        except (OSError, ValueError, KeyError) as error:  # what transformers raises, by the cause
            raise ParameterError(
                f"model must be a sequence classifier that sentence-transformers loads, got "
                f"{model!r}: {str(error).partition(chr(10))[0][:200]}"
            ) from error
        self._head = head_of(self._model.config.to_dict(), model)

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
        """Return the score of each pair, in order, from one run of the model."""
        from torch.nn import Identity

        logits = self._model.predict(
            list(pairs),
            batch_size=len(pairs),
            activation_fn=Identity(),
            show_progress_bar=False,
        )
        return [self._head.read([float(v) for v in row]) for row in logits.reshape(len(pairs), -1)]
