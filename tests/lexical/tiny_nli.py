"""A small NLI model that a test builds and trains: word overlap, as an ONNX graph with a tokenizer.

Each word of the vocabulary has a learned weight, which counts if the word is in the claim and not
in the passage; the sum of the weights, and a bias, are the logits. The model is weak, but real: it
has the same files as an export of a large model, and the same code loads them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fullrecall.lexical.pair_scorers import _PROBES

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def build(
    folder: Path,
    texts: Sequence[str],
    *,
    rows: Sequence[tuple[str, str, int]] = (),
    at: str = "model.onnx",
    spread: Sequence[float] = (-1.0, 1.0),
) -> Path:
    """Write a model for the words of `texts`, trained on `rows` (passage, claim, supported).

    `spread` gives the share of the score in each output, such as contradiction and entailment.
    """
    tokenizer = tokenizer_of([*texts, *_PROBES])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"pad_token_id": 0}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    weights, bias = _trained(tokenizer, rows)
    (folder / at).parent.mkdir(exist_ok=True)
    _save(folder / at, weights, bias, spread)
    return folder


def tokenizer_of(texts: Sequence[str]) -> Any:
    """Return a tokenizer of pairs whose vocabulary is the words of `texts`, in lower case."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    splitter = pre_tokenizers.Whitespace()
    words = sorted({w for text in texts for w, _ in splitter.pre_tokenize_str(text.lower())})
    vocabulary = {word: number for number, word in enumerate([*_SPECIAL, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = splitter
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer


def _missing(tokenizer: Any, passage: str, claim: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the words of the vocabulary that the claim has and the passage lacks."""
    ids = tokenizer.encode(claim, add_special_tokens=False).ids
    there = set(tokenizer.encode(passage, add_special_tokens=False).ids)
    row = np.zeros(tokenizer.get_vocab_size())
    row[[number for number in ids if number not in there]] = 1.0
    return row


def _trained(tokenizer: Any, rows: Sequence[tuple[str, str, int]]) -> tuple[Any, float]:
    """Return weights and bias of a logistic regression, by gradient descent."""
    weights, bias = np.full(tokenizer.get_vocab_size(), -2.0), 1.0
    if not rows:
        return weights, bias
    measured = np.array([_missing(tokenizer, passage, claim) for passage, claim, _ in rows])
    wanted = np.array([label for _, _, label in rows])
    for _ in range(400):
        pull = wanted - 1 / (1 + np.exp(-(measured @ weights + bias)))
        weights = np.minimum(0.0, weights + 0.5 * measured.T @ pull / len(rows) * 20)
        bias += 0.5 * pull.mean()
    return weights, float(bias)


def _save(path: Path, weights: Any, bias: float, spread: Sequence[float]) -> None:
    """Write the graph: one-hot words of either side, those missing, their weighted sum, logits."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    size = len(weights)
    known = np.array(weights, dtype=np.float32).reshape(size, 1)
    known[: len(_SPECIAL)] = [[0.0], [-3.0], [0.0], [0.0]]
    constants = {
        "identity": np.eye(size, dtype=np.float32),
        "weights": known,
        "spread": np.array([spread], dtype=np.float32),
        "bias": np.array([bias], dtype=np.float32),
        "axis": np.array([1], dtype=np.int64),
        "last": np.array([2], dtype=np.int64),
        "zero": np.array(0, dtype=np.float32),
    }
    node = helper.make_node
    nodes = [
        node("Gather", ["identity", "input_ids"], ["words"]),
        node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT),
        node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        node("Mul", ["second", "seen"], ["of_claim"]),
        node("Sub", ["seen", "of_claim"], ["of_passage"]),
        node("Unsqueeze", ["of_claim", "last"], ["claim_mask"]),
        node("Unsqueeze", ["of_passage", "last"], ["passage_mask"]),
        node("Mul", ["words", "claim_mask"], ["claim_words"]),
        node("Mul", ["words", "passage_mask"], ["passage_words"]),
        node("ReduceMax", ["claim_words", "axis"], ["claimed"], keepdims=0),
        node("ReduceMax", ["passage_words", "axis"], ["there"], keepdims=0),
        node("Sub", ["claimed", "there"], ["rest"]),
        node("Max", ["rest", "zero"], ["missing"]),
        node("MatMul", ["missing", "weights"], ["sum"]),
        node("Add", ["sum", "bias"], ["score"]),
        node("MatMul", ["score", "spread"], ["logits"]),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(spread)])
    stored = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "nli", inputs, [output], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
