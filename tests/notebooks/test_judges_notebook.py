"""The notebook about judges runs, and its figures agree with one another."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.tools
NAME = "judges.ipynb"


def test_the_score_is_that_of_the_claims_with_evidence(notebook: Any) -> None:
    """Each supported claim has a verified quote, and the share of these claims is the score."""
    score = float(notebook.shown_by("ClaimRecall().score(sample)").split()[0])
    shown = notebook.shown_by("for finding in result.findings")
    verdicts = re.findall(r"^(\w+) \| ", shown, re.MULTILINE)
    assert verdicts == ["supported", "supported", "not_supported"]
    assert score == pytest.approx(2 / 3, abs=0.0005)
    assert len(re.findall(r"^    context \d, verified True: ", shown, re.MULTILINE)) >= 2


def test_the_built_in_judge_is_shown_with_its_errors(notebook: Any) -> None:
    """Each case shows the judge's verdict and the truth, and marks differences."""
    shown = notebook.shown_by("cases = [")
    cases = re.findall(r"^(.+?) +supported: (\w+) +in truth: (\w+) *(WRONG)?$", shown, re.MULTILINE)
    assert len(cases) == 7
    assert all((said != truth) == bool(mark) for _, said, truth, mark in cases)
    wrong = {kind for kind, *_, mark in cases if mark}
    # The text below the cell says the same.
    assert {"in other words", "roles exchanged"} == wrong


def test_the_scripted_judge_is_named_as_such(notebook: Any) -> None:
    """Text and code say that the judge is scripted."""
    assert "**What follows is no model**" in notebook.prose
    (script,) = [cell.source for cell in notebook.cells if "script = Scripted" in cell.source]
    assert 'name="a script, no model"' in script


def test_an_invented_quote_is_believed_unless_evidence_is_required(notebook: Any) -> None:
    """The claim with the invented quote is supported, or unmeasured if evidence is required."""
    believed = notebook.shown_by("script = ScriptedChatModel")
    assert believed.startswith("1.000, 1 call")
    assert re.search(r"She died in 1852\. \[\('She died in London in 1852', False\)\]", believed)
    strict = notebook.shown_by("require_evidence=True")
    assert strict.startswith("1.000, missed: (), 2 calls")
    assert "unmeasured: She died in 1852." in strict


def test_a_missing_verdict_is_asked_for_again_and_never_counted(notebook: Any) -> None:
    """A missing verdict is asked for again, and then leaves the sample unscored."""
    sent = notebook.shown_by("script.requests[0].messages")
    assert '1 "Ada Lovelace was born in London."' in sent
    again = notebook.shown_by("forgetful")
    assert again.startswith("unscored None - 1 of 3 not judged")
    assert int(re.findall(r"(\d) requests", again)[0]) > 1
    assert again.rstrip().endswith('3 "She died in 1852."')
    assert "born in London" not in again


def test_calibration_brings_the_mean_to_the_truth(notebook: Any) -> None:
    """The corrected mean's interval contains the truth, and the judge's own does not."""
    judged, truth = map(
        float,
        re.findall(r"mean (\S+), in truth (\S+)$", notebook.shown_by("judged_mean ="))[0],
    )
    told = notebook.shown_by("calibration.corrected.interval")
    corrected, low, high = map(float, re.findall(r"(0\.\d+), 95% from (\S+) to (\S+)", told)[0])
    assert float(re.findall(r"judge says (\S+)", told)[0]) == judged
    assert float(re.findall(r"in truth +(\S+)", told)[0]) == truth
    assert low < truth < high
    assert low < corrected < high
    assert not low < judged < high
    assert abs(corrected - truth) < abs(judged - truth)
