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
def test_inflected_forms_are_one_word(one: str, other: str) -> None:
    """Plurals, possessives, and forms of a verb are the same word as the base form."""
    assert content_words(one) == content_words(other)


@pytest.mark.parametrize("word", ["ring", "red", "fly", "boss", "bus", "axis", "wörtes", "a1s"])
def test_words_that_only_look_inflected_are_unchanged(word: str) -> None:
    """Short words, words in -ss, -us or -is, and non-English words keep their endings."""
    assert content_words(word) == [word]
