"""Find the numbers of an English text, with their units: 1.5 million dollars, 10-15 km.

Numbers are found in digits and in words ("twenty-five", "two hundred thousand"). Citations such as
[2,4,5], the numbers of list items, and digits within a word (H2O) are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fullrecall._util.caches import remembered
from fullrecall._util.pieces import paused
from fullrecall.lexical.words.data import table

MONTHS = (
    "january february march april may june july august september october november december"
).split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
CALENDAR = frozenset([*MONTHS, *WEEKDAYS])
"""Months and weekdays: capitalized words that are not names."""

MONTH_NUMBERS: Mapping[str, int] = {
    form: number for number, month in enumerate(MONTHS, 1) for form in (month, month[:3])
} | {"sept": 9}
"""The number of each month, by its name and abbreviation in lower case."""
_ALSO_WORDS = frozenset({"may", "march"})  # months only in a date, or after a word such as "in"

_CARDINALS: Mapping[str, int] = table("numbers.json")["cardinals"]
_ORDINALS: Mapping[str, int] = table("numbers.json")["ordinals"]
_SCALES: Mapping[str, float] = table("numbers.json")["scales"]
_TIGHT_SCALES: Mapping[str, float] = table("numbers.json")["tight scales"]  # 5k
_MONEY_SCALES = {**_SCALES, **_TIGHT_SCALES, **table("numbers.json")["money scales"]}
_BEFORE_YEARS = frozenset([*table("numbers.json")["before years"].split(), *MONTHS])
_WORD_END = re.compile(r"(?<=\w\w)\b")
_PLURAL = re.compile(r"(?<=\w\w)s\b")
_UNITS: Mapping[str, tuple[str, str]] = {
    _PLURAL.sub("", form): (unit, sort)
    for sort, units in table("units.json").items()
    for unit, (_, *forms) in units.items()
    for form in forms
}
"""For each form of a unit, in the singular, its canonical name and its sort."""
_FACTORS: Mapping[str, float] = {
    unit: factor or math.nan
    for units in table("units.json").values()
    for unit, (factor, *_) in units.items()
}
"""The factor from each unit to the base unit of its sort: 250 ms are 0.25 seconds.

