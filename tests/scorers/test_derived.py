"""Results are computed again from their samples, unless the run left them unscored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fullrecall import IdRecall, Sample
from fullrecall.errors import ReportError
from fullrecall.scorers import Status
from fullrecall.scorers.derived import Derivation
from fullrecall.scorers.scorer import LATE


@pytest.mark.parametrize("status", [Status.SCORED, Status.UNSCORED])
def test_findings_are_computed_again_in_spite_of_the_runs_note(status: Status) -> None:
    """A saved result with findings is computed again, even with a deadline's reason."""
    scorer = IdRecall()
    sample = Sample(retrieved_context_ids=["a"], reference_context_ids=["a", "b"])
    scored = scorer.score(sample)
    derivation = Derivation(scorer.method, held=False)
    forged = replace(scored, status=status, findings=scored.findings[:1], note=LATE)
    assert derivation.result(sample, forged) == scored
    late = replace(scored, status=Status.UNSCORED, findings=(), note=LATE)
    assert derivation.result(sample, late) is late


def test_a_score_without_findings_is_computed_again() -> None:
    """A scored result without findings is computed again, since it must follow from its sample."""
    scorer = IdRecall()
    sample = Sample(retrieved_context_ids=["a"], reference_context_ids=["a", "b"])
    scored = scorer.score(sample)
    forged = replace(scored, findings=(), note=LATE)
    assert Derivation(scorer.method, held=False).result(sample, forged) == scored


def test_a_method_that_no_scorer_has_is_refused() -> None:
    """A method with another parameter is refused, and one of a user's scorer is not derived."""
    method = IdRecall().method
    with pytest.raises(ReportError) as raised:
        Derivation(replace(method, parameters={"bogus": 1}), held=False)
    assert str(raised.value) == (
        "id_recall: no scorer of kind 'id_recall' with headline recall has the parameters "
        "{'bogus': 1}: evaluate again"
    )
    assert Derivation(replace(method, kind="mine"), held=False).scorer is None
