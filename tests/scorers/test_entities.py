"""Entity recall counts the given names, dates and numbers that occur in the contexts."""

from __future__ import annotations

from pathlib import Path

import pytest

from fullrecall import EntityRecall, Report, Sample, evaluate
from fullrecall.errors import ParameterError
from fullrecall.scorers.result import Status


def test_named_entities_are_the_targets() -> None:
    """The named entities are the targets, each once, in any letter case."""
    result = EntityRecall().score(
        retrieved_contexts=["paris in spring"],
        reference="The Louvre is in Paris.",
        reference_entities=["Paris", "PARIS", "Louvre"],
    )
    assert [finding.target.label for finding in result.findings] == ["PARIS", "Louvre"]
    assert result.score == 0.5


def test_whole_words_only() -> None:
    """An entity inside another word is not an occurrence; case and white space do not matter."""
    result = EntityRecall().score(
        retrieved_contexts=["Parisian life", "new\n york city"],
        reference_entities=["Paris", "New York"],
    )
    assert result.missed == ("Paris",)
    evidence = result.findings[1].evidence[0]
    assert "new\n york city"[evidence.start : evidence.end] == "new\n york"


def test_a_number_inside_another_is_no_occurrence() -> None:
    """12 does not occur in 12,345, nor 1 in 1.5, but 77 does at the end of a sentence."""
    result = EntityRecall().score(
        retrieved_contexts=["12,345 rooms at 1.5 a day, in all 77."],
        reference_entities=["12", "1", "77"],
    )
    assert result.missed == ("12", "1")


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        ("500円", "大人の入場料は500円で、六歳未満は無料です。"),
        ("12.5メートル", "大きさは25メートルと12.5メートルです。"),
        ("午後8時", "日曜日の午後8時まで営業しています。"),
        ("GPT", "このGPTは新しい。"),
        ("北京", "我住在北京。"),
        ("สยาม", "ผมอยู่ที่สยามครับ"),
        ("서울", "저는 서울에서 일합니다."),
    ],
)
def test_scripts_without_spaces_have_their_names(entity: str, text: str) -> None:
    """In a script without spaces, an entity may occur between any letters."""
    result = EntityRecall().score(retrieved_contexts=[text], reference_entities=[entity])
    assert result.missed == ()
    evidence = result.findings[0].evidence[0]
    assert text[evidence.start : evidence.end] == entity


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        ("500円", "1,500円です。"),
        ("GPT", "このChatGPTは新しい。"),
        ("서울", "신서울에서 일합니다."),
    ],
)
def test_numbers_and_spaced_scripts_stay_whole(entity: str, text: str) -> None:
    """Numbers and spaced scripts are matched whole, even beside Japanese text."""
    result = EntityRecall().score(retrieved_contexts=[text], reference_entities=[entity])
    assert result.missed == (entity,)


def test_nothing_guesses_entities() -> None:
    """Without names the sample is unscored, even if its reference has entities."""
    told = EntityRecall().score(retrieved_contexts=["made in Turin"], reference="In Turin.")
    assert (told.status, told.reason) == (Status.UNSCORED, "reference_entities is missing")


@pytest.mark.rooms
@pytest.mark.parametrize(
    ("entity", "text"),
    [
        ("1,000", "It has 1000 rooms."),
        ("10 km", "It is 10km away."),
        ("10 km", "It is 10,000 m away."),
        ("10%", "It rose by 10 percent."),
        ("$4.2 billion", "It was sold for $4.2B."),
        ("4 March 2023", "It opened on March 4, 2023."),
        ("March 4th, 2023", "Opened: 2023-03-04"),
        ("C++", "It is written in C++."),
        ("US", "The US joined."),
    ],
)
def test_one_entity_in_another_notation(entity: str, text: str) -> None:
    """Numbers, units, amounts and dates match in any notation."""
    result = EntityRecall().score(retrieved_contexts=[text], reference_entities=[entity])
    assert result.score == 1.0


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        ("C", "C++ only"),
        ("US", "Please contact us."),
        ("May", "You may leave."),
        ("10 km", "It takes 10 minutes and 10 kg."),
        ("$4.2 billion", "It was sold for $4.2M."),
        ("4 March 2023", "It opened on March 5, 2023."),
        ("1,000", "It has 1,001 rooms."),
    ],
)
def test_another_entity(entity: str, text: str) -> None:
    """A part of a longer name, another unit, amount, or date does not match."""
    result = EntityRecall().score(retrieved_contexts=[text], reference_entities=[entity])
    assert result.missed == (entity,)


def test_aliases() -> None:
    """Each of an entity's aliases counts, and all of them are one target."""
    scorer = EntityRecall(aliases=[["EU", "European Union"]])
    result = scorer.score(
        retrieved_contexts=["The European Union has 27 members."],
        reference_entities=["EU", "Norway", "European Union"],
    )
    assert [finding.target.any_of for finding in result.findings] == [
        ("EU", "European Union"),
        ("Norway",),
    ]
    assert result.missed == ("Norway",)
    with pytest.raises(ParameterError, match="lists of names"):
        EntityRecall(aliases=["EU"])


def test_aliases_survive_saving(tmp_path: Path) -> None:
    """A saved report is derived again with the aliases of its scorer."""
    sample = Sample(
        retrieved_contexts=["The European Union has 27 members."], reference_entities=["EU"]
    )
    for scorer in (EntityRecall(aliases=[["EU", "European Union"]]), EntityRecall()):
        path = tmp_path / f"{scorer.aliases is None}.jsonl"
        report = evaluate([sample], scorer, progress=False)
        report.save(path)
        (loaded,), (row,) = Report.load(path), report
        assert loaded.results[0].findings == row.results[0].findings
        assert loaded.results[0].score == float(scorer.aliases is not None)