It is NaN for a unit that cannot be converted. A year has 365 days, and a month is a twelfth of it.
"""


def _any(words: Iterable[str]) -> str:
    """Return a pattern that matches any of `words`; of several that fit, it matches the longest.

    It also matches the plural of words of several letters.
    """
    longest_first = sorted(words, key=len, reverse=True)
    forms = [_WORD_END.sub("s?+", re.escape(word)) for word in longest_first]
    return rf"(?:{'|'.join(forms)})(?![^\W\d_])"


# All repeats are possessive: contexts are untrusted, so no pattern may backtrack on them.
_TOKEN = re.compile(
    r"\[\d{1,3}+(?:\s*+[,;–-]\s*+\d{1,3}+)*+\]"  # a citation
    r"|^[ \t]*+\(?\d{1,3}+[.)](?=\s)"  # the marker of a list item
    r"|(?P<minus>\bminus |(?<![^\s(])[-\u2212])?+(?P<sign>[$€£¥₹]\s*+)?+"
    r"(?P<digits>(?<![\w.,])\d++(?:[.,:/]\d++)*+)"
    r"|(?P<word>[^\W\d_]++(?:['’][^\W\d_]++)*+)"
    r"|[^\w\s]",
    re.MULTILINE,
)
_GROUPED = re.compile(r"\d{1,3}+(?:,\d{3})++(?:\.\d++)?+|\d{1,3}+(?:\.\d{3}){2,}+")
_GAP = r"(?:(?<!\s)[^\S\n]++)?+"  # never tried inside a run of blanks, so that time stays linear
_ORDINAL = re.compile(_any(["st", "nd", "rd", "th"]))
_ONES = re.compile(rf"[-–—]({_any([*_CARDINALS][1:10])})", re.IGNORECASE)
_AN = re.compile(r" an?\b")
_AND_A_HALF = re.compile(r" and a half\b")
_SCALE = re.compile(rf"{_GAP}{_any(_SCALES)}|{_any(_TIGHT_SCALES)}", re.IGNORECASE)
_MONEY_SCALE = re.compile(rf"{_GAP}{_any(_MONEY_SCALES)}", re.IGNORECASE)
# A dash may precede the unit: a 5-mile run.
_UNIT = re.compile(rf"{_GAP}(?:[-–—]{_GAP})?+({_any(_UNITS)})", re.IGNORECASE)
_COUNTED = re.compile(rf"{_GAP}(?:people|men|women|children|(?<![a-z])[a-z]++(?<=s))\b")
_FORMS = [form for month in MONTH_NUMBERS for form in (month.title(), month.upper())]
_MONTH = re.compile(
    rf"\b(?P<month>{'|'.join(_FORMS)})(?![^\W\d_])"  # no plural: Mars 3 was a probe
    rf"(?P<dated>{_GAP}(?:[^\W\d_]++|[^\w\s])?+{_GAP}\d)?+"
)
_LONGEST_BEFORE = 10  # the most characters of the word before a month, with the space
_WEEKDAY = re.compile(rf"\b({'|'.join(WEEKDAYS)})s?\b", re.IGNORECASE)
_TIME = re.compile(
    r"(\d{1,2})(?::([0-5]\d))?+(?:\s?+([ap])(?:m\b|\.\s?m\.)| o['’]clock\b|(?<=:\d\d))",
    re.IGNORECASE,
)
_NOON = 12
_TIMES = {"noon": _NOON, "midnight": 0}
_YEARS = range(1000, 2101)
_TWENTY = 20
_ROUNDED = 0.05  # the relative tolerance between two scales: 1.3 million for 1,312,000


class Number(NamedTuple):
    """A number of a text.

    - `text`, `start`, `end`: as written, with its scale and unit, and its half-open offsets.
    - `value`: the number times its scale, or the hours of a time; None for a version ("1.2.3") or a
      date in digits.
    - `unit`: the canonical name ("km", "dollar", "percent"), or ""; `scale`: the word that
      multiplies the number ("million"), or "".
    - `sort`: "year", "ordinal", "code" (value None), the unit's sort ("length", "money", "time",
      "share" …), else "count". Two numbers can exclude each other only if they have the same sort.
      A time of day is a "clock"; its unit is "o'clock" if it may be in either half of the day.
    """

    text: str
    start: int
    end: int
    value: float | None
    unit: str = ""
    scale: str = ""
    sort: str = "count"

    @property
    def in_digits(self) -> bool:
        """Whether the number is written in digits, not in words."""
        return any(map(str.isdecimal, self.text))


@remembered(400_000)
def numbers(text: str) -> tuple[Number, ...]:
    """Return the numbers of a text, in order."""
    found: list[Number] = []
    before = ""
    for token in paused(_TOKEN.finditer(text)):
        number = None
        if token.lastgroup and not (found and token.start() < found[-1].end):
            number = _in_digits(token, before) if token["digits"] else _in_words(token, before)
        before = token[0].lower()
        if number is None:
            continue
        joined = _sum(found[-1], number, text) if found else None
        if joined:
            found[-1] = joined
        else:
            found.append(number)
    return tuple(found)


def may_stand_for(claimed: Number, stated: Iterable[Number]) -> bool:
    """Return whether one of the stated numbers may mean the claimed number.

    It must be equal, or within 5% if it is rounded to another scale. Numbers with different units
    of one sort must be equal amounts.
    """
    return any(_may_be(claimed, other) for other in stated)


def is_equal(number: Number, other: Number) -> bool:
    """Return whether two numbers are the same quantity: 10 km equals 10,000 m, but not 10."""
    if number.value is None or other.value is None:
        return False
    if number.sort == other.sort == "clock":
        return _is_same_time(number, other)
    if number.unit != other.unit:
        factor, other_factor = (_FACTORS.get(each.unit, math.nan) for each in (number, other))
        is_close = math.isclose(number.value * factor, other.value * other_factor)
        return is_close and number.sort == other.sort
    # A year may be written like a count.
    may_differ = number.unit == "" and "ordinal" not in (number.sort, other.sort)
    is_same_sort = may_differ or number.sort == other.sort
    return is_same_sort and math.isclose(number.value, other.value)


def excludes(claimed: Number, stated: Number) -> bool:
    """Return whether two numbers of the same sort cannot mean the same quantity.

    Equal amounts in different units, and a number rounded to another scale, can mean the same.
    """
    return claimed.sort == stated.sort and not _may_be(claimed, stated)


@remembered(400_000)
def months(text: str) -> frozenset[str]:
    """Return the months that a text names, as full names in lower case.

    A month in the text has a capital. Abbreviations ("Jan") count only in a date. "May" and "March"
    count in a date, or after a word such as "in".
    """
    named = set()
    for match in paused(_MONTH.finditer(text)):
        month = match["month"].lower()
        beside = text[max(0, match.start() - _LONGEST_BEFORE) : match.start()].lower().split()
        before = beside[-1] if beside else ""
        is_sure = month in MONTHS and (before in _BEFORE_YEARS or month not in _ALSO_WORDS)
        if match["dated"] or before.isdigit() or is_sure:
            named.add(MONTHS[MONTH_NUMBERS[month] - 1])
    return frozenset(named)


@remembered(400_000)
def weekdays(text: str) -> frozenset[str]:
    """Return the weekdays that a text names, in lower case."""
    return frozenset(day.lower() for day in _WEEKDAY.findall(text))


def _may_be(claimed: Number, stated: Number) -> bool:
    if claimed.value is None or stated.value is None:
        return claimed.text.casefold() == stated.text.casefold()
    # "From 9 to 5" may mean 9:00 and 17:00.
    if "clock" in (sorts := {claimed.sort, stated.sort}) and sorts <= {"clock", "count"}:
        return _is_same_time(claimed, stated)
    if claimed.unit != stated.unit and claimed.sort == stated.sort and claimed.unit and stated.unit:
        return is_equal(claimed, stated)
    near = _ROUNDED if claimed.scale != stated.scale else 0.0
    return math.isclose(claimed.value, stated.value, rel_tol=near)


def _is_same_time(time: Number, other: Number) -> bool:
    """Return whether two times are the same, or 12 hours apart if one has no "am" or "pm"."""
    minutes = round(60 * ((time.value or 0.0) - (other.value or 0.0)))
    is_sure = time.unit == other.unit == "clock"
    return minutes % (60 * (2 * _NOON if is_sure else _NOON)) == 0


def _sum(number: Number, part: Number, text: str) -> Number | None:
    """Return the sum of two numbers that are one amount ("2 hours and 30 minutes"), else None."""
    share = _FACTORS.get(part.unit, math.nan) / _FACTORS.get(number.unit, math.nan)
    gap = text[number.end : part.start]
    if number.sort != part.sort or gap not in (" ", " and ") or not share < 1:
        return None
    value = (number.value or 0.0) + (part.value or 0.0) * share
    return number._replace(text=text[number.start : part.end], end=part.end, value=value)


def _in_digits(token: re.Match[str], before: str) -> Number | None:
    start, end = token.span("digits")
    time = _TIME.match(token.string, start)
    if time and time.end() >= end:
        return _time(time)
    value = value_of(token["digits"])
    if value is None:
        return Number(token["digits"], start, end, None, sort="code")
    value = -value if token["minus"] else value
    ordinal = _ORDINAL.match(token.string, end)
    if ordinal:
        return _measured(token, ordinal.end(), value, sort="ordinal")
    number = _measured(token, end, value, before)
    tight = token.string[end : end + 1]
    is_decade = tight == "s" and value in _YEARS
    return None if is_decade or (tight.isalpha() and number.end == end) else number  # 1930s, 3D


def _time(time: re.Match[str]) -> Number:
    hour, minutes, half = int(time[1]), int(time[2] or 0), (time[3] or "").lower()
    is_sure = half or hour > _NOON or time[1][0] == "0"
    if half:
        hour = hour % _NOON + _NOON * (half == "p")
    unit = "clock" if is_sure else "o'clock"
    return Number(time[0], *time.span(), hour + minutes / 60, unit, sort="clock")


def _in_words(token: re.Match[str], before: str) -> Number | None:
    """Return the number, written in words, that begins at a token; None if no number does.

    "Twenty-five" is one number. Longer numbers ("two hundred and five") are read as two numbers; 20
    of 4,911 texts have one. "A million" is not read; it affected none of 9,620 quotes.
    """
    word, end = token[0].lower(), token.end()
    if word in _ORDINALS and not (before.isdigit() or before in _CARDINALS):  # not "two thirds"
        return _measured(token, end, _ORDINALS[word], sort="ordinal")
    if word in _TIMES:
        return Number(token[0], *token.span(), _TIMES[word], "clock", sort="clock")
    if word == "half" and (article := _AN.match(token.string, end)):
        number = _measured(token, article.end(), 0.5)
        return number if number.unit else None
    if word not in _CARDINALS:
        return None
    value = float(_CARDINALS[word])
    ones = _ONES.match(token.string, end) if value >= _TWENTY else None
    if ones:
        value, end = value + _CARDINALS[ones[1].lower()], ones.end()
    number = _measured(token, end, value)
    # "One" alone is more often a pronoun than a number.
    return None if word == "one" and not (number.unit or number.scale) else number


def _measured(
    token: re.Match[str], end: int, value: float, before: str = "", *, sort: str = ""
) -> Number:
    """Return a number with its scale and unit; `before` is the word before it."""
    text, sign, unit = token.string, (token["sign"] or "").strip(), ""
    half = _AND_A_HALF.match(text, end)
    if half:
        value, end = value + 0.5, half.end()
    scaled = None if sort else (_MONEY_SCALE if sign else _SCALE).match(text, end)
    scale = _PLURAL.sub("", scaled[0].strip().lower()) if scaled else ""
    end = scaled.end() if scaled else end
    measured = None if sign else _UNIT.match(text, end)
    named = _unit(measured[1] if measured else sign)
    if named:
        unit, sort = named[0], sort or named[1]
        end = measured.end() if measured else end
    elif not sort:
        sort = "year" if _is_year(token, end, before) and not scale else "count"
    value *= _MONEY_SCALES.get(scale, 1)
    return Number(text[token.start() : end], token.start(), end, value, unit, scale, sort)


def _unit(phrase: str) -> tuple[str, str] | None:
    """Return a unit's canonical name and its sort, or None."""
    # The case of a single letter matters: 60 W, 5 s.
    return _UNITS.get(phrase if len(phrase) == 1 else _PLURAL.sub("", phrase.lower()))


def _is_year(token: re.Match[str], end: int, before: str) -> bool:
    written = token["digits"] or ""
    if len(written) != 4 or not written.isdigit() or int(written) not in _YEARS:  # noqa: PLR2004
        return False
    return before in _BEFORE_YEARS or not _COUNTED.match(token.string, end)


def value_of(written: str) -> float | None:
    """Parse a number in digits; return None for a version, a date or a time."""
    if _GROUPED.fullmatch(written):
        separator = "." if written.count(".") > 1 else ","
        return float(written.replace(separator, ""))
    if ":" in written or "/" in written:
        return None
    decimal = written.replace(",", ".")
    return float(decimal) if decimal.count(".") <= 1 else None
