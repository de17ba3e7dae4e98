"""Measures give the values that tests and docs of other tools state, through the public API."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from fullrecall import Claim, ClaimRecall, IdRecall, LLMJudge, TextRecall
from fullrecall.judge.models import ChatRequest
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.measures import AP, F1, MeanPrecision, Measure, Precision, Recall, parse
from fullrecall.scorers.result import Result, Status

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "golden" / "cases.jsonl")
    .read_text("utf-8")
    .splitlines()
]

GRADED = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "golden" / "graded.jsonl")
    .read_text("utf-8")
    .splitlines()
]


def of_kind(*kinds: str) -> list[Any]:
    """Return the cases of these kinds, by name."""
    return [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] in kinds]


def id_value(case: dict[str, Any], measure: Measure, **parameters: Any) -> float | None:
    """Return a measure of a case's `rel` and `ret`, at its k and relevance level."""
    result = IdRecall().score(retrieved_context_ids=case["ret"], reference_context_ids=case["rel"])
    if "rel_level" in case:
        parameters["min_grade"] = case["rel_level"]
    measure = measure(**parameters)
    return result[measure @ case["k"] if "k" in case else measure]


def test_every_kind_of_case_is_run() -> None:
    """Every kind of case has a test, so that no case is skipped unnoticed."""
    run = {
        "recall", "recall_empty0", "mean_recall_empty0", "precision_len", "ap", "ap_verdicts",
        "anyof_prf", "anyof_excluded", "lev_recall_gt_0.5", "rougeL_recall_ge_0.7_prf", "claims",
        "nuggets",
    }  # fmt: skip
    assert {case["kind"] for case in CASES} == run


@pytest.mark.parametrize("case", of_kind("recall"))
def test_recall(case: dict[str, Any]) -> None:
    """Recall has the stated values at each k and grade threshold."""
    assert id_value(case, Recall) == pytest.approx(case["expected"])


@pytest.mark.parametrize("case", of_kind("recall_empty0"))
def test_recall_where_empty_is_zero(case: dict[str, Any]) -> None:
    """Recall of an empty reference is 0 under `zero_division=0.0`."""
    assert id_value(case, Recall, zero_division=0.0) == pytest.approx(case["expected"])


@pytest.mark.parametrize("case", of_kind("mean_recall_empty0"))
def test_mean_recall(case: dict[str, Any]) -> None:
    """Mean recall is the mean over queries."""
    scores = [
        id_value({**query, "rel_level": case["rel_level"]}, Recall, zero_division=0.0)
        for query in case["queries"]
    ]
    assert fmean(score for score in scores if score is not None) == pytest.approx(case["expected"])
    assert None not in scores


@pytest.mark.parametrize("case", of_kind("precision_len"))
def test_precision(case: dict[str, Any]) -> None:
    """Precision is over the retrieved contexts."""
    assert id_value(case, Precision) == pytest.approx(case["expected"])


@pytest.mark.parametrize("case", of_kind("ap"))
def test_average_precision(case: dict[str, Any]) -> None:
    """Average precision over all targets."""
    assert id_value(case, AP) == pytest.approx(case["expected"])


@pytest.mark.parametrize("case", of_kind("ap_verdicts"))
def test_context_precision(case: dict[str, Any]) -> None:
    """Average precision follows from a row of relevance verdicts."""
    ids = [f"{'good' if verdict else 'bad'}-{n}" for n, verdict in enumerate(case["verdicts"])]
    result = IdRecall().score(
        retrieved_context_ids=ids,
        reference_context_ids=[name for name in ids if name.startswith("good")],
    )
    assert result[MeanPrecision] == pytest.approx(case["expected"])


@pytest.mark.parametrize("case", of_kind("anyof_prf"))
def test_any_of_groups(case: dict[str, Any]) -> None:
    """Recall, precision and F1 have the stated values over any-of groups."""
    result = IdRecall().score(
        retrieved_context_ids=case["ret"], reference_context_ids=case["groups"]
    )
    assert [result[one] for one in (Recall, Precision, F1)] == pytest.approx(case["expected"])


@pytest.mark.parametrize("case", of_kind("anyof_excluded"))
def test_groups_without_members(case: dict[str, Any]) -> None:
    """A group without an ID is not a reference."""
    result = IdRecall().score(
        retrieved_context_ids=case["ret"], reference_context_ids=case["groups"]
    )
    assert (result.status, result.score) == (Status.UNDEFINED, case["expected"])


