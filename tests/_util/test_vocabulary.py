"""Words are compared without their English endings, unless little would be left."""

from __future__ import annotations

import pytest

from fullrecall._util.vocabulary import content_words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("wave", "waves"),
        ("tee", "tees"),
        ("box", "boxes"),
        ("cache", "caching"),
        ("cached", "caches"),
        ("quick", "quickly"),
        ("tower's", "tower\u2019s"),
    ],
)
def test_forms_of_a_word_are_one(one: str, other: str) -> None:
    """Plurals, possessives, and forms of a verb."""
    assert content_words(one) == content_words(other)


@pytest.mark.parametrize("word", ["ring", "red", "fly", "boss", "bus", "axis", "wörtes", "a1s"])
def test_a_word_that_only_looks_like_a_form_is_itself(word: str) -> None:
    """Short words, words in -ss, -us and -is, and words of other alphabets."""
    assert content_words(word) == [word]
