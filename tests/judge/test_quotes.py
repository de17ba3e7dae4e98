"""Quotes are verified in their cited contexts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judge.scripted import judged, reply, verdict

from fullrecall import ClaimRecall, Sample
from fullrecall.judge import LLMJudge
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.scorers.result import Status


class TestEvidence:
    """A "supported" verdict earns no credit if its quote is not in the cited context."""

    CONTEXT = "The Eiffel Tower\u2019s height is  330 metres.\nIt stands in Paris, France."

    CLAIM = "The 330 metres high Eiffel Tower stands in Paris."

    def result(self, quote: str, **parameters: Any) -> Any:
        """Return the result for one claim supported by this quote."""
        sample = Sample(retrieved_contexts=[self.CONTEXT, "other"], reference_claims=[self.CLAIM])
        return judged([reply(verdict(1, "supported", 1, quote=quote))], sample, **parameters)

    @pytest.mark.parametrize(
        ("quote", "stands"),
        [
            ("height is 330 metres", "height is  330 metres"),
            ("the eiffel tower's HEIGHT", "The Eiffel Tower\u2019s height"),
            ("The Eiffel Tower … It stands in Paris", CONTEXT.removesuffix(", France.")),
            ("Paris", "Paris"),
        ],
        ids=["white space", "case and apostrophe", "ellipsis", "one name"],
    )
    def test_located(self, quote: str, stands: str) -> None:
        """A quote is located at the offsets of its words in the retrieved context."""
        (evidence,) = self.result(quote).findings[0].evidence
        assert evidence.verified is True
        assert self.CONTEXT[evidence.start : evidence.end] == stands

    @pytest.mark.parametrize(
        "quote", ["The tower is in Rome", "It stand in Paris", "", "xyz", "330 feet"]
    )
    def test_not_located(self, quote: str) -> None:
        """Row: a quote is not in the cited context: unverified, and its credit is counted as such.

        If evidence is required, the quote is asked for once more; then the claim is unmeasured.
        """
        loose = self.result(quote)
        assert loose.findings[0].evidence[0].verified is False
        assert (loose.score, loose.findings[0].unverified) == (1.0, 1.0)
        strict = self.result(quote, require_evidence=True)
        assert (strict.score, strict.status) == (None, Status.UNSCORED)
        assert "not evidence" in strict.reason
        assert strict.unmeasured[0][0] == self.CLAIM

    def test_a_quote_is_asked_for_once_more(self) -> None:
        """With `require_evidence` the model is told which quote failed, and may correct it."""
        wrong = reply(verdict(1, "supported", 1, quote="It stands in Rome"))
        right = reply(verdict(1, "supported", 1, quote="It stands in Paris"))
        sample = Sample(retrieved_contexts=[self.CONTEXT], reference_claims=[self.CLAIM])
        model = ScriptedChatModel([wrong, right])
        result = ClaimRecall(judge=LLMJudge(model), require_evidence=True).score(sample)
        assert (result.score, len(model.requests)) == (1.0, 2)
        assert "It stands in Rome" in model.requests[1].messages[1].content
        assert result.findings[0].unverified == 0.0
        for again, score in ((wrong, None), (reply(verdict(1, "not_supported")), 0.0)):
            model = ScriptedChatModel([wrong, again])
            result = ClaimRecall(judge=LLMJudge(model), require_evidence=True).score(sample)
            assert (result.score, len(model.requests)) == (score, 2)
        model = ScriptedChatModel([wrong])
        assert ClaimRecall(judge=LLMJudge(model)).score(sample).score == 1.0
        assert len(model.requests) == 1

    def test_a_quote_from_another_context_is_not_evidence(self) -> None:
        """A quote of another context than the cited one is no evidence, unless it is short."""
        sample = Sample(
            retrieved_contexts=["nothing here", self.CONTEXT], reference_claims=[self.CLAIM]
        )
        for quote in ("It stands in Paris", "stands in Paris"):
            result = judged([reply(verdict(1, "supported", 1, quote=quote))], sample)
            assert result.status is Status.UNSCORED
            assert "is in context 2, not in 1" in result.reason
        result = judged([reply(verdict(1, "supported", 1, quote="in Paris"))], sample)
        assert result.status is Status.SCORED

    def test_together_needs_all_its_evidence(self) -> None:
        """If two contexts are needed together, one unverified quote denies the credit."""
        sample = Sample(
            retrieved_contexts=["one two three four", "five"],
            reference_claims=["one two three four five"],
        )
        item = {
            "id": 1, "verdict": "supported", "together": True,
            "citations": [
                {"context": 1, "quote": "one two three four"}, {"context": 2, "quote": "nine"},
            ],
        }  # fmt: skip
        assert judged([reply(item)], sample, require_evidence=True).status is Status.UNSCORED
        assert judged([reply(item)], sample).findings[0].unverified == 1.0
