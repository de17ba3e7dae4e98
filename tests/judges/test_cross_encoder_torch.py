"""A cross-encoder without an ONNX export, through sentence-transformers. Opt-in: torch is large.

    pip install torch sentence-transformers
    python -m pytest -m torch tests/judges/test_cross_encoder_torch.py

The models are built and trained here, in seconds; nothing is downloaded.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from tests.judges.tiny_nli import tokenizer_of

from fullrecall import ClaimRecall, Sample, evaluate
from fullrecall.errors import ParameterError
from fullrecall.judges.cross_encoder import CrossEncoderJudge
from fullrecall.judges.flow import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("default"),  # torch and transformers warn of each other
]

THINGS = ("box", "door")
COLORS = ("red", "blue", "green")
OTHER = dict(zip(THINGS, reversed(THINGS), strict=True))
NLI = ("entailment", "neutral", "contradiction")
MOST_STEPS, ENOUGH = 1_500, 0.02
"""Of training, and the loss at which it ends."""


def said(thing: str, color: str) -> str:
    """Return a passage, or a claim."""
    return f"the {thing} is {color}"


def build(folder: Path, labels: tuple[str, ...], *, train: bool = True) -> Path:
    """Save a BERT of one layer, trained to tell whether a thing has the claimed color."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    torch.manual_seed(0)
    torch.set_num_threads(1)  # threads only cost where matrices are this small
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer_of([said(*both) for both in product(THINGS, COLORS)]),
        **{f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP")},
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=64,
            initializer_range=0.1,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            id2label=dict(enumerate(labels)),
            label2id={name: n for n, name in enumerate(labels)},
        )
    )
    texts = list(product(THINGS, COLORS))
    pairs = list(product(texts, texts))
    told = [
        "entailment" if one == other else "contradiction" if one[0] == other[0] else "neutral"
        for one, other in pairs
    ]
    targets = [labels.index(one) if one in labels else int(one == "entailment") for one in told]
    fed = tokenizer(
        [said(*one) for one, _ in pairs], [said(*other) for _, other in pairs], return_tensors="pt"
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    model.train()
    for _ in range(MOST_STEPS if train else 0):
        logits = model(**fed).logits
        if len(labels) == 1:
            wanted = torch.tensor(targets, dtype=torch.float)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits[:, 0], wanted)
        else:
            loss = torch.nn.functional.cross_entropy(logits, torch.tensor(targets))
        if loss.item() < ENOUGH:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a trained model with three labels."""
    return build(tmp_path_factory.mktemp("bert") / "colors", NLI)


def test_a_trained_model_judges(trained: Path) -> None:
    """What the passage says is supported, another color contradicted, another thing neither."""
    judge = CrossEncoderJudge(str(trained), device="cpu")
    right = 0
    cases: list[tuple[str, str, str]] = []
    for thing, color in product(THINGS, COLORS):
        next_color = COLORS[(COLORS.index(color) + 1) % len(COLORS)]
        next_thing = THINGS[(THINGS.index(thing) + 1) % len(THINGS)]
        cases += [
            (said(thing, color), said(thing, color), "supported"),
            (said(thing, color), said(thing, next_color), "contradicted"),
            (said(thing, color), said(next_thing, color), "not_supported"),
        ]
    for passage, claim, label in cases:
        (verdict,), _ = run(judge.attribute([claim], [passage]))
        right += verdict.label == label
    assert right == len(cases)


def test_it_scores_samples(trained: Path) -> None:
    """Ranks, verified evidence and recall, side by side as alone."""
    scorer = ClaimRecall(judge=CrossEncoderJudge(str(trained), device="cpu"), require_evidence=True)
    samples = [
        Sample(
            retrieved_contexts=[
                said(OTHER[thing], "green"),
                said(thing, "red"),
            ],
            reference_claims=[said(thing, "red"), said(thing, "blue")],
        )
        for thing in THINGS
    ]
    report = evaluate(samples, scorer, progress=False)
    results: list[Any] = [row.results[0] for row in report.rows]
    assert [result.score for result in results] == [0.5] * 2
    assert [result.findings[0].rank for result in results] == [2] * 2
    assert [result.findings[1].verdict for result in results] == ["contradicted"] * 2
    assert all(result.findings[0].evidence[0].verified for result in results)
    assert [scorer.score(sample).score for sample in samples] == [0.5] * 2


def test_one_score(tmp_path: Path) -> None:
    """A model of one output (HHEM, MiniCheck): its sigmoid is the support, taken once."""
    judge = CrossEncoderJudge(str(build(tmp_path / "one", ("LABEL_0",))), device="cpu")
    (same, other), _ = run(
        judge.support([said("box", "red"), said("box", "blue")], [said("box", "red")])
    )
    # Taken twice, a sigmoid would lie between 0.5 and 0.73.
    assert same > 0.8
    assert other < 0.2


def test_batches_change_no_score(trained: Path) -> None:
    """A pair scores the same alone as beside longer ones: padding is masked."""
    judge = CrossEncoderJudge(str(trained), device="cpu")
    claim = said("door", "green")
    (alone,), _ = run(judge.support([claim], [claim]))
    longer = " ".join([said("door", "green")] * 5)
    (among, _), _ = run(judge.support([claim, longer], [claim]))
    assert among == pytest.approx(alone, abs=1e-3)


def test_what_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    """A folder without a model, and labels that do not say which of them is support."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(ParameterError, match="empty"):
        CrossEncoderJudge(str(tmp_path / "empty"), device="cpu")
    silent = build(tmp_path / "silent", ("a", "b", "c"), train=False)
    with pytest.raises(ParameterError, match="must name one label"):
        CrossEncoderJudge(str(silent), device="cpu")
