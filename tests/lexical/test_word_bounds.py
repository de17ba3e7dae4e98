"""Words of texts without blanks, and markers of list items, on both sides of their bounds."""

from __future__ import annotations

import pytest

from fullrecall.lexical.sentences import begins_item
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
