"""The cause of a claim that a judge did not credit: its whole detail, and the rank of its quote."""

from __future__ import annotations

from typing import Any

import pytest
from tests.diagnosis.test_causes import FixedJudge
from tests.diagnosis.test_rules import by_id, told

from fullrecall import ClaimRecall, Sample
from fullrecall.judge.judge import Citation, Verdict

CLAIM = "It was finished in 1889."
TEXTS = ["Rome is old.", "It was finished in 1923.", "It was finished in 1889, they say."]
FALSE_QUOTE = "built by Romans"
NOWHERE = "the judge finds no support in what was retrieved; to find out where the support is, "
NOWHERE += "score reference_contexts by SpanRecall() as well"


def verdict(label: Any, *cited: int, quote: str = "It was finished in") -> Verdict:
    """Return a verdict that cites contexts by their ranks."""
    return Verdict(label, tuple(Citation(rank - 1, quote) for rank in cited))


@pytest.mark.parametrize(
    ("given", "k", "cause", "detail", "rank"),
    [
        (verdict("contradicted", 2), None, "contradicted",
         "the judge finds the opposite stated in the context at rank 2", 2),
        (verdict("contradicted", 3, 2), None, "contradicted",
         "the judge finds the opposite stated in the context at rank 2", 2),
        (verdict("contradicted", 2), 2, "contradicted",
         "the judge finds the opposite stated in the context at rank 2", 2),
        (verdict("contradicted", 2), 1, "contradicted",
         "the judge finds the opposite stated in what was retrieved", None),
        (verdict("contradicted"), None, "contradicted",
         "the judge finds the opposite stated in what was retrieved", None),
        (verdict("partial", 3, quote="finished in 1889"), None, "partly_supported",
         "the judge finds it supported in part only", 3),
        (verdict("partial", 2, quote=FALSE_QUOTE), None, "judged_unsupported",
         "the judge cites the context at rank 2, and its quote does not occur there", 2),
        (verdict("not_supported"), None, "judged_unsupported",
         "the context at rank 3 has it verbatim; verdict: not supported", 3),
        (verdict("not_supported"), 3, "judged_unsupported",
         "the context at rank 3 has it verbatim; verdict: not supported", 3),
        (verdict("not_supported"), 2, "unknown", NOWHERE, None),
    ],
)  # fmt: skip
def test_the_cause_of_a_claim(
    given: Verdict, k: int | None, cause: str, detail: str, rank: int | None
) -> None:
    """The verdict decides, with the quotes within k; the words of the claim come last."""
    sample = Sample(reference_claims=[CLAIM], retrieved_contexts=TEXTS)
    scorer = ClaimRecall(judge=FixedJudge([given]))
    assert told(sample, scorer, k=k) == (cause, detail, rank)


def test_a_duplicate_is_not_crowded_out_by_itself() -> None:
    """A context is behind the duplicates before it, and not behind itself."""
    assert told(by_id("1 2", "2"), k=1) == (
        "beyond_k",
        "at rank 2 of the list, beyond k = 1",
        2,
    )
