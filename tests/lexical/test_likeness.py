"""Texts that say the same, and the fact in which two similar texts differ."""

from __future__ import annotations

import pytest

from fullrecall import Context
from fullrecall.lexical.likeness import difference, duplicates, similarity

MILL = "The mill by the river opened in 1931 and it closed in 1954."
GATE = "Die Schleuse ist offen und steht am Fluss."
OPEN = "The lock is open."


@pytest.mark.parametrize(
    ("text", "other", "why"),
    [
        (MILL, MILL, ""),
        (MILL, MILL.replace("1931", "1913"), "other numbers: 1913 for 1931"),
        ("It has 1, 2, 3, 4 and 5 parts.", "It has 6 parts.", "other numbers: 6 for 1, 2, 3"),
        ("It has 6 parts.", "It has parts.", "other numbers: none for 6"),
        (OPEN, "The lock is not open.", "one of them denies it"),
        (OPEN, "The lock is closed.", "'clos' for 'open'"),
        (OPEN, "The lock is green.", ""),
        (GATE, GATE.replace("offen", "geschlossen"), "'geschlossen' for 'offen'"),
        (GATE, GATE.replace("offen", "offene"), ""),
        (GATE.replace("offen", "verstrichen"), GATE.replace("offen", "errichtet"), ""),
    ],
)
def test_the_fact_in_which_texts_differ(text: str, other: str, why: str) -> None:
    """Numbers, names, denials and opposites are facts; in another language, any other word is."""
    assert difference(text, other) == why


@pytest.mark.parametrize(
    ("contexts", "repeated"),
    [
        ([("a", MILL), ("b", MILL)], {1}),
        ([("a", MILL), ("b", MILL.upper())], {1}),
        ([("a", MILL), ("b", MILL.replace("1931", "1913"))], set()),
        ([("a", MILL), ("b", f"{MILL} More."), ("c", f"Some. {MILL}")], {1, 2}),
        ([("a", f"{MILL} The ferry is old."), ("b", f"{MILL} Bread was cheap there.")], set()),
        ([("a", None), ("b", None), ("a", None)], {2}),
        ([("a", " "), ("a", "  ")], {1}),
        ([("a", None), ("a", ""), ("b", " ")], {1}),
        ([("a", "One."), ("b", "Two."), ("c", "one.")], {2}),
        ([("a", "One."), ("b", "Two."), ("a", "Three.")], set()),
    ],
)
def test_contexts_that_repeat_an_earlier_one(
    contexts: list[tuple[str, str | None]], repeated: set[int]
) -> None:
    """A copy repeats a text, with a difference in no fact; a context without text, an ID."""
    assert duplicates([Context(text, id=id_) for id_, text in contexts]) == repeated


def test_the_similarity_of_texts() -> None:
    """Case and punctuation do not count, and texts that are not near duplicates have 0."""
    assert similarity("Abc, d e f", "abc  d e f.") == 1.0
    assert similarity(MILL, MILL.upper()) == 1.0
    assert similarity("abc", "xyz") == 0.0
