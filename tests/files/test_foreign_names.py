"""Column names in languages without blanks are read word by word."""

from __future__ import annotations

import pytest

from fullrecall.files.usual_names import english_words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("问题甲乙", ["question", "甲乙"]),
        ("甲乙问题", ["甲乙", "question"]),
        ("質問番号甲", ["question", "number", "甲"]),
    ],
)
def test_unknown_characters_between_known_words_are_a_word(name: str, words: list[str]) -> None:
    """Unknown text before or after a known word is a word, too, so no character is lost."""
    assert english_words(name) == words
