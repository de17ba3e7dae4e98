"""Claims that a judge denies although a context states them are judged again, each alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.judge.scripted import asked_of, judged, quoting, reply, verdict

from fullrecall import Sample

if TYPE_CHECKING:
    from fullrecall.judge.models import ChatRequest

STATED = "The mill was built in 1889."


@pytest.mark.rooms
def test_a_denied_claim_that_a_context_states_is_judged_again() -> None:
    """The verdict on the stating context alone counts; the result says why it was asked for."""
    requests: list[list[int]] = []

    def script(request: ChatRequest) -> str:
        requests.append(asked_of(request))
        if "river" in request.messages[-1].content:
            return reply(*(verdict(number, "not_supported") for number in requests[-1]))
        return reply(quoting(1, "supported", (2, STATED)))

    sample = Sample(
        user_input="q",
        retrieved_contexts=["A river runs through the town.", STATED],
        reference_claims=[STATED],
    )
    result = judged(script, sample)
    assert (result.score, result.findings[0].rank, len(requests)) == (1.0, 2, 2)
    assert result.findings[0].contested
