"""Texts that hold a quote: whole, in pieces of a chunker, or in other words."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from fullrecall.samples.corpus import Document
from fullrecall.testset.alignment import Lookup, difference, grams, letters_of, pieces, within

QUOTE = "".join(random.Random(5).choices("abcdefghijklmnopqrstuvwxyz", k=100))


def cut(*ranges: tuple[int, int] | str) -> list[Document]:
    """Return documents of ranges of the quote, or of other texts; their IDs are numbers."""
    texts = [each if isinstance(each, str) else QUOTE[slice(*each)] for each in ranges]
    return [Document(str(number), text) for number, text in enumerate(texts)]


def ids(documents: Sequence[Document]) -> str:
    """Return the numbers of documents."""
    return "".join(document.id for document in documents)


@pytest.mark.parametrize(
    ("ranges", "chosen"),
    [
        ([(0, 100)], "0"),
        ([(0, 50), (50, 100)], "01"),
        ([(50, 100), (0, 50)], "10"),
        ([(0, 60), (30, 80), (50, 100)], "02"),
        # up to three letters are missing between two pieces, or at an end
        ([(0, 50), (53, 100)], "01"),
        ([(0, 50), (54, 100)], ""),
        ([(3, 100)], "0"),
        ([(4, 100)], ""),
        ([(0, 97)], "0"),
        ([(0, 96)], ""),
        # without a first or last piece, the others must cover 90 %
        ([(0, 10), (10, 100)], "1"),
        ([(0, 11), (11, 100)], "01"),
        ([(0, 90), (90, 100)], "0"),
        ([(0, 89), (89, 100)], "01"),
        ([(0, 10), (10, 20), (20, 100)], "12"),
        ([(0, 8), (8, 92), (92, 100)], "12"),
        ([(0, 80), (80, 92), (92, 100)], "01"),
        # a piece has at least eight letters
        ([(0, 47), (47, 54), (54, 100)], ""),
        ([(0, 46), (46, 54), (54, 100)], "012"),
        # at the end of a text, or at its beginning, but not amid other words
        ([f"1234{QUOTE[:50]}", f"{QUOTE[50:]}1234"], "01"),
        ([(0, 50), f"1234{QUOTE[50:]}1234"], ""),
        ([f"{QUOTE}1234"], ""),
        ([f"1234{QUOTE}"], ""),
        ([], ""),
        (["1234567890"], ""),
    ],
)
def test_pieces_hold_a_quote_together(ranges: list[tuple[int, int] | str], chosen: str) -> None:
    """The fewest texts that hold a quote are chosen, in the quote's order."""
    found = sorted(ids(pieces(letters_of(QUOTE), cut(*ranges), {})))
    assert "".join(found) == "".join(sorted(chosen))


def test_a_short_remainder_is_looked_up() -> None:
    """The remainder of a document may be too short to share a run of words."""
    rest = Document("rest", QUOTE[89:])
    assert ids(pieces(letters_of(QUOTE), cut((0, 89)), {QUOTE[89:]: rest})) == "0rest"
    assert pieces(letters_of(QUOTE), cut((0, 89)), {QUOTE[90:]: rest}) == []
    assert pieces(letters_of(QUOTE), [], {QUOTE: rest}) == []


def test_other_chunks_within_a_quote() -> None:
    """Texts of at least 40 letters that have only letters of the quote are alternatives."""
    near = cut((0, 60), (30, 80), (30, 70), (30, 69), f"{QUOTE[:60]}1234")
    assert ids(within(letters_of(QUOTE), near, near[:1])) == "12"


def words(*numbers: int) -> str:
    """Return words that are their numbers."""
    return " ".join(f"word{number}" for number in numbers)


def test_runs_of_words() -> None:
    """A text has runs of four words; a shorter one is one run."""
    assert len(grams(words(*range(10)))) == 7
    assert grams(words(1, 2)) == {("word1", "word2")}
    assert grams("") == set()


def test_the_nearest_texts_share_the_most_runs() -> None:
    """Texts with the most runs come first, and earlier ones before later ones."""
    lookup = Lookup([words(*range(13)), "alone"])
    texts = [words(*range(5)), words(*range(8)), words(*range(8, 13)), words(50, 51), "so alone"]
    for document in cut(*texts):
        lookup.read(document)
    assert ids(lookup.nearest(0)) == "102"
    assert ids(lookup.nearest(1)) == "4"
    # Texts of fewer than eight words are also found by their letters.
    assert sorted(ids([document]) for document in lookup.short.values()) == list("0234")


@pytest.mark.parametrize(
    ("size", "texts", "chosen", "similarity"),
    [
        # ten runs of four words: four of them resemble, three do not
        (13, [range(7)], "0", 0.4),
        (13, [range(6)], "", 0.0),
        (13, [range(7), range(4, 13)], "10", 1.0),
        # thirty runs: a further text must add two of them
        (33, [range(28), range(25, 30)], "01", 27 / 30),
        (33, [range(28), range(25, 29)], "0", 25 / 30),
        (13, [], "", 0.0),
    ],
)
def test_the_fewest_texts_resemble(
    size: int, texts: list[range], chosen: str, similarity: float
) -> None:
    """A text in other words has 40 % of the runs; a further text must add a fifteenth."""
    lookup = Lookup([words(*range(size))])
    found, share = lookup.resemblance(0, cut(*(words(*text) for text in texts)))
    assert (ids(found), share) == (chosen, pytest.approx(similarity))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("a b c", "a b c", ""),
        ("a b c", "a x c", "'b' → 'x'"),
        ("a b c", "a c", "'b' → 'nothing'"),
        ("a c", "a b c", "'nothing' → 'b'"),
        ("a 1 2 3 4 5 6 7 c", "a c", "'1 2 3 4 5 6' → 'nothing'"),
        ("a c", "a 1 2 3 4 5 6 7 c", "'nothing' → '1 2 3 4 5 6'"),
        ("a b c d", "a x c y", "'b' → 'x'"),
        ("a b " * 150, "c " + "a b " * 150, "'nothing' → 'c'"),
    ],
)
def test_the_first_words_that_differ(old: str, new: str, told: str) -> None:
    """At most six words of each side are shown."""
    assert difference(old, new) == told
