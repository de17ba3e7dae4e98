"""A quote is compared with its claim: each rule refuses some quotes and lets others pass."""

from __future__ import annotations

import pytest

from fullrecall.judge.evidence import Location, locate_parts
from fullrecall.lexical.quote_rules import objection


def refused(claim: str, quote: str, context: str = "", *beside: str) -> str:
    """Return why a quote, alone or in a context, does not bear on a claim; empty if it does."""
    context = context or quote
    parts = locate_parts(quote, context)
    assert parts
    return objection(claim, context, parts, "claim", beside)


@pytest.mark.parametrize(
    ("claim", "quote", "reason"),
    [
        ("The bridge is 512 miles long.", "The bridge is 512 km long.", "another number"),
        ("The fund holds 5 million dollars.", "The fund holds 5 billion dollars.",
         "another number"),
        ("The mill has 12 floors.", "The mill has 9 floors in all.", "another number"),
        ("The mill closed before the war.", "The mill closed after the war.", "the opposite"),
        ("Ann was mayor until 1950.", "Ann was mayor since 1950.", "the opposite"),
        ("The price of grain rose in Lund.", "The price of grain fell in Lund.", "the opposite"),
        ("The mill failed to burn in Lund.", "The mill burned in Lund.", "denies nothing"),
        ("It is a myth that the mill burned.", "The mill burned in Lund.", "denies nothing"),
        ("The mill opened in 1931.", "The mill opened in 1913.", "another number"),
        ("The mill of Lund burned.", "It is a myth that the mill of Lund burned.", "denies what"),
        ("The mill of Lund burned.", "That the mill of Lund burned is false.", "denies what"),
        ("The mill of Lund opened in May 1931.", "The mill of Lund opened in June 1931.",
         "another month"),
        ("Ann Lee defeated Bo Holst in Lund.", "Bo Holst defeated Ann Lee in Lund.",
         "other roles"),
        ("Only members may enter the mill.", "Members may enter the mill.", "the only one"),
        ("The mill was sold to Lund.", "The mill was not sold to Lund.", "denies what"),
        ("The mill was not sold to Lund.", "The mill was sold to Lund.", "denies nothing"),
        ("The mill of Lund has 40 rooms.", "The mill of Lund stands by 15 old oaks.",
         "another number"),
        ("Ann Lee sold the mill.", "Bo Holst sold the mill.", "another name in its place"),
        ("The mill was built for Ann Lee.", "The mill was built for Bo Holst.",
         "another name in its place"),
        ("Ann Lee sold the mill.", "Bo Holst bought and sold the mill.", "another person"),
        ("The mill has a red roof.", "The mill has a blue roof.", "another word in its place"),
        ("The mill has a red roof.", "The mill has a slate floor.", "about something else"),
        ("The mill opened on Monday.", "The mill opened on Friday.", "another word"),
        ("Das Haus hat 12 Zimmer in Berlin.", "Das Haus hat 14 Zimmer in Berlin.",
         "another number"),
        ("Das Haus wurde in Berlin gebaut.", "Das Haus wurde nicht in Berlin gebaut.",
         "denies what"),
        ("The tower opened in May in Lund.", "of the", "says nothing"),
        ("The tower opened in May in Lund.", "Dogs are welcome", "shares no word"),
    ],
)  # fmt: skip
def test_what_contradicts_is_refused(claim: str, quote: str, reason: str) -> None:
    """Each of the ten rules refuses a contradicting quote, and tells the model why."""
    assert reason in refused(claim, quote)


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("The bridge is 512 km long.", "The bridge is 512 kilometers long."),
        ("The fund holds 5 million dollars.", "The fund holds $5,000,000."),
        ("The mill has twelve floors.", "The mill has 12 floors."),
        ("The mill was never sold to Lund.", "The mill was not sold to Lund."),
        ("The mill of Lund stayed open.", "The mill of Lund was not closed."),
        ("Only members may enter the mill.", "Entry to the mill is for members alone."),
        ("Bo Holst was defeated by Ann Lee.", "Ann Lee defeated Bo Holst in Lund."),
        ("The mill of Lund is old.", "The mill of Lund is not only old but large."),
        ("Das Haus hat 12 Zimmer.", "Das Haus hat 12 Zimmer und nicht mehr."),
        # Another name replaces the claim's only beside the same two words.
        ("The old mill by Lund burned.", "The old mill burned, and the people fled to Bergen."),
        ("So Ann Lee sold the mill.", "So Bo Holst at last sold the mill."),
        ("THE MILL OF LUND OPENED IN 1931.", "**The mill** of Lund opened in 1931."),
    ],
)
def test_what_says_the_same_otherwise_passes(claim: str, quote: str) -> None:
    """A quote passes with other units, number words, a denied opposite, or another voice."""
    assert refused(claim, quote) == ""


