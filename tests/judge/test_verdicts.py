"""Broken verdicts and replies in any form do not change the denominator."""

from __future__ import annotations

import json

import pytest
from tests.judge.scripted import asked_of, judged, reply, verdict

from fullrecall import ClaimRecall
from fullrecall.judge import LLMJudge
from fullrecall.judge.models import Completion, Failure
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.scorers.result import Status


class TestVerdictContract:
    """A judge may omit, repeat, invent or mislabel a verdict."""

    GOOD = reply(verdict(1, "supported", 1), verdict(2, "not_supported"))

    @pytest.mark.parametrize(
        ("broken", "asked_again"),
        [
            (reply(verdict(1, "supported", 1)), [2]),
            (reply(), [1, 2]),
            (reply(verdict(1, "supported", 1), verdict(1, "partial", 1)), [1, 2]),
            (reply(verdict(1, "supported", 1), verdict(2), verdict(2, "partial", 1)), [2]),
            (reply(verdict(1, "supported", 1), verdict(2, "definitely", 1)), [2]),
            (reply(verdict(1, "supported", 1), verdict(2, "supported", 9)), [2]),
            (reply(verdict(1, "supported", 1), verdict(2, "supported")), [2]),
            (reply(verdict(1, "supported", 1), verdict(7, "supported", 1)), [1, 2]),
            ("I think both are fine.", [1, 2]),
            (GOOD[: len(GOOD) // 2], [1, 2]),
        ],
        ids=[
            "omitted",
            "all omitted",
            "one repeated",
            "other repeated",
            "mislabeled",
            "context that is not there",
            "no context",
            "invented",
            "prose",
            "truncated",
        ],
    )
    def test_broken_verdicts_are_asked_for_again(self, broken: str, asked_again: list[int]) -> None:
        """Broken verdicts are asked for again, or all verdicts if a number is foreign."""
        model = ScriptedChatModel(
            [broken, reply(*[verdict(n, "not_supported") for n in asked_again])]
        )
        result = ClaimRecall(judge=LLMJudge(model)).score(
            retrieved_contexts=["alpha", "beta"], reference_claims=["first", "second"]
        )
        assert [asked_of(request) for request in model.requests] == [[1, 2], asked_again]
        assert result.status is Status.SCORED
        assert len(result.findings) == 2
        assert result.score == (0.5 if 1 not in asked_again else 0.0)

    @pytest.mark.parametrize("reasks", [0, 1, 3])
    def test_asking_again_is_bounded_and_then_unscored(self, reasks: int) -> None:
        """A claim that never gets a verdict leaves the sample unscored, not with fewer claims."""
        model = ScriptedChatModel([reply(verdict(1, "supported", 1)), reply()])
        result = ClaimRecall(judge=LLMJudge(model, reasks=reasks)).score(
            retrieved_contexts=["alpha"], reference_claims=["first", "second"]
        )
        assert (result.status, result.score) == (Status.UNSCORED, None)
        assert "1 of 2 not judged: the judge gave no verdict" in result.reason
        assert len(model.requests) == 1 + reasks
        assert result.unmeasured == (("second", "the judge gave no verdict"),)

    def test_min_measured_scores_the_rest_and_says_so(self) -> None:
        """With `min_measured` the score is over the measured claims; other claims are named."""
        result = judged([reply(verdict(1, "supported", 1)), reply()], min_measured=0.5)
        assert (result.status, result.score) == (Status.SCORED, 1.0)
        assert result.unmeasured == (("second claim", "the judge gave no verdict"),)
        assert "1 not judged" in result.reason

    @pytest.mark.parametrize(
        ("failing", "reason", "calls"),
        [
            (Completion("no", failure=Failure.REFUSED, detail="policy"), "refused: policy", 1),
            (Completion("", failure=Failure.EMPTY), "reply was empty", 3),
            (Completion('{"ver', failure=Failure.CUT_OFF), "was cut off", 3),
            (LookupError("odd"), "the request failed: LookupError: odd", 1),
        ],
        ids=["refusal", "empty", "cut off", "transport"],
    )
    def test_four_failures_have_four_reasons(
        self, failing: Completion | Exception, reason: str, calls: int
    ) -> None:
        """Each of four failures has its own reason, and is asked again only if that can help."""
        model = ScriptedChatModel([failing])
        result = ClaimRecall(judge=LLMJudge(model)).score(
            retrieved_contexts=["alpha"], reference_claims=["first"]
        )
        assert result.status is Status.UNSCORED
        assert reason in result.reason
        assert len(model.requests) == calls

    def test_whole_verdicts_of_a_cut_off_reply_count(self) -> None:
        """Only the claims behind the cut are asked again."""
        whole = json.dumps(verdict(1, "supported", 1))
        cut = Completion(f'{{"verdicts":[{whole},{{"id":2,"verd', failure=Failure.CUT_OFF)
        model = ScriptedChatModel([cut, reply(verdict(2, "supported", 2))])
        result = ClaimRecall(judge=LLMJudge(model)).score(
            retrieved_contexts=["alpha", "beta"], reference_claims=["first", "second"]
        )
        assert (result.score, asked_of(model.requests[1])) == (1.0, [2])


class TestReplies:
    """Replies may have any form, but their content is checked strictly."""

    PLAIN = reply(verdict(1, "supported", 1), verdict(2, "not_supported"))

    @pytest.mark.parametrize(
        "text",
        [
            PLAIN,
            f"```json\n{PLAIN}\n```",
            f"Sure! Here it is:\n{PLAIN}\nHope that helps {{friend}}.",
            f'<think>claim 2 {{"id": 2, "verdict": "supported"}} hm</think>{PLAIN}',
            PLAIN.replace("}]", "},]").replace("}}", ",}}"),
            json.dumps(json.loads(PLAIN)["verdicts"]),
            "\n".join(json.dumps(item) for item in json.loads(PLAIN)["verdicts"]),
            PLAIN.replace("not_supported", "Not supported."),
            PLAIN.replace('"id": 1', '"id": "1"'),
        ],
        ids=[
            "plain",
            "fence",
            "prose around",
            "think block",
            "trailing commas",
            "bare array",
            "one object a line",
            "label as prose",
            "number as string",
        ],
    )
    def test_forms(self, text: str) -> None:
        """Each form of the same verdicts is the same result, without a second call."""
        model = ScriptedChatModel([text])
        result = ClaimRecall(judge=LLMJudge(model)).score(
            retrieved_contexts=["alpha"], reference_claims=["first", "second"]
        )
        assert (result.score, len(model.requests)) == (0.5, 1)
