"""The numbers of a text: how each form is read, and which numbers may mean each other."""

from __future__ import annotations

import pytest

from fullrecall.lexical.words.numbers import (
    Number,
    excludes,
    is_equal,
    may_stand_for,
    months,
    numbers,
    value_of,
    weekdays,
)

READ = {
    # signs and separators
    "-5 km": ["-5 km = -5 km length"],
    "(-5)": ["-5 = -5 count"],
    "x -5": ["-5 = -5 count"],
    "a-5": ["5 = 5 count"],
    "minus 5": ["minus 5 = -5 count"],
    "5-10": ["5 = 5 count", "10 = 10 count"],
    "1,000": ["1,000 = 1000 count"],
    "1.000": ["1.000 = 1 count"],
    "1.000.000": ["1.000.000 = 1e+06 count"],
    "1,5": ["1,5 = 1.5 count"],
    "in 1,889": ["1,889 = 1889 count"],
    "1.2.3": ["1.2.3 = none code"],
    "2,4,5": ["2,4,5 = none code"],
    "3/4": ["3/4 = none code"],
    "2024-05-03": ["2024 = 2024 year", "05 = 5 count", "03 = 3 count"],
    # money and scales
    "1.5 million dollars": ["1.5 million dollars = 1.5e+06 dollar million money"],
    "5 millions": ["5 millions = 5e+06 million count"],
    "5 dozen": ["5 dozen = 60 dozen count"],
    "two hundred": ["two hundred = 200 hundred count"],
    "5k": ["5k = 5000 k count"],
    "5 k": ["5 = 5 count"],
    "5 m": ["5 m = 5 m length"],
    "$5k": ["$5k = 5000 dollar k money"],
    "$5 m": ["$5 m = 5e+06 dollar m money"],
    "$ 3 bn": ["$ 3 bn = 3e+09 dollar bn money"],
    "-$5": ["-$5 = -5 dollar money"],
    "€5 million": ["€5 million = 5e+06 euro million money"],
    "one million": ["one million = 1e+06 million count"],
    # words
    "zero": ["zero = 0 count"],
    "twenty-five": ["twenty-five = 25 count"],
    "fifty-one km": ["fifty-one km = 51 km length"],
    "twenty-ten": ["twenty = 20 count", "ten = 10 count"],
    "ten-two": ["ten = 10 count", "two = 2 count"],
    "one": [],
    "one hour": ["one hour = 1 hour time"],
    "One in 5": ["5 = 5 count"],
    "one third": [],
    "2 third": ["2 = 2 count"],
    "two thirds": ["two = 2 count"],
    "2 thirds": ["2 = 2 count"],
    "the third": ["third = 3 ordinal"],
    "21st": ["21st = 21 ordinal"],
    "3rd hours": ["3rd hours = 3 hour ordinal"],
    "half an hour": ["half an hour = 0.5 hour time"],
    "half a dog": [],
    "two and a half hours": ["two and a half hours = 2.5 hour time"],
    "2 and a half million": ["2 and a half million = 2.5e+06 million count"],
    "5 and a half": ["5 and a half = 5.5 count"],
    # units
    "60 W": ["60 W = 60 w power"],
    "60 w": ["60 = 60 count"],
    "5s": ["5s = 5 second time"],
    "5 s": ["5 s = 5 second time"],
    "5 S": ["5 = 5 count"],
    "10 gb": ["10 gb = 10 gb data"],
    "5-mile run": ["5-mile = 5 mile length"],
    "5 - mile": ["5 - mile = 5 mile length"],
    "3D": [],
    "3 D": ["3 = 3 count"],
    "H2O": [],
    "10 percent": ["10 percent = 10 percent share"],
    # years and decades
    "in 1889": ["1889 = 1889 year"],
    "1889 people": ["1889 = 1889 count"],
    "in 1889 people": ["1889 = 1889 year"],
    "May 1889 dogs": ["1889 = 1889 year"],
    "1889 Cats": ["1889 = 1889 year"],
    "1889 km": ["1889 km = 1889 km length"],
    "999": ["999 = 999 count"],
    "1000": ["1000 = 1000 year"],
    "2100": ["2100 = 2100 year"],
    "2101": ["2101 = 2101 count"],
    "12345": ["12345 = 12345 count"],
    "1889.5": ["1889.5 = 1889.5 count"],
    "the 1930s": [],
    "900s": ["900s = 900 second time"],
    # times of day
    "9:30": ["9:30 = 9.5 o'clock clock"],
    "09:30": ["09:30 = 9.5 clock clock"],
    "9:30 pm": ["9:30 pm = 21.5 clock clock"],
    "12:30 am": ["12:30 am = 0.5 clock clock"],
    "12 am": ["12 am = 0 clock clock"],
    "12 pm": ["12 pm = 12 clock clock"],
    "9 o'clock": ["9 o'clock = 9 o'clock clock"],
    "9 a.m.": ["9 a.m. = 9 clock clock"],
    "12:00": ["12:00 = 12 o'clock clock"],
    "13:00": ["13:00 = 13 clock clock"],
    "0:30": ["0:30 = 0.5 clock clock"],
    "9:75": ["9:75 = none code"],
    "noon": ["noon = 12 clock clock"],
    "midnight": ["midnight = 0 clock clock"],
    "three o’clock": ["three = 3 count"],
    # sums of one sort
    "2 hours and 30 minutes": ["2 hours and 30 minutes = 2.5 hour time"],
    "2 hours 30 minutes 15 seconds": ["2 hours 30 minutes 15 seconds = 2.50417 hour time"],
    "2 hours, 30 minutes": ["2 hours = 2 hour time", "30 minutes = 30 minute time"],
    "30 minutes and 2 hours": ["30 minutes = 30 minute time", "2 hours = 2 hour time"],
    "2 hours and 5 dogs": ["2 hours = 2 hour time", "5 = 5 count"],
    "1 km and 200 m": ["1 km and 200 m = 1.2 km length"],
    "5% and 10%": ["5% = 5 percent share", "10% = 10 percent share"],
    "5 kg and 5 kg": ["5 kg = 5 kg mass", "5 kg = 5 kg mass"],
    # citations and list items
    "[2,4]": [],
    "1. Five": ["Five = 5 count"],
    "(2) Six": ["Six = 6 count"],
}


