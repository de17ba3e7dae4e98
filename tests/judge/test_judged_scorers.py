"""Relevance, sub-questions, panels and replaced prompts."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from tests.judge.scripted import quoting, reply, verdict

from fullrecall import ClaimRecall, ContextPrecision, LLMJudge, QuestionRecall
from fullrecall.errors import ParameterError
from fullrecall.judge import Panel, Prompts
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.measures import Precision
from fullrecall.scorers.result import Status

CONTEXTS = ["useless", "Paris is in France.", "also useless", "It has two million people."]


def verdicts(**labels: str) -> str:
    """Return verdicts by number: `_1="supported"`; each cites its own number."""
    numbers = {int(name[1:]): label for name, label in labels.items()}
    return reply(*(verdict(number, label, number) for number, label in numbers.items()))


HELPFUL = verdicts(_1="not_supported", _2="supported", _3="not_supported", _4="supported")


class TestRelevance:
    """Context relevance is the average precision of the relevant contexts by rank."""

    def test_by_the_reference(self) -> None:
        """The reference answer is sent, and the score is the mean precision at helpful ranks."""
        model = ScriptedChatModel([HELPFUL])
        result = ContextPrecision(judge=LLMJudge(model)).score(
            user_input="q", reference="the answer", retrieved_contexts=CONTEXTS
        )
        assert result.score == pytest.approx((1 / 2 + 2 / 4) / 2)
        assert (result[Precision], result.missed) == (0.5, ("useless", "also useless"))
        assert 'reference answer: "the answer"' in model.requests[0].messages[1].content

    def test_by_the_question_alone(self) -> None:
        """Without a reference, contexts are judged by the question."""
        model = ScriptedChatModel([HELPFUL])
        result = ContextPrecision(judge=LLMJudge(model)).score(
            user_input="the question", retrieved_contexts=CONTEXTS
        )
        assert result.status is Status.SCORED
        sent = model.requests[0].messages
        assert "reference answer" not in sent[1].content
        assert 'question: "the question"' in sent[1].content
        assert "to answer the question" in sent[0].content

    def test_a_missing_verdict_leaves_the_sample_unscored(self) -> None:
        """One context without a verdict leaves the sample unscored, with the same denominator."""
        partial = verdicts(_1="not_supported", _2="supported", _3="not_supported")
        model = ScriptedChatModel([partial, verdicts()])
        result = ContextPrecision(judge=LLMJudge(model, reasks=1)).score(
            user_input="q", retrieved_contexts=CONTEXTS
        )
        assert result.status is Status.UNSCORED
        assert result.unmeasured == ((CONTEXTS[3], "the judge gave no verdict"),)

    def test_windows(self) -> None:
        """Contexts over the budget are asked about in several requests, each once."""

        def script(request: Any) -> str:
            body, _, _ = request.messages[1].content.removeprefix("contexts:\n").partition("\nq")
            numbers = [int(line.split()[0]) for line in body.splitlines()]
            return verdicts(**{f"_{n}": "supported" for n in numbers})

        model = ScriptedChatModel(script)
        result = ContextPrecision(judge=LLMJudge(model, window=100)).score(
            user_input="q", retrieved_contexts=[f"{n} text " * 9 for n in range(5)]
        )
        assert (result.score, len(model.requests)) == (1.0, 5)

    def test_nothing_retrieved_is_zero_without_a_call(self) -> None:
        """An empty retrieval is 0.0."""
        model = ScriptedChatModel([RuntimeError("asked")])
        result = ContextPrecision(judge=LLMJudge(model)).score(
            user_input="q", retrieved_contexts=[]
        )
        assert (result.score, model.requests) == (0.0, [])


class TestQuestions:
    """Question recall judges the sub-questions of the user's question."""

    def test_partly_answered_is_partial_credit(self) -> None:
        """A sub-question that a context answers in part earns `partial_credit`."""
        script = [json.dumps({"items": ["who?", "why?"]}), verdicts(_1="partial", _2="supported")]
        for credit, score in ((0.0, 0.5), (0.5, 0.75)):
            judge = LLMJudge(ScriptedChatModel(list(script)))
            result = QuestionRecall(judge=judge, partial_credit=credit).score(
                user_input="who and why?", retrieved_contexts=CONTEXTS
            )
            assert result.score == score

    def test_missing_question(self) -> None:
        """Without a question the sample is unscored."""
        judge = LLMJudge(ScriptedChatModel([""]))
        result = QuestionRecall(judge=judge).score(retrieved_contexts=CONTEXTS)
        assert result.reason == "user_input is missing"