@pytest.mark.parametrize("case", of_kind("lev_recall_gt_0.5"))
def test_ragas_non_llm_recall(case: dict[str, Any]) -> None:
    """Ragas's non-LLM recall counts a Levenshtein similarity strictly above 0.5."""
    result = TextRecall(threshold=0.5, comparison="gt").score(
        retrieved_contexts=case["chunks"], reference_contexts=case["refs"]
    )
    assert result.score == pytest.approx(case["expected"])


@pytest.mark.parametrize("case", of_kind("rougeL_recall_ge_0.7_prf"))
def test_a_custom_similarity(case: dict[str, Any]) -> None:
    """A user's own similarity, ROUGE-L at 0.7, gives continuous-eval's recall."""
    result = TextRecall(similarity=rouge_l_recall, threshold=0.7).score(
        retrieved_contexts=case["chunks"], reference_contexts=case["refs"]
    )
    assert [result[one] for one in (Precision, Recall, F1)] == pytest.approx(case["expected"])


@pytest.mark.parametrize("case", of_kind("claims"))
def test_claims(case: dict[str, Any]) -> None:
    """Claim recall follows from a row of verdicts."""
    words = ["supported" if verdict else "not_supported" for verdict in case["verdicts"]]
    assert claim_recall(words).score == pytest.approx(case["expected"])


@pytest.mark.parametrize("case", of_kind("nuggets"))
def test_nuggets(case: dict[str, Any]) -> None:
    """One set of verdicts gives TREC's strict and partial, vital and all nugget scores."""
    words = [{"support": "supported", "partial_support": "partial"}[n[1]] for n in case["nuggets"]]
    vital = [importance == "vital" for importance, _ in case["nuggets"]]
    got = {
        name: claim_recall(words, vital, partial_credit=partial)[measure]
        for name, measure, partial in (
            ("strict_vital", Recall(min_grade=1), 0.0),
            ("strict_all", Recall, 0.0),
            ("vital", Recall(min_grade=1), 0.5),
            ("all", Recall, 0.5),
        )
    }
    assert got == pytest.approx(case["expected"])


@pytest.mark.parametrize("case", GRADED, ids=lambda case: case["id"])
def test_graded_measures_equal_those_of_other_tools(case: dict[str, Any]) -> None:
    """Graded measures such as nDCG equal those of trec_eval and of three other tools.

    The tools computed the values on random rankings of this project (trec_eval through
    pytrec_eval-terrier 0.5.11). ir_measures takes the exponential gain from gdeval, which rounds to
    five digits.
    """
    result = IdRecall().score(retrieved_context_ids=case["ret"], reference_context_ids=case["rel"])
    for tool, values in case["values"].items():
        for text, expected in values.items():
            got = result[parse(text)]
            assert got == pytest.approx(expected, abs=6e-6 if "ir_" in tool else 1e-9), (tool, text)


def claim_recall(words: list[str], vital: list[bool] | None = None, **parameters: Any) -> Result:
    """Return claim recall over one claim per verdict, given by a scripted model."""
    claims = [Claim(f"claim {n}", vital=vital is None or vital[n]) for n in range(len(words))]

    def script(request: ChatRequest) -> str:
        asked = re.findall(r'^(\d+) "claim (\d+)"$', request.messages[1].content, re.MULTILINE)
        verdicts = [
            {"id": int(number), "verdict": words[int(n)], "citations": [{"context": 1}]}
            for number, n in asked
        ]
        return json.dumps({"verdicts": verdicts})

    judge = LLMJudge(ScriptedChatModel(script))
    return ClaimRecall(judge=judge, **parameters).score(
        retrieved_contexts=["context"], reference_claims=claims
    )


def rouge_l_recall(reference: str, text: str) -> float:
    """Return the share of the reference's words in the longest common subsequence of words."""
    mine, theirs = (
        [word.strip(".,").lower() for word in side.split()] for side in (reference, text)
    )
    lengths = [[0] * (len(theirs) + 1) for _ in range(len(mine) + 1)]
    for i, word in enumerate(mine):
        for j, other in enumerate(theirs):
            lengths[i + 1][j + 1] = (
                lengths[i][j] + 1 if word == other else max(lengths[i][j + 1], lengths[i + 1][j])
            )
    return lengths[-1][-1] / len(mine)
