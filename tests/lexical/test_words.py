"""The detectors that judges, the check of quotes, falsification and splitting share."""

from __future__ import annotations

import pytest

from fullrecall.lexical.words.names import names
from fullrecall.lexical.words.negations import denials, denied_keys, denies
from fullrecall.lexical.words.numbers import (
    Number,
    excludes,
    may_stand_for,
    months,
    numbers,
    weekdays,
)
from fullrecall.lexical.words.tokens import may_hold, read_words


def only(text: str) -> Number:
    """Return the one number of a text."""
    (number,) = numbers(text)
    return number


@pytest.mark.parametrize(
    ("text", "value", "unit", "sort"),
    [
        ("$1.5 million", 1.5e6, "dollar", "money"),
        ("£3bn", 3e9, "pound sterling", "money"),
        ("twenty-five dogs", 25, "", "count"),
        ("two hundred cats", 200, "", "count"),
        ("one mile", 1, "mile", "length"),
        ("one of nine children", 9, "", "count"),
        ("a 5-mile run", 5, "mile", "length"),
        ("after 30s", 30, "second", "time"),
        ("45%", 45, "percent", "share"),
        ("7 per cent", 7, "percent", "share"),
        ("in 1984", 1984, "", "year"),
        ("1500 people", 1500, "", "count"),
        ("1,000 ships", 1000, "", "count"),
        ("the 3rd man", 3, "", "ordinal"),
        ("the third man", 3, "", "ordinal"),
        ("two thirds of it", 2, "", "count"),
        ("1 third of it", 1, "", "count"),
        ("5 seconds", 5, "second", "time"),
        ("five seconds", 5, "second", "time"),
        ("the second man", 2, "", "ordinal"),
        ("20 °C", 20, "celsius", "temperature"),
        ("at -18 °C", -18, "celsius", "temperature"),
        ("minus 18 degrees Celsius", -18, "celsius", "temperature"),
        ("version 1.2.3", None, "", "code"),
        ("at 10:30", 10.5, "o'clock", "clock"),
        ("at 10:30 p.m. today", 22.5, "clock", "clock"),
        ("at 12:15 am", 0.25, "clock", "clock"),
        ("at 10:30:15", None, "", "code"),
        ("5 years and 3 months old", 5.25, "year", "time"),
        ("half a year", 0.5, "year", "time"),
        ("3 square kilometres", 3, "km2", "area"),
    ],
)
def test_numbers_have_values_units_and_sorts(
    text: str, value: float | None, unit: str, sort: str
) -> None:
    """Scales, number words, units and dates are read by their meaning."""
    number = only(text)
    assert (number.value, number.unit, number.sort) == (value, unit, sort)
    assert text[number.start : number.end] == number.text


@pytest.mark.parametrize(
    "text",
    [
        "He won.[2,4,5] She lost [12].",
        "1. Turn it on.",
        "H2O in 3D",
        "the 1930s",
        "One came late.",
        "one third of it",
        "",
    ],
)
def test_citations_markers_and_pronouns_are_no_numbers(text: str) -> None:
    """Citations, list markers, digits within words, and the pronoun "one" are no numbers."""
    assert numbers(text) == ()


@pytest.mark.parametrize(
    ("claimed", "said", "may"),
    [
        ("1.5 million", "1,500,000", True),
        ("more than 40 people", "45 people", False),
        ("512 miles", "512 metres", False),
        ("five reactors", "5 reactors", True),
        ("1.2.3", "1.2.4", False),
        ("9:15", "21:15", True),
        ("09:15", "21:15", False),
        ("5 pm", "5", True),
    ],
)
def test_which_numbers_may_stand_for_others(claimed: str, said: str, *, may: bool) -> None:
    """Numbers match if they are equal, or rounded to another scale, but never in another unit."""
    assert may_stand_for(only(claimed), [only(said)]) is may
    if not may and only(claimed).sort == only(said).sort:
        assert excludes(only(claimed), only(said))


def test_ranges_are_two_numbers() -> None:
    """A range has two numbers, one for each end."""
    ends = [(number.value, number.unit) for number in numbers("10-15 km")]
    assert ends == [(10, ""), (15, "km")]


def test_months_are_told_from_words() -> None:
    """May and March are months only with a capital, in a date."""
    assert months("In May 2019 it may rain; they march on Sept. 5.") == {"may", "september"}
    assert weekdays("On Tuesdays and on Friday") == {"tuesday", "friday"}


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("It was not built in Rome.", ["plain"]),
        ("He didn't come.", ["plain"]),
        ("He didn’t come, nor did she.", ["plain", "plain"]),
        ("Not only Ann came.", []),
        ("It opened no later than 1990, no doubt.", []),
        ("No. 5 is open.", []),
        ("They asked whether or not it rains.", []),
        ("It is a myth that he won.", ["reported"]),
        ("He failed to win without help.", ["implied", "implied"]),
        ("Ce n'est vrai.", ["plain"]),
        ("他不是老师。", ["plain", "plain"]),
        ("Nothing but noise.", []),
    ],
)
def test_denials(text: str, kinds: list[str]) -> None:
    """Denying words are found with their kinds; phrases that do not deny are exempt."""
    assert [denial.kind for denial in denials(text)] == kinds
    assert denies(text) is ("plain" in kinds)


def test_the_denied_words_end_with_the_clause() -> None:
    """The denied words are the content words after a denial, up to the end of its clause."""
    assert denied_keys("It was not built in Rome, but in Paris.") == {"build", "rom"}
    assert denied_keys("It was built in Paris.") == frozenset()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The Eiffel Tower is in Paris.", ["Eiffel Tower", "Paris"]),
        ("In May Charles Gaulle met J. K. Rowling.", ["Charles Gaulle", "J. K. Rowling"]),
        ("Bridges are long. It runs on AWS.", ["AWS"]),
        ("Kubernetes runs.", ["Kubernetes"]),
        ("When Ann left, I stayed.", ["Ann"]),
    ],
)
def test_names(text: str, found: list[str]) -> None:
    """Names are runs of capitalized words; the first word of a sentence counts if it is rare."""
    assert [name.text for name in names(text)] == found


@pytest.mark.parametrize(
    "piece",
    ["[1,", "1.", "1,1", "not ", "A ", "A. ", "a-", "twenty-", "hundred and ", "[1]", " 1 to 2 ",
     "n't", "not dog ", "not only ", "$", "° ", "de ", "\n1. ", "\n   ", "²", "不"],
)  # fmt: skip
def test_long_text_is_read(piece: str) -> None:
    """Twelve thousand characters of any repeated piece are read in linear time."""
    text = piece * (12_000 // len(piece))
    assert len(numbers(text)) <= len(text)
    assert len(names(text)) <= len(text)
    assert len(denials(text)) <= len(text)
    assert len(denied_keys(text)) <= len(text)
    assert len(months(text)) <= 12


@pytest.mark.parametrize(
    "text",
    [
        "She won; mice ran; studies were denied, boxes tried and planned.",
        "It isn't 45%, $3 or twenty-five pounds, nor the third of 1,000 degrees.",
        "Beyoncé’s ÉTUDES, naïve ﬁnancial straße, e\u0301tude, İstanbul, don’t",
        "東京都 한국어 हिन्दी ёжик x2 3D 2nd o'clock Ⅳ ½",
    ],
)
def test_a_text_may_hold_its_own_words(text: str) -> None:
    """A text may hold each of its own words in any spelling, and not an absent word."""
    keys = {word.key for word in read_words(text)}
    assert may_hold(text, keys)
    assert not may_hold(text, {*keys, "quartz"})
