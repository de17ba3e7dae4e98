"""Texts contain passages by their windows of words; overlapping chunks are not confused."""

from __future__ import annotations

import random

import pytest

from fullrecall.observe.words import PassageIndex, words_of

CHARACTERS = "".join(chr(0x4E00 + n) for n in range(40))
WORDS = [f"w{n}" for n in range(60)]


def text(start: int, stop: int) -> str:
    """Return some of the words as a text."""
    return " ".join(WORDS[start:stop])


def index_of(*texts: str) -> PassageIndex:
    """Return an index of passages."""
    index = PassageIndex()
    for each in texts:
        index.add(each)
    assert len(index) == len(texts)
    return index


@pytest.mark.parametrize(
    ("given", "words"),
    [("A b-c, d'e!", ["A", "b", "c", "d", "e"]), ("日本go", ["日", "本", "go"]), ("x_1", ["x_1"]),
     ("", []), ("ไทย", ["ไ", "ท", "ย"]), ("한국 語", ["한국", "語"])],
)  # fmt: skip
def test_words(given: str, words: list[str]) -> None:
    """A character of a script without spaces is a word."""
    assert words_of(given) == words


@pytest.mark.parametrize(
    ("passages", "given", "found"),
    [
        (["one"], "one two", [0]),
        (["one"], "ones two", []),
        (["one two three four five six"], "0 one, two three four five six!", [0]),
        (["one two three four five six"], "one two three four five", []),
        ([""], "anything", []),
        ([text(0, 20)], text(0, 20), [0]),
        ([text(0, 20)], text(0, 6), [0]),  # cut short, and it has nothing else there
        ([text(0, 20)], text(1, 6), []),
        ([text(0, 20)], text(1, 12), [0]),
        ([text(0, 20)], text(14, 20), [0]),
        ([text(0, 20)], text(13, 19), []),
        ([text(0, 24), text(18, 42)], text(0, 24), [0]),
        ([text(0, 24), text(18, 42)], text(18, 42), [1]),
        ([text(0, 24), text(18, 42)], text(0, 42), [0, 1]),
        ([text(0, 24), text(18, 42)], text(18, 24), [0, 1]),
        ([text(0, 24), text(12, 60)], text(12, 24), [0]),  # half of the first, less of the other
        ([text(12, 60), text(0, 24)], text(12, 24), [1]),
        ([text(0, 24), text(12, 36)], text(12, 24), [0, 1]),
        ([text(0, 12), text(0, 6)], text(0, 12), [0, 1]),
        ([text(0, 12), text(0, 6)], text(0, 6), [1]),
        ([text(0, 18)], rf"{text(0, 6)}\n{text(6, 18)}", [0]),
        ([text(0, 18)], text(0, 18).replace(" ", "&nbsp;"), [0]),
        (["日" * 15 + "本"], "x" + "日" * 15 + "本", [0]),
        (["日本語文" * 8], "日本語文" * 3, []),
        ([CHARACTERS], CHARACTERS[:16], [0]),
        ([CHARACTERS], CHARACTERS[:15], []),
    ],
)  # fmt: skip
def test_passages_in_a_text(passages: list[str], given: str, found: list[int]) -> None:
    """A passage is whole, or has a place where no other passage has more of its windows."""
    assert sorted(index_of(*passages).found_in(given)) == found


def test_a_text_is_searched_again_for_new_passages() -> None:
    """With `again=False` the first answer stays."""
    index = index_of(text(0, 6))
    given = f"{text(0, 6)} {text(10, 16)}"
    assert index.found_in(given) == (0,)
    index.add(text(10, 16))
    assert index.found_in(given, again=False) == (0,)
    assert index.found_in(given) == (0, 1)
    assert index.found_in(given, again=False) == (0, 1)
    assert index.found_in(f"{given}!", again=False) == (0, 1)


@pytest.mark.parametrize(
    ("given", "numbers"),
    [(text(0, 12), {0}), (text(0, 11), {0, 1}), (text(24, 36), {1}), (text(40, 52), set()),
     (text(13, 25), {0}), (rf"x\n{text(0, 12)}", {0}), ("日" * 31, {0, 1}), ("日" * 32, set())],
)  # fmt: skip
def test_passages_that_share_a_window(given: str, numbers: set[int]) -> None:
    """A text of two windows shares those that it has; a shorter one may be part of any passage."""
    assert set(index_of(text(0, 24), text(24, 40)).sharing(given)) == numbers


def test_a_text_that_is_whole_in_one_form_is_found() -> None:
    """Another form of the text, in which others explain its few words, does not matter."""
    first, second = (f"All that is known about <d{n}> stands here: " for n in (1, 2))
    first += text(0, 10)
    merged = f"{first} {second}"
    escaped = merged.replace("<", "&lt;").replace(">", "&gt;")
    assert index_of(first, second + text(10, 20), merged).found_in(escaped) == (0, 2)


def test_whole_passages_are_always_found() -> None:
    """In a text of random passages, each is found, and none whose words are elsewhere."""
    draw = random.Random(3)
    for _ in range(30):
        passages = [" ".join(draw.choices("abcdefgh", k=draw.randint(1, 30))) for _ in range(8)]
        chosen = sorted(draw.sample(range(8), 3))
        index = index_of(*passages, "never here at all or anywhere")
        found = set(index.found_in(" ".join(passages[number] for number in chosen)))
        assert found >= set(chosen)
        assert 8 not in found
