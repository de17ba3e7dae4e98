"""Claim recall: cases with known answers, ranks, and claims that are split once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.judge.scripted import asked_of, judged, reply, verdict

from fullrecall import Claim, ClaimRecall, QuestionRecall, Sample
from fullrecall.judge import LLMJudge
from fullrecall.judge.models import Completion
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.measures import F1, Precision, Recall
from fullrecall.scorers.result import Status

STEPS = [
    "1. Build the container image.",
    "2. Push the image to the registry.",
    "3. Create the AKS cluster.",
    "4. Configure kubectl to use the cluster.",
    "5. Write the deployment YAML.",
    "6. Apply the YAML to the cluster.",
]


DOCUMENTS = [
    "Use docker push to send the image to your container registry.",
    "az aks create makes a new Kubernetes cluster in your resource group.",
    "az aks get-credentials configures kubectl to talk to the cluster.",
]


class TestKnownCases:
    """Claim recall has the known result of each case."""

    def test_france(self) -> None:
        """One of two claims is found: recall is 0.5, and the missing claim is named."""
        sample = Sample(
            user_input="Where is France and what is its capital?",
            reference_claims=["France is in Western Europe.", "Its capital is Paris."],
            retrieved_contexts=["France, in Western Europe, has medieval cities."],
        )
        result = judged([reply(verdict(1, "supported", 1), verdict(2, "not_supported"))], sample)
        assert (result.score, result.missed) == (0.5, ("Its capital is Paris.",))

    @pytest.mark.rooms
    def test_six_steps(self) -> None:
        """Recall is 0.5, precision 1.0, F1 0.667, and exactly the other three steps are missing."""
        script = [
            reply(
                verdict(1, "not_supported"),
                *(verdict(step, "supported", step - 1) for step in (2, 3, 4)),
                verdict(5, "not_supported"),
                verdict(6, "not_supported"),
            )
        ]
        scorer = ClaimRecall(judge=LLMJudge(ScriptedChatModel(script)), split="sentences")
        result = scorer.score(
            user_input="How do I deploy a container to AKS?",
            reference=" ".join(STEPS),
            retrieved_contexts=DOCUMENTS,
        )
        assert (result.score, result[Precision]) == (0.5, 1.0)
        assert result[F1] == pytest.approx(2 / 3)
        assert result.missed == (STEPS[0], STEPS[4], STEPS[5])

    def test_no_claims(self) -> None:
        """A sample without claims is undefined, or 1.0 by the claim convention, without a judge."""
        model = ScriptedChatModel([RuntimeError("asked")])
        sample = Sample(retrieved_contexts=["c"], reference_claims=[])
        assert ClaimRecall(judge=LLMJudge(model)).score(sample).status is Status.UNDEFINED
        undefined = ClaimRecall(judge=LLMJudge(model)).score(sample)
        assert undefined[Recall(zero_division=1.0)] == 1.0
        assert model.requests == []

    def test_sub_questions(self) -> None:
        """Three sub-questions with the answers yes, yes, no give 2/3, each with its verdict."""
        model = ScriptedChatModel(
            [
                json.dumps({"items": ["who?", "when?", "why?"]}),
                reply(
                    verdict(1, "supported", 1),
                    verdict(2, "supported", 2),
                    verdict(3, "not_supported"),
                ),
            ]
        )
        result = QuestionRecall(judge=LLMJudge(model)).score(
            user_input="who did it, when and why?", retrieved_contexts=["a", "b"]
        )
        assert result.score == pytest.approx(2 / 3)
        assert [(f.target.label, f.verdict) for f in result.findings] == [
            ("who?", "supported"),
            ("when?", "supported"),
            ("why?", "not_supported"),
        ]

    def test_nothing_retrieved(self) -> None:
        """An empty retrieval scores 0.0 without a call, and its claims are named."""
        model = ScriptedChatModel([RuntimeError("asked")])
        result = ClaimRecall(judge=LLMJudge(model)).score(
            reference="One. Two things.", retrieved_contexts=[]
        )
        assert (result.score, result.missed, model.requests) == (0.0, ("One.", "Two things."), [])

    def test_nuggets(self) -> None:
        """Nuggets are scored strictly or with partial credit, vital or all, as in TREC RAG."""
        sample = Sample(
            retrieved_contexts=["c"],
            reference_claims=["vital one", Claim("okay one", vital=False)],
        )
        script = [
            lambda request: reply(
                verdict(1, "supported", 1),
                *([verdict(2, "partial", 1)] if 2 in asked_of(request) else []),
            )
        ][0]
        scores = {
            (measure, partial): judged(script, sample, partial_credit=partial)[measure]
            for measure in (Recall(min_grade=1), Recall)
            for partial in (0.0, 0.5)
        }
        assert scores == {
            (Recall(min_grade=1), 0.0): 1.0,
            (Recall, 0.0): 0.5,
            (Recall(min_grade=1), 0.5): 1.0,
            (Recall, 0.5): 0.75,
        }


class TestRanks:
    """One judging gives recall at every k."""

    @pytest.mark.rooms
    def test_each_alone_counts_from_the_first(self) -> None:
        """A claim that two contexts support, each alone, is found at the earlier."""
        sample = Sample(
            retrieved_contexts=[
                "Rome is old.",
                "The tower is in Paris.",
                "A tower stands in Paris.",
            ],
            reference_claims=["The tower is in Paris.", "Rome is old."],
        )
        both = [{"context": 3, "quote": "tower stands in Paris"},
                {"context": 2, "quote": "tower is in Paris"}]  # fmt: skip
        script = [reply({**verdict(1), "citations": both}, verdict(2, "supported", 3))]
        result = judged(script, sample)
        assert [result[Recall @ k] for k in (1, 2, 3)] == [0.0, 0.5, 1.0]
        assert result.findings[0].ranks == (2, 3)

    @pytest.mark.parametrize("together", [False, True])
    def test_two_that_do_not_verify_alone_count_from_the_last(self, *, together: bool) -> None:
        """Two cited contexts that do not verify alone count at the later rank."""
        sample = Sample(
            retrieved_contexts=["France is in Western Europe.", "filler", "Its capital is Paris."],
            reference_claims=["France in Western Europe has Paris as its capital."],
        )
        halves = [{"context": 1, "quote": "France is in Western Europe"},
                  {"context": 3, "quote": "Its capital is Paris"}]  # fmt: skip
        told = {**verdict(1, together=together), "citations": halves}
        result = judged([reply(told)], sample)
        assert [result[Recall @ k] for k in (1, 2, 3)] == [0.0, 0.0, 1.0]
        unquoted = judged([reply(verdict(1, "supported", 1, 3, together=together))], sample)
        assert [unquoted[Recall @ k] for k in (1, 2, 3)] == [0.0, 0.0, 1.0]

    def test_together_counts_from_the_last(self) -> None:
        """Row: a claim that only several contexts together support is found at the later rank."""
        result = judged(
            [reply(verdict(1, "supported", 1, 3, together=True), verdict(2, "not_supported"))]
        )
        assert [result[Recall @ k] for k in (1, 2, 3)] == [0.0, 0.0, 0.5]

    def test_duplicate_contexts_are_sent_once(self) -> None:
        """A duplicate context is sent once, and ranks are those of the retrieved list."""
        model = ScriptedChatModel([reply(verdict(1, "supported", 2))])
        result = ClaimRecall(judge=LLMJudge(model)).score(
            retrieved_contexts=["same", "same", "other"], reference_claims=["c"]
        )
        assert result.findings[0].ranks == (3,)
        assert model.requests[0].messages[1].content.count('"same"') == 1


class TestSplitting:
    """A reference answer is split into claims once per text."""

    def test_split_once_and_reused(self) -> None:
        """Two retrievers are compared over the same claims, split by one call."""
        split = json.dumps({"items": ["a is b", "c is d"]})
        model = ScriptedChatModel(
            lambda request: (
                split
                if request.schema_name == "items"
                else reply(verdict(1, "supported", 1), verdict(2, "not_supported"))
            )
        )
        scorer = ClaimRecall(judge=LLMJudge(model))
        results = [
            scorer.score(reference="A is b and c is d.", retrieved_contexts=[text])
            for text in ("one", "two")
        ]
        assert [request.schema_name for request in model.requests] == [
            "items",
            "verdicts",
            "verdicts",
        ]
        assert {tuple(f.target.label for f in r.findings) for r in results} == {
            ("a is b", "c is d")
        }
        assert [result.usage.calls for result in results] == [2, 2]

    def test_failed_split_is_unscored(self) -> None:
        """A text that cannot be split leaves the sample unscored with the reason."""
        result = ClaimRecall(judge=LLMJudge(ScriptedChatModel(["- a\n- b"]))).score(
            reference="A and b.", retrieved_contexts=["c"]
        )
        assert result.status is Status.UNSCORED
        assert "could not be split" in result.reason

    def test_missing_reference_is_unscored(self) -> None:
        """A sample without claims and answer is unscored, and the reason names both fields."""
        result = ClaimRecall(judge=LLMJudge(ScriptedChatModel(["x"]))).score(
            retrieved_contexts=["c"]
        )
        assert result.reason == "reference_claims or reference is missing"


def test_sync_and_async_agree_everywhere() -> None:
    """`score` and `ascore` give equal results, inside a running loop too."""
    scripts: list[list[str | Completion | Exception]] = [
        [reply(verdict(1, "supported", 1), verdict(2, "partial", 2))],
        [reply(verdict(1, "supported", 1)), reply(verdict(2, "supported", 3))],
        ["prose"],
        [TimeoutError("t")],
    ]
    claims = Sample(retrieved_contexts=["a", "b", "c"], reference_claims=["x", "y"])
    answer = Sample(retrieved_contexts=["a", "b", "c"], reference="x and y")
    split = json.dumps({"items": ["x", "y"]})
    cases = [(claims, script) for script in scripts]
    # The second time, the judge knows the claims of the reference.
    cases += [(answer, [split, *script, *script]) for script in scripts[:3]]

    async def both(sample: Sample, script: list[str | Completion | Exception]) -> list[Any]:
        models = ScriptedChatModel(script), ScriptedChatModel(script)
        first, second = (ClaimRecall(judge=LLMJudge(model)) for model in models)
        now = [first.score(sample) for _ in range(2)]
        return [
            (now, models[0].requests),
            ([await second.ascore(sample) for _ in now], models[1].requests),
        ]

    for sample, script in cases:
        now, later = asyncio.run(both(sample, script))
        assert now == later