class TestPanel:
    """A panel has the majority's verdict, with its agreement."""

    def panel(self, *answers: str | Exception) -> Panel:
        """Return a panel of one scripted judge per answer."""
        return Panel(
            [
                LLMJudge(
                    ScriptedChatModel([a], name=a[:9] if isinstance(a, str) else "x"), reasks=0
                )
                for a in answers
            ]
        )

    def score(self, panel: Panel) -> Any:
        """Return the result for one claim."""
        return ClaimRecall(judge=panel).score(retrieved_contexts=["c"], reference_claims=["k"])

    YES, NO = verdicts(_1="supported"), verdicts(_1="not_supported")

    def test_majority(self) -> None:
        """The verdict of two of three judges counts, with the agreement of 2/3."""
        result = self.score(self.panel(self.YES, self.NO, self.YES))
        assert (result.score, result.findings[0].agreement) == (1.0, pytest.approx(2 / 3))
        assert result.usage.calls == 3

    def test_a_failed_judge_is_no_vote(self) -> None:
        """A failed judge casts no vote: two of three judges still decide."""
        result = self.score(self.panel(self.NO, self.NO, TimeoutError("t")))
        assert (result.score, result.findings[0].agreement) == (0.0, pytest.approx(2 / 3))

    def test_the_evidence_of_all_who_agree_counts(self) -> None:
        """One quote by any judge of the majority is enough, in any order of the judges."""
        quoting = self.YES.replace('"quote": ""', '"quote": "the whole town is old"')
        for answers in ((self.YES, quoting, self.YES), (quoting, self.YES, self.YES)):
            result = ClaimRecall(judge=self.panel(*answers), require_evidence=True).score(
                retrieved_contexts=["the whole town is old"], reference_claims=["The town is old."]
            )
            assert result.score == 1.0

    def test_samples_of_one_model_are_distinct_requests(self) -> None:
        """N samples of one model send different requests, so that no cache merges them."""
        model = ScriptedChatModel([self.YES])
        panel = Panel([LLMJudge(model, sample=n) for n in range(3)])
        assert self.score(panel).findings[0].agreement == 1.0
        assert [request.sample for request in model.requests] == [0, 1, 2]

    def test_one_judge_is_no_panel(self) -> None:
        """A panel of one judge is refused."""
        with pytest.raises(ParameterError, match="two judges"):
            Panel([LLMJudge(ScriptedChatModel([""]))])


def test_claims_are_split_once_by_samples_side_by_side() -> None:
    """Two samples with one reference answer are judged over the same claims."""
    splits = iter([["a", "b"], ["a", "b", "c"]])

    def script(request: Any) -> str:
        if request.schema_name == "items":
            return json.dumps({"items": next(splits)})
        count = request.messages[1].content.partition("claims:\n")[2].count("\n") + 1
        return verdicts(**{f"_{n}": "not_supported" for n in range(1, count + 1)})

    scorer = ClaimRecall(judge=LLMJudge(ScriptedChatModel(script)))

    async def both() -> list[int]:
        results = await asyncio.gather(
            *(scorer.ascore(reference="r", retrieved_contexts=[t]) for t in ("x", "y"))
        )
        return [len(result.findings) for result in results]

    assert asyncio.run(both()) == [2, 2]


def test_min_measured_is_a_share() -> None:
    """7 of 25 are 28%, although 0.28 * 25 is inexact in floating point."""
    claims = [f"claim {n}" for n in range(25)]
    answer = verdicts(**{f"_{n}": "supported" for n in range(1, 8)}).replace(
        '"context": ', '"context": 1, "was": '
    )
    judge = LLMJudge(ScriptedChatModel([answer]), reasks=0, claims_per_call=25)
    result = ClaimRecall(judge=judge, min_measured=0.28).score(
        retrieved_contexts=["c"], reference_claims=claims
    )
    assert (result.status, result.score, len(result.unmeasured)) == (Status.SCORED, 1.0, 18)


