"""Entity recall: which names, dates and numbers occur."""

from __future__ import annotations

from fullrecall import EntityRecall
from fullrecall.scorers.result import Status


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


def test_nothing_guesses_entities() -> None:
    """Without names the sample is unscored, whatever its reference says."""
    told = EntityRecall().score(retrieved_contexts=["made in Turin"], reference="In Turin.")
    assert (told.status, told.reason) == (Status.UNSCORED, "reference_entities is missing")