def test_numbers_near_the_quote_count() -> None:
    """Numbers may come from the sentence before, the first sentence, or other quotes."""
    claim = "The mill of Lund has 40 rooms and 15 oaks."
    assert refused(claim, "The mill of Lund stands by 15 oaks.")
    first = "The mill of Lund has 40 rooms. "
    assert not refused(
        claim, "It stands by 15 oaks of Lund.", first + "It stands by 15 oaks of Lund."
    )
    assert not refused(claim, "The mill of Lund stands by 15 oaks.", "", first)


@pytest.mark.parametrize(
    ("claim", "is_other"),
    [
        ("The red mill of Lund by the wide river has a tall roof and walls.", True),
        ("The red mill of Lund by the wide river has a tall roof and thick walls.", False),
    ],
)
def test_one_other_word_decides_in_a_short_claim(claim: str, *, is_other: bool) -> None:
    """One word in another's place is refused in claims of up to fifteen words."""
    assert ("another word" in refused(claim, claim.replace("red", "blue"))) == is_other


@pytest.mark.parametrize(
    ("context", "quote", "is_other"),
    [
        # The whole sentence of the quote counts, from its beginning to its end.
        ("River. The tower is, at 20 m, high.", "The tower is", True),
        ("River. Though 20 m, the tower is high. So.", "tower is high.", True),
        # The sentences beside it do not contradict it.
        ("River. The mill is 20 m high. The tower is high.", "The tower is high.", False),
        ("River. The tower is high. The mill is 20 m high.", "The tower is high.", False),
        # The number may be in the sentence before or in the first one, and in no other one.
        ("River. It was 330 m. Now the tower is 20 m.", "the tower is 20 m.", False),
        ("It is 330 m. River. Mill. Now the tower is 20 m.", "the tower is 20 m.", False),
        ("River. It was 330 m. Mill. Now the tower is 20 m.", "the tower is 20 m.", True),
        ("River. Now the tower is 20 m. It was 330 m.", "the tower is 20 m.", True),
    ],
)
def test_which_sentences_of_the_context_count(context: str, quote: str, *, is_other: bool) -> None:
    """A quote is read with its whole sentence; the sentence before and the first one add to it."""
    found = refused("The tower is 330 m high.", quote, context)
    assert ("has another number" in found) == is_other


def test_half_a_sentence_is_read_as_the_whole() -> None:
    """A quote that begins after a "not" is read with it."""
    context = "Rain fell. The mill was not sold to Lund. It burned."
    assert "denies what" in refused("The mill was sold to Lund.", "sold to Lund", context)


@pytest.mark.parametrize(
    "unit",
    ["not ", "12 km ", "Ann Lee beat Bo Holst ", "before after ", "1,2 ", "increase decrease ",
     "It is false that ", "a", " ", ".", "[1] ", "May 3 ", "only ", "5 million ", "((", "word, "],
)  # fmt: skip
def test_comparing_is_bounded(unit: str) -> None:
    """Any claim and context of 60,000 characters are compared in bounded time."""
    context = unit * (60_000 // len(unit))
    claim = f"Ann Lee beat Bo Holst 12 km before May 3, not only 5 million. {context}"
    objection(claim, context, [Location(100, 40_000)])


@pytest.mark.parametrize("quote", ["x" + " " * 39_000 + "y", "1" * 39_000, "\u2026 " * 19_000])
def test_looking_up_a_long_quote_is_linear(quote: str) -> None:
    """Locating a quote takes time linear in its length; 39,000 spaces once took 23 seconds."""
    locate_parts(quote, "x y " + "1" * 60_000)
    assert locate_parts(quote, quote * 2) is not None