class TestMedian:
    """A panel decides by the median of ordered labels, at the rank on which it agrees."""

    CONTEXTS = ("Ann won the race.", "The race was won by Ann.", "It was Ann who won the race.")

    def result(self, *answers: tuple[str, int], **parameters: Any) -> Any:
        """Return the result of judges that each give a label and cite one context."""
        texts = [
            reply(quoting(1, label, (rank, self.CONTEXTS[rank - 1]))) for label, rank in answers
        ]
        panel = Panel(
            [LLMJudge(ScriptedChatModel([text], name=str(n))) for n, text in enumerate(texts)]
        )
        return ClaimRecall(judge=panel, **parameters).score(
            retrieved_contexts=self.CONTEXTS, reference_claims=["Ann won the race."]
        )

    def test_labels_are_ordered(self) -> None:
        """The median of supported, partial and not supported is partial, without a majority."""
        result = self.result(("supported", 1), ("partial", 1), ("not_supported", 1))
        assert result.findings[0].verdict == "partial"
        assert self.result(("supported", 1), ("not_supported", 1)).status is Status.UNSCORED
        denied = self.result(("contradicted", 1), ("contradicted", 2), ("supported", 1))
        assert denied.findings[0].verdict == "contradicted"

    def test_the_rank_is_the_majoritys(self) -> None:
        """Two of three find the claim by rank 2: a single judge with rank 1 does not count."""
        result = self.result(("supported", 1), ("supported", 2), ("supported", 3))
        assert result.findings[0].rank == 2
        assert (
            self.result(("supported", 1), ("supported", 3), ("not_supported", 1)).findings[0].rank
            == 3
        )

    def test_partial_credit(self) -> None:
        """Credit at a rank is the median of the judges' credits there."""
        result = self.result(("partial", 1), ("partial", 2), ("supported", 3), partial_credit=0.5)
        assert [tuple(step) for step in result.findings[0].steps] == [(2, 0.5)]

    def test_a_silent_judge_may_leave_it_open(self) -> None:
        """A missing verdict is ignored if the median is the same for any value of it."""
        decided = self.result(("supported", 1), ("supported", 1), ("odd", 1))
        assert decided.findings[0].agreement == pytest.approx(2 / 3)
        assert self.result(("supported", 1), ("partial", 1), ("odd", 1)).status is Status.UNSCORED


class TestPrompts:
    """Prompts can be replaced and translated; their version is part of the judge's name."""

    def test_replaced(self) -> None:
        """The user's prompts are sent, and the name has the version."""
        german = replace(Prompts(), version="de-1", attribute="Prüfe {items}. {{JSON}} {whole}")
        model = ScriptedChatModel([verdicts(_1="supported")])
        judge = LLMJudge(model, prompts=german)
        ClaimRecall(judge=judge).score(retrieved_contexts=["c"], reference_claims=["k"])
        assert model.requests[0].messages[0].content.startswith("Prüfe claims. {JSON}")
        assert re.fullmatch(r"llm:scripted:prompts-de-1-[0-9a-f]{8}:20/60000/2", judge.name)
        shorter = LLMJudge(model, prompts=replace(german, attribute="Prüfe {items}."))
        assert shorter.name != judge.name  # Another prompt makes another judge.

    def test_contexts_come_first_and_stable(self) -> None:
        """Contexts come first, so that questions about them share a prefix for caches."""
        model = ScriptedChatModel([verdicts(_1="not_supported")])
        scorer = ClaimRecall(judge=LLMJudge(model))
        for claim in ("first", "second"):
            scorer.score(user_input=claim, retrieved_contexts=CONTEXTS, reference_claims=[claim])
        first, second = (request.messages for request in model.requests)
        assert first[0] == second[0]
        contexts = first[1].content.partition("\nquestion")[0]
        assert second[1].content.startswith(contexts)
        assert CONTEXTS[-1] in contexts


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"claims_per_call": 0}, "claims_per_call"),
        ({"window": 5}, "window"),
        ({"reasks": -1}, "reasks"),
        ({"model": "gpt"}, "model"),
    ],
)
def test_bad_judge_parameters_are_named(parameters: dict[str, Any], name: str) -> None:
    """A bad parameter raises a `ParameterError` that names it."""
    with pytest.raises(ParameterError, match=name):
        LLMJudge(**{"model": ScriptedChatModel([""]), **parameters})


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"partial_credit": 1.5}, "partial_credit"),
        ({"min_measured": -1}, "min_measured"),
        ({"split": "words"}, "split"),
        ({"judge": LLMJudge}, "instance"),
        ({"judge": ScriptedChatModel([""])}, "wrap it, LLMJudge"),
        ({"judge": "openai:gpt"}, "split, attribute, and relevance"),
    ],
)
def test_bad_scorer_parameters_are_named(parameters: dict[str, Any], name: str) -> None:
    """A bad parameter raises a `ParameterError` that names it."""
    with pytest.raises(ParameterError, match=name):
        ClaimRecall(**parameters)
