"""Entity recall and the rule that finds entities."""

from __future__ import annotations

import pytest

from fullrecall import EntityRecall
from fullrecall.errors import ParameterError
from fullrecall.scorers.entity_rule import find_entities


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("The Eiffel Tower is in Paris.", ["Eiffel Tower", "Paris"]),
        ("It was built by Gustave Eiffel in 1889.", ["Gustave Eiffel", "1889"]),
        ("The Bank of England, Ludwig van Gogh.", ["Bank of England", "Ludwig van Gogh"]),
        ("In Germany and France.", ["Germany", "France"]),
        ("Berlin is large. We like Berlin.", ["Berlin"]),
        ("Run it twice. Then stop.", []),
        ("NATO and the EU use os.path and snake_case.", ["NATO", "EU", "os.path", "snake_case"]),
        ("It costs $1,234.50, or 12%, from 2024-05-01.", ["$1,234.50", "12%", "2024-05-01"]),
        ('He hummed "moonlight sonata" and `ls -l`.', ["moonlight sonata", "ls -l"]),
        ("iPhone, B12 and COVID-19.", ["iPhone", "B12", "COVID-19"]),
        ("Émile Zola wurde in Zürich gesehen.", ["Émile Zola", "Zürich"]),
        ("東京は大きい。2020年", ["2020年"]),
        ("", []),
    ],
)  # fmt: skip
def test_the_rule(text: str, entities: list[str]) -> None:
    """Each kind of the stated rule, and what is none."""
    assert sorted(find_entities(text)) == sorted(entities)


def test_given_entities_come_before_the_rule() -> None:
    """`reference_entities` are the targets; nothing is looked for."""
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
    with pytest.raises(ParameterError, match="depth=3 needs a judge"):
        EntityRecall(depth=3)


def test_contexts_stand_in_for_a_missing_answer() -> None:
    """Without a reference answer the entities of the reference contexts count."""
    result = EntityRecall().score(
        retrieved_contexts=["made in Turin"], reference_contexts=["The car is from Turin in Italy."]
    )
    assert result.missed == ("Italy",)
