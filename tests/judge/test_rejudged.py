"""Claims that a judge denies although a context states them are judged again, each alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.judge.scripted import asked_of, judged, quoting, reply, verdict

from fullrecall import ClaimRecall, Report, Sample, evaluate
from fullrecall.judge import Verdict

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


class Contesting:
    """A judge that contests each verdict, and gives none on the first claim."""

    name = "contesting"

    def split(self, text: str, **_: Any) -> Iterator[Any]:
        """Return the text as one claim."""
        yield from ()
        return [text]

    def attribute(self, targets: Sequence[str], contexts: Sequence[str], **_: Any) -> Iterator[Any]:
        """Return a void verdict on the first target, and denials of the other targets."""
        yield from ()
        void = Verdict(None, problem="no reply", contested="a context was left out")
        denial = Verdict("not_supported", contested="a context was left out")
        return [void, *(denial for _ in targets[1:])]

    relevance = attribute


def test_a_contested_claim_without_a_verdict_is_saved_and_loaded(tmp_path: Path) -> None:
    """The note counts the contested claims that were judged, as the loaded findings show."""
    sample = Sample(user_input="q", retrieved_contexts=["A."], reference_claims=["One.", "Two."])
    scorer = ClaimRecall(judge=Contesting(), min_measured=0.5)
    report = evaluate([sample], scorer, progress=False)
    report.save(tmp_path / "report.jsonl")
    (loaded,) = Report.load(tmp_path / "report.jsonl")
    assert loaded.results[0].note == "1 not judged; 1 contested: a context was left out"
    assert loaded.results[0].note == report[0].results[0].note
