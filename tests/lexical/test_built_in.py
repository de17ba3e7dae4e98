"""The built-in judge is free, deterministic, and states its limits."""

from __future__ import annotations

import pickle

import pytest

from fullrecall import ClaimRecall, ContextPrecision, QuestionRecall
from fullrecall.errors import ParameterError
from fullrecall.judge.flow import run
from fullrecall.lexical import LexicalJudge
from fullrecall.lexical.support import judged
from fullrecall.measures import Precision, Recall
from fullrecall.scorers.result import Status

CONTEXTS = [
    "The Eiffel Tower is a landmark in Paris, France.",
    "Bananas are rich in potassium.",
    "The tower is 330 metres tall and was completed in 1889.",
]


def test_claims_are_judged_with_ranks_and_evidence() -> None:
    """Supported claims have a rank and a verified quote; a claim with a wrong detail has none."""
    result = ClaimRecall(judge=LexicalJudge()).score(
        retrieved_contexts=CONTEXTS,
        reference_claims=[
            "The Eiffel Tower is in Paris.",
            "The tower was completed in 1889.",
            "The tower was completed in 1923.",
        ],
    )
    assert [finding.rank for finding in result.findings] == [1, 3, None]
    assert result.usage.calls == 0
    assert all(e.verified for finding in result.findings for e in finding.evidence)


def test_the_default_judge_is_the_built_in_one() -> None:
    """Without `judge=`, the built-in judge judges the answer's sentences, offline."""
    result = ClaimRecall().score(
        reference="The Eiffel Tower is in Paris. It has a swimming pool on its roof.",
        retrieved_contexts=CONTEXTS,
    )
    assert (result.score, result.missed) == (
        0.5,
        ("The Eiffel Tower has a swimming pool on its roof.",),
    )


def test_it_says_how_well_it_agrees() -> None:
    """The judge states its balanced accuracy, measured against human labels."""


def test_the_threshold_is_the_users() -> None:
    """A higher threshold supports less, and one out of range is refused."""
    claim = {"retrieved_contexts": CONTEXTS, "reference_claims": ["Paris has a tall tower."]}
    scores = [
        ClaimRecall(judge=LexicalJudge(threshold=least)).score(**claim).score  # type: ignore[arg-type]
        for least in (0.01, 0.999)
    ]
    assert scores == [1.0, 0.0]
    with pytest.raises(ParameterError, match="threshold"):
        LexicalJudge(threshold=0)


def test_what_it_cannot_tell_is_unscored() -> None:
    """Answerability is unscored by the built-in judge, with advice."""
    asked = QuestionRecall().score(user_input="Why?", retrieved_contexts=CONTEXTS)
    relevant = ContextPrecision(judge=LexicalJudge()).score(
        user_input="Why?", retrieved_contexts=CONTEXTS
    )
    for result in (asked, relevant):
        assert result.status is Status.UNSCORED
    assert "LLMJudge" in asked.reason


def test_relevance_by_the_reference() -> None:
    """A context is relevant if it supports a sentence of the answer; the score is by rank."""
    answer = "The Eiffel Tower is in Paris. It was completed in 1889."
    by_reference = ContextPrecision(judge=LexicalJudge()).score(
        reference=answer, retrieved_contexts=CONTEXTS
    )
    assert [f.rank for f in by_reference.findings] == [1, None, 3]
    assert by_reference.score == pytest.approx((1 + 2 / 3) / 2)
    assert by_reference[Precision] == pytest.approx(2 / 3)
    assert by_reference.missed == (CONTEXTS[1],)


def test_two_contexts_together() -> None:
    """A claim that two contexts support only together is found at the later rank."""
    contexts = ["Ada Lovelace wrote the first published algorithm.", "Filler about nothing.",
                "The algorithm computes Bernoulli numbers."]  # fmt: skip
    claim = "Ada Lovelace wrote the first published algorithm, which computes Bernoulli numbers."
    (verdict,), usage = run(LexicalJudge().attribute([claim], contexts))
    assert (verdict.label, verdict.together) == ("supported", True)
    assert [citation.context for citation in verdict.citations] == [0, 2]
    assert usage.calls == 0
    result = ClaimRecall().score(retrieved_contexts=contexts, reference_claims=[claim])
    assert [result[Recall @ k] for k in (1, 2, 3)] == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("claim", "context"),
    [
        ("東京は日本の首都です。", "日本の首都は東京です。人口は多い。"),
        ("Москва — столица России.", "Столица России — Москва."),
        ("Η Αθήνα είναι πρωτεύουσα.", "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας."),
        ("القاهرة عاصمة مصر", "مدينة القاهرة هي عاصمة مصر"),
        ("🙂🙂", "no words at all"),
    ],
)
def test_other_languages_do_not_crash(claim: str, context: str) -> None:
    """Words of any script are compared, and a claim without words is not supported."""
    best = judged(claim, [context, ""], threshold=0.5).alone[0]
    assert 0.0 <= best.support <= 1.0
    assert best.quote in context


def test_more_contexts_never_lower_the_score() -> None:
    """A claim that the first contexts support together stays found when more are retrieved."""
    contexts = [
        "Ada Lovelace wrote the first published algorithm.",
        "Filler about nothing.",
        "The algorithm computes Bernoulli numbers.",
        *(f"Words about topic {n}, a long text on numbers and machines. " * 9 for n in range(7)),
    ]
    claim = "Ada Lovelace wrote the first published algorithm, which computes Bernoulli numbers."
    scores = [
        ClaimRecall().score(retrieved_contexts=contexts[:n], reference_claims=[claim]).score
        for n in range(1, len(contexts) + 1)
    ]
    assert scores == sorted(scores, key=lambda score: score or 0.0)
    assert scores[-1] == 1.0


def test_a_report_names_its_judge() -> None:
    """A report's method names the default judge like any other judge."""
    assert ClaimRecall().method.parameters["judge"] == LexicalJudge().name
    assert ContextPrecision().method.parameters["judge"] == LexicalJudge().name


def test_judges_are_plain_values() -> None:
    """Judges pickle, compare, and have names that tell them apart."""
    judges = [LexicalJudge(), LexicalJudge(threshold=0.9), LexicalJudge(0.4)]
    for judge in judges:
        assert pickle.loads(pickle.dumps(judge)) == judge  # noqa: S301
    assert len({judge.name for judge in judges}) == 3


@pytest.mark.parametrize("reverse", [False, True])
def test_contexts_with_the_claim_in_other_words_are_joined(*, reverse: bool) -> None:
    """Two contexts are joined though one says "not available" for the claim's "unavailable"."""
    claim = "The Kestrel portal is unavailable during the Lindqvist audit in Ravensby."
    contexts = ["The Kestrel portal is not available.", "Kestrel: the Lindqvist audit in Ravensby."]
    found = judged(claim, contexts[::-1] if reverse else contexts, threshold=0.99)
    assert len(found.alone) == 2