PAIRS = {
    # equal: the same quantity; may: the first may mean the second; excludes: one sort, and neither
    ("10 km", "10,000 m"): "equal may",
    ("10 km", "10"): "may",
    ("10", "10 km"): "may",
    ("10", "ten"): "equal may",
    ("10", "10th"): "may",
    ("10th", "10"): "may",
    ("10th", "tenth"): "equal may",
    ("in 1889", "1889 dogs"): "equal may",
    ("5 km", "5 kg"): "may",
    ("10 m", "10 km"): "excludes",
    ("9 am", "9 pm"): "excludes",
    ("9 o'clock", "9 pm"): "equal may",
    ("9:00", "21:00"): "equal may",
    ("9 am", "9:00"): "equal may",
    ("9 o'clock", "9"): "may",
    ("9", "5 pm"): "",
    ("5", "17:00"): "may",
    ("noon", "12 am"): "excludes",
    ("24 hours", "1 day"): "equal may",
    ("$5", "€5"): "excludes",
    ("$5", "5 dollars"): "equal may",
    ("1.2.3", "1.2.3"): "may",
    ("1.2.3", "1.2.4"): "excludes",
    ("1.2.3", "5"): "",
    ("5", "1.2.3"): "",
    ("1.3 million", "1,312,000"): "may",
    ("1 million", "1,050,000"): "may",
    ("1 million", "1,060,000"): "excludes",
    ("1,000,000", "1,000,001"): "excludes",
    ("5 million", "5 billion"): "excludes",
    ("250 ms", "0.25 seconds"): "equal may",
    ("20 °C", "68 °F"): "excludes",
    ("3 km", "4 km"): "excludes",
    ("3 km", "4 kg"): "",
    ("3", "4"): "excludes",
    ("3", "4 km"): "",
    ("3 km", "3"): "may",
    ("1 year", "12 months"): "equal may",
    ("9:30", "9:31"): "excludes",
    ("9 pm", "9 o'clock"): "equal may",
    ("-5", "5"): "excludes",
    ("00:00", "24:00"): "equal may",
    ("5:00 am", "5:00 pm"): "excludes",
}

MONTHS = {
    "may": "in May|MAY 5|May 5|5 May|May, 5|since May|spring May|May x 5|long before May",
    "march": "late March|March 5|in March",
    "january": "Jan 5|5 Jan|JAN 5|January",
    "september": "Sept. 5|September|Sep 5",
    "june": "June",
    "": "may|5 may|may 5|march 5|March on|He may go|Jan|jan 5|june|in the 5th May|Maybe 5|5. May"
    "|May x y 5|May\n5|of may|in may|Mars 3|5 Mays",
}


def described(number: Number) -> str:
    """Return a number as "text = value unit scale sort", without what it lacks."""
    value = "none" if number.value is None else f"{number.value:g}"
    fields = (number.text, "=", value, number.unit, number.scale, number.sort)
    return " ".join(filter(None, fields))


@pytest.mark.parametrize("text", READ)
def test_a_form_is_read(text: str) -> None:
    """Signs, scales, words, units, years, times of day, sums; no citations, no list markers."""
    assert [described(number) for number in numbers(text)] == READ[text]
    assert all(text[each.start : each.end] == each.text for each in numbers(text))


def test_numbers_are_in_digits_or_words() -> None:
    """Digits before a unit count; a number in words has none."""
    assert [each.in_digits for each in numbers("5 km, ten km and 3rd")] == [True, False, True]


@pytest.mark.parametrize("pair", PAIRS)
def test_two_numbers_are_compared(pair: tuple[str, str]) -> None:
    """Equal amounts, rounded ones, times that may be in either half of the day, other units."""
    (claimed,), (stated,) = map(numbers, pair)
    holds = {
        "equal": is_equal(claimed, stated),
        "may": may_stand_for(claimed, [stated]),
        "excludes": excludes(claimed, stated),
    }
    assert " ".join(name for name, is_so in holds.items() if is_so) == PAIRS[pair]


@pytest.mark.parametrize("month", MONTHS)
def test_a_month_is_told_from_a_word(month: str) -> None:
    """May and March need a capital, and a date or "in" before them; a plural is no month."""
    for text in MONTHS[month].split("|"):
        assert months(text) == ({month} if month else set()), text


def test_weekdays_and_values() -> None:
    """Weekdays are whole words in any case; groups of digits have one kind of separator."""
    assert weekdays("On Mondays and FRIDAY, mon, Sundayish") == {"monday", "friday"}
    values = {"1,000": 1000, "1.000": 1, "1.000.000": 1e6, "1,000.5": 1000.5, "1,5": 1.5,
              "1,00": 1, "1.2.3": None, "1,2,3": None, "1:2": None, "1/2": None}  # fmt: skip
    assert {text: value_of(text) for text in values} == values
