"""The keys of words: stems, numbers, signs, accents, and scripts without spaces."""

from __future__ import annotations

import pytest

from fullrecall.lexical.words.tokens import alike, may_hold, read_words, stem

STEMS = {
    "run": "run runs running ran",
    "studi": "study studies studied",
    "die": "dies",
    "bus": "bus",
    "glass": "glass",
    "this": "this",
    "us": "us",
    "class": "classes",
    "stop": "stopped stopping stops",
    "fall": "falling falls fell",
    "roll": "rolled",
    "pass": "passing passed",
    "quick": "quickly",
    "fli": "fly",
    "hop": "hoping",
    "bed": "bed",
    "sing": "sing",
    "king": "king",
    "tied": "tied",
    "tie": "tie",
    "plai": "played plays play",
    "be": "was is are",
}

KEYS = {
    "Running 1,000 dogs": "run #1000 dog",
    "It isn't 3rd": "it not #3",
    "three %": "#3 percent",
    "One $5": "one dollar #5",
    "1.2.3": "#1.2.3",
    "1990s 5th": "#1990 #5",
    "Beyoncé naïve": "beyonc naiv",
    "mc²": "mc2",
    "東京タワー": "東京 京タ タワ ワー",
    "東": "東",
    "नमस्ते": "नमस्ते",
    "won't can't o'clock": "not not o",
    "H2O snake_case": "h2o snak cas",
}


@pytest.mark.parametrize("key", STEMS)
def test_inflected_forms_share_a_stem(key: str) -> None:
    """Plurals, past forms, -ing, -ly and a final e are stripped from words of some length."""
    assert {stem(word) for word in STEMS[key].split()} == {key}


@pytest.mark.parametrize("text", KEYS)
def test_a_text_has_the_keys_of_its_words(text: str) -> None:
    """Each word has a key, and its offsets are those of the text or of a pair of characters."""
    words = read_words(text)
    assert " ".join(word.key for word in words) == KEYS[text]
    assert all(text[word.start : word.end].lower() == word.written for word in words)
    assert all(word.is_number == word.key.startswith("#") for word in words)


def test_a_word_tells_by_its_weight() -> None:
    """Numbers and rare words tell; function words do not; a capital is kept."""
    told = {word.written: word.tells for word in read_words("It is not the Quokka of 5 dogs")}
    assert told == {"it": False, "is": False, "not": False, "the": False, "quokka": True,
                    "of": False, "5": True, "dogs": True}  # fmt: skip
    assert [word.is_capitalised for word in read_words("It is Rome 5")] == [
        True, False, True, False]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "other", "are_alike"),
    [
        ("product", "production", True),
        ("prod", "produce", False),
        ("abcdefghij", "abcdefg", True),
        ("abcdefghijk", "abcdefg", False),
        ("abcdefg", "abcdefghij", True),
        ("abcde", "abcdefg", True),
        ("abcde", "abcdefgh", False),
        ("abcd", "abcd", False),
        ("abcde", "abcde", True),
        ("abcdxfgh", "abcdefgh", False),
    ],
)
def test_keys_that_begin_alike(key: str, other: str, are_alike: bool) -> None:  # noqa: FBT001
    """At least five letters are shared, and 65 % of the longer key."""
    assert alike(key, other) is are_alike


def test_a_text_certainly_lacks_a_word() -> None:
    """Only for plain words is it certain: numbers, signs and irregular words may be hidden."""
    assert may_hold("studies", ["studi"])
    assert may_hold("RUNNING", ["run"])
    assert not may_hold("a", ["quokka"])
    assert not may_hold("quokka", ["quokka", "zebra"])
    assert may_hold("", [])
    assert may_hold("x", ["#5", "percent", "not"])
