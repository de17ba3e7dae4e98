"""The stratum of a judged claim: its verdict, and whether a quote of it was not found."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall.calibration.judged import JudgedClaim
from fullrecall.measures.findings import Evidence, Finding, Target


@pytest.mark.parametrize(
    ("credit", "verdict", "found", "stratum"),
    [
        (1.0, None, [], "supported"),
        (1.0, None, [True], "supported"),
        (1.0, None, [None], "supported"),
        (1.0, None, [False], "supported, a quote not found"),
        (1.0, None, [True, False], "supported, a quote not found"),
        (0.5, None, [], "partial"),
        (0.0, "partial", [], "partial"),
        (0.0, "not_supported", [], "not_supported"),
        (0.0, None, [False], "not_supported, a quote not found"),
    ],
)
def test_the_stratum_of_a_claim(
    credit: float, verdict: Any, found: list[Any], stratum: str
) -> None:
    """Only a quote that was looked up in vain makes a stratum of its own."""
    evidence = tuple(Evidence(1, verified=verified) for verified in found)
    finding = Finding(Target(("claim",)), evidence=evidence, verdict=verdict)
    claim = JudgedClaim("c1", 0, "s", "claim", 1.0, credit, finding, needs_no_label=False)
    assert claim.stratum == stratum
    assert claim.is_supported == (credit == 1.0)
