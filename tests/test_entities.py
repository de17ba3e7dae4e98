"""Entity recall: which names, dates and numbers occur."""

from __future__ import annotations

import pytest

from fullrecall import EntityRecall, LLMJudge
from fullrecall.errors import ParameterError
from fullrecall.result import Status
from fullrecall.testing import ContainmentJudge, ScriptedChatModel


def test_named_entities_are_the_targets() -> None:
    """Each once, whatever its letter case; the reference is not looked at."""
    result = EntityRecall().score(
        retrieved_contexts=["paris in spring"],
        reference="The Louvre is in Paris.",
        reference_entities=["Paris", "PARIS", "Louvre"],
    )
    assert [finding.target.label for finding in result.findings] == ["PARIS", "Louvre"]
    assert result.score == 0.5


def test_whole_words_only() -> None:
    """An entity inside another word is no occurrence; case and white space are no matter."""
    result = EntityRecall().score(
        retrieved_contexts=["Parisian life", "new\n york city"],
        reference_entities=["Paris", "New York"],
    )
    assert result.missed == ("Paris",)
    evidence = result.findings[1].evidence[0]
    assert "new\n york city"[evidence.start : evidence.end] == "new\n york"


def test_a_number_inside_another_is_no_occurrence() -> None:
    """12 does not stand in 12,345, nor 1 in 1.5; it does at the end of a sentence."""
    result = EntityRecall().score(
        retrieved_contexts=["12,345 rooms at 1.5 a day, in all 77."],
        reference_entities=["12", "1", "77"],
    )
    assert result.missed == ("12", "1")


def test_options_of_a_judge_need_one() -> None:
    """An option that would change nothing is refused."""
    with pytest.raises(ParameterError, match=r"min_measured=0\.3 needs a judge"):
        EntityRecall(min_measured=0.3)


def test_entities_are_named_or_listed_by_a_judge() -> None:
    """No rule guesses them: without names and without a judge the sample is unscored."""
    told = EntityRecall().score(retrieved_contexts=["made in Turin"], reference="In Turin.")
    assert (told.status, told.reason) == (
        Status.UNSCORED,
        "reference_entities (or a judge that lists them) is missing",
    )
    texts = {
        "retrieved_contexts": ["Made in Turin."],
        "reference_contexts": ["Made in Turin.", "Italy."],
    }
    assert EntityRecall(judge=ContainmentJudge()).score(**texts).missed == ("Italy.",)


def test_nothing_retrieved_asks_nobody() -> None:
    """The score is 0.0 with a judge too, if the reference has a text."""
    scorer = EntityRecall(judge=LLMJudge(ScriptedChatModel([])))
    assert scorer.score(retrieved_contexts=[], reference="In Turin.").score == 0.0
    assert scorer.score(retrieved_contexts=[], reference=" ").status is Status.UNDEFINED
