"""Words of texts without blanks, and markers of list items, on both sides of their bounds."""

from __future__ import annotations

import pytest

from fullrecall.lexical.sentences import begins_item, parts
from fullrecall.lexical.words.tokens import read_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("日", [("日", 0, 1)]),
        ("日本", [("日本", 0, 2)]),
        ("日本語", [("日本", 0, 2), ("本語", 1, 3)]),
        ("Go 日本語 2", [("go", 0, 2), ("日本", 3, 5), ("本語", 4, 6), ("#2", 7, 8)]),
    ],
)
def test_letters_without_blanks_are_read_in_pairs(
    text: str, words: list[tuple[str, int, int]]
) -> None:
    """Each pair of neighbors is a word, with its place in the text; a single letter is one too."""
    assert [(word.key, word.start, word.end) for word in read_words(text)] == words


@pytest.mark.parametrize(
    ("text", "begins"),
    [("- a", True), ("1. a", True), ("12) a", True), ("(a) b", True), ("IV. b", True),
     ("(xviii) a", True), ("(xxviii) a", False), ("123456. b", False), ("a b", False)],
)  # fmt: skip
def test_a_marker_of_a_list_item_is_short(text: str, *, begins: bool) -> None:
    """A marker has at most seven characters, as "(xviii)" has."""
    assert begins_item(text) == begins


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Text before.\n| a | b |\nText after.", ["Text before.", "| a | b |", "Text after."]),
        ("|a|b|", ["|a|b|"]),
        ("|", []),
        ("Name | Price\n--- | ---\nTea | 3", ["table header: Name | Price", "Tea | 3"]),
        ("a | b\nand c", ["a | b and c"]),
    ],
)
def test_rows_of_a_table_are_statements(text: str, found: list[str]) -> None:
    """A line between two bars is a row by itself, without a table around it."""
    told = [
        each.text if each.role == "statement" else f"{each.role}: {each.text}"
        for each in parts(text)
    ]
    assert [" ".join(each.split()) for each in told] == found
