"""A cross-encoder as a judge, through the real loading code, with models that the tests train."""

from __future__ import annotations

import json
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.lexical.facts import facts
from tests.lexical.tiny_nli import build

from fullrecall import ClaimRecall, ContextPrecision, QuestionRecall, Sample, evaluate
from fullrecall.errors import JudgeError, MissingExtraError, ParameterError
from fullrecall.judge.flow import run
from fullrecall.judge.models.chat import Completion, Failure
from fullrecall.lexical.cross_encoder import CrossEncoderJudge
from fullrecall.lexical.falsification import falsified
from fullrecall.lexical.pair_scorers import support_of
from fullrecall.measures import Recall
from fullrecall.scorers.result import Status

FACTS = facts(240, seed=3)
EDITED = list(falsified(FACTS))
TEXTS = [claim for claim, _ in FACTS] + [c[0] for _, c in FACTS] + [one.false for one in EDITED]
ROWS = [(contexts[0], claim, 1) for claim, contexts in FACTS] + [
    (one.contexts[0], one.false, 0) for one in EDITED if one.detail in ("name", "number")
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model of three labels, trained on every other fact."""
    return build(tmp_path_factory.mktemp("nli"), TEXTS, rows=ROWS[::2], spread=(1.0, 0.0, -1.0))


@pytest.fixture
def judge(trained: Path) -> CrossEncoderJudge:
    """Return the judge of the trained model."""
    return CrossEncoderJudge(str(trained))


def test_it_tells_true_claims_from_false_ones(judge: CrossEncoderJudge) -> None:
    """On unseen facts the judge supports true claims, and none with another name or number."""
    assert re.fullmatch(r"nli:\w+-[0-9a-f]{8}:0\.5/3", judge.name)
    held = FACTS[1::2]
    other = [one for one in EDITED if one.detail in ("name", "number")][1::2]
    true = [run(judge.attribute([claim], contexts))[0][0] for claim, contexts in held]
    false = [run(judge.attribute([one.false], one.contexts))[0][0] for one in other]
    assert sum(one.label == "supported" for one in true) / len(true) > 0.9
    assert sum(one.label == "supported" for one in false) / len(false) < 0.1


def test_no_context_needs_no_request(judge: CrossEncoderJudge) -> None:
    """Without a context, or a claim, the model is not asked."""
    verdicts, _ = run(judge.attribute(["Ada built it."], []))
    assert [verdict.label for verdict in verdicts] == ["not_supported"]
    assert list(judge.attribute(["Ada built it."], [])) == []
    assert list(judge.attribute([], ["Ada built it."])) == []


def test_a_failure_of_the_model_is_named(judge: CrossEncoderJudge) -> None:
    """A failed run of the model leaves no verdicts."""
    asked = judge.attribute(["Ada built it."], ["Ada built it."])
    next(asked)
    with pytest.raises(JudgeError, match=r"cross-encoder failed.*too slow"):
        asked.send([Completion("", failure=Failure.TIMEOUT, detail="too slow")])


def test_evidence_is_a_window_of_its_context(judge: CrossEncoderJudge) -> None:
    """The best window is quoted and verified at its rank; a claim in no context is missed."""
    (first, one), (second, two) = FACTS[0], FACTS[4]
    result = ClaimRecall(judge=judge, require_evidence=True).score(
        retrieved_contexts=["Little is known about it.", *two, *one],
        reference_claims=[first, second],
    )
    assert [finding.rank for finding in result.findings] == [3, 2]
    assert [result[Recall @ k] for k in (1, 2, 3)] == [0.0, 0.5, 1.0]
    for finding in result.findings:
        assert finding.unverified == 0.0
        assert all(item.verified for item in finding.evidence)


@pytest.mark.parametrize("spread", [(1,), (-1,), (1, 0), (0, 1), (1, -1), (1, 0, -1), (-1, 0, 1)])
def test_heads_of_any_kind(tmp_path: Path, spread: tuple[float, ...]) -> None:
    """Support is read from one score or several, in either order, for any labels."""
    folder = build(tmp_path / "m", ["Ada built it.", "Rome fell."], spread=spread)
    for threshold in (0.4, 0.6):
        judge = CrossEncoderJudge(str(folder), threshold=threshold)
        verdicts, _ = run(judge.attribute(["Ada built it.", "Rome fell."], ["Ada built it."]))
        assert [verdict.label for verdict in verdicts] == ["supported", "not_supported"]


@pytest.mark.parametrize("spread", [(0, 0), (0, 0, 0), (0,)])
def test_a_model_that_cannot_tell_support_is_refused(
    tmp_path: Path, spread: tuple[float, ...]
) -> None:
    """A model whose label for support is unknown is refused, since a guess may reverse verdicts."""
    folder = build(tmp_path / "m", ["a"], spread=spread)
    with pytest.raises(ParameterError, match="must tell whether a passage supports a claim"):
        CrossEncoderJudge(str(folder))


def test_an_output_that_is_no_row_of_labels_is_refused(tmp_path: Path) -> None:
    """A model without a classifier's head, which gives a matrix for each pair, is refused."""
    import onnx

    folder = build(tmp_path / "m", ["a"])
    model = onnx.load(folder / "model.onnx")
    del model.graph.output[:]
    words = onnx.helper.make_tensor_value_info("words", onnx.TensorProto.FLOAT, None)
    model.graph.output.append(words)
    onnx.save(model, folder / "model.onnx")
    with pytest.raises(ParameterError, match="must be a sequence classifier"):
        CrossEncoderJudge(str(folder))


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_damaged_file_is_named(tmp_path: Path, file: str) -> None:
    """A model file that was cut off or replaced by a web page is an error with its name."""
    folder = build(tmp_path / "m", ["Ada built it."])
    whole = (folder / file).read_bytes()
    for content in (whole[: len(whole) // 2], b"<html>404</html>", b""):
        (folder / file).write_bytes(content)
        with pytest.raises(ParameterError, match=rf"{file}, which cannot be read.*fetch"):
            CrossEncoderJudge(str(folder))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A path that is not a folder and an empty folder both lack the graph."""
    for name in (str(tmp_path / "none"), "some/model", str(tmp_path)):
        with pytest.raises(ParameterError, match=r"without model\.onnx: fetch"):
            CrossEncoderJudge(name)


def test_scores_are_shares() -> None:
    """Scores are the softmax of three logits, or the sigmoid of one, without overflow."""
    assert support_of([1000.0, 0.0, -1000.0], 0) == 1.0
    assert support_of([0.0], 1) == 0.5
    assert support_of([-1e9], 1) == pytest.approx(0.0)


def test_a_long_context_is_read_in_windows(trained: Path) -> None:
    """A sentence at the end of a long context counts as much as one at its beginning."""
    claim, (text,) = FACTS[0]
    filler = "Visitors usually come in the spring, when the gardens are in flower. " * 60
    judge = CrossEncoderJudge(str(trained), max_length=128)
    result = ClaimRecall(judge=judge).score(
        retrieved_contexts=[filler + text], reference_claims=[claim]
    )
    assert result.score == 1.0
    (evidence,) = result.findings[0].evidence
    assert evidence.start is not None
    assert evidence.start >= len(filler) - 300


def test_relevance_and_what_it_cannot_tell(judge: CrossEncoderJudge) -> None:
    """A context is relevant if it supports a fact of the answer; questions are unscored."""
    claim, contexts = FACTS[0]
    ranked = ContextPrecision(judge=judge).score(
        user_input="q", reference=claim, retrieved_contexts=["Rome.", *contexts]
    )
    assert [finding.rank for finding in ranked.findings] == [None, 2]
    asked = QuestionRecall(judge=judge).score(user_input="Why?", retrieved_contexts=contexts)
    assert asked.status is Status.UNSCORED
    assert "LLMJudge" in asked.reason


def test_batches_and_loops_change_no_score(trained: Path) -> None:
    """A score is the same for pairs judged one by one, in batches, and in parallel samples."""
    samples = [
        Sample(retrieved_contexts=contexts, reference_claims=[claim])
        for claim, contexts in FACTS[:12]
    ]
    scorers = [
        ClaimRecall(judge=CrossEncoderJudge(str(trained), batch_size=size)) for size in (1, 32)
    ]
    alone = [[scorer.score(sample).score for sample in samples] for scorer in scorers]
    report = evaluate(samples, scorers[1], progress=False)
    assert alone[0] == alone[1] == [row.results[0].score for row in report.rows]


def test_it_is_a_plain_value(judge: CrossEncoderJudge, tmp_path: Path) -> None:
    """The judge pickles and compares, and two exports of one folder have two names."""
    assert pickle.loads(pickle.dumps(judge)) == judge  # noqa: S301
    one = CrossEncoderJudge(str(build(tmp_path / "a" / "m", ["Ada built it."])))
    two = CrossEncoderJudge(str(build(tmp_path / "b" / "m", ["Bea sold it all."])))
    assert one.name.startswith("nli:m-")
    assert one.name != two.name


def test_bad_models_and_parameters_are_named(tmp_path: Path, monkeypatch: Any) -> None:
    """Each error names the missing part."""
    folder = build(tmp_path / "m", ["Ada built it."], at="onnx/model.onnx")
    assert CrossEncoderJudge(str(folder)).name.startswith("nli:m-")
    for name, value in (("threshold", 0), ("window", 0), ("batch_size", True), ("max_length", 1.5)):
        with pytest.raises(ParameterError, match=name):
            CrossEncoderJudge(str(folder), **{name: value})
    (folder / "config.json").unlink()
    with pytest.raises(ParameterError, match=r"without config\.json"):
        CrossEncoderJudge(str(folder), batch_size=3)
    (folder / "config.json").write_text(json.dumps({"id2label": {"0": "x"}}), encoding="utf-8")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"pip install onnxruntime tokenizers$"):
        CrossEncoderJudge(str(folder), batch_size=4)
