"""Find the numbers of an English text, with their units: 1.5 million dollars, 10-15 km.

Numbers are found in digits and in words ("twenty-five", "two hundred thousand"). Citations such as
[2,4,5], the numbers of list items, and digits within a word (H2O) are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from fullrecall._util.caches import remembered
from fullrecall._util.pieces import paused
from fullrecall.lexical.words.data import table

MONTHS = (
    "january february march april may june july august september october november december"
).split()
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
CALENDAR = frozenset([*MONTHS, *WEEKDAYS])
"""Months and weekdays: written with a capital, but not names."""

MONTH_NUMBERS: Mapping[str, int] = {
    form: number for number, month in enumerate(MONTHS, 1) for form in (month, month[:3])
} | {"sept": 9}
"""The number of each month, by its name and abbreviation in lower case."""
_ALSO_WORDS = frozenset({"may", "march"})  # as months only with a capital, in a date or after "in"

_CARDINALS: Mapping[str, int] = table("numbers.json")["cardinals"]
_ORDINALS: Mapping[str, int] = table("numbers.json")["ordinals"]
_SCALES: Mapping[str, float] = table("numbers.json")["scales"]
_MONEY_SCALES: Mapping[str, float] = _SCALES | table("numbers.json")["money scales"]
_BEFORE_YEARS = frozenset([*table("numbers.json")["before years"].split(), *MONTHS])
_CURRENCIES = frozenset("$€£¥₹")
_PLURAL = re.compile(r"(?<=\w\w)s\b")
_UNITS: Mapping[str, tuple[str, str]] = {
    _PLURAL.sub("", form): (unit, sort)
    for sort, units in table("units.json").items()
    for unit, (_, *forms) in units.items()
    for form in forms
}
"""For each form of a unit in the singular, its canonical name and its sort."""
_FACTORS: Mapping[str, float] = {
    unit: factor or math.nan
    for units in table("units.json").values()
    for unit, (factor, *_) in units.items()
}
"""The factor from each unit to the base unit of its sort, if it has one: 250 ms are 0.25 seconds.

A year has 365 days, and a month is a twelfth of it."""
_LONGEST_UNIT = 3  # tokens, as in "miles per hour"

# All repeats are possessive: contexts are untrusted, so no pattern may backtrack over them.
_TOKEN = re.compile(
    r"(?P<citation>\[\d{1,3}+(?:\s*+[,;–-]\s*+\d{1,3}+)*+\])"
    r"|(?P<digits>(?<![\w.,])\d++(?:[.,:/]\d++)*+)"
    r"|(?P<word>[^\W\d_]++(?:['’][^\W\d_]++)*+[²³]?+)"
    r"|(?P<sign>[$€£¥₹%°])"
    r"|(?P<dash>[-–—])"
    r"|(?P<other>[\S\n])"
)
_MARKER = re.compile(r"(?:^|(?<=\n))[ \t]*+\(?\d{1,3}+[.)](?=\s)")
_GROUPED = re.compile(r"\d{1,3}+(?:,\d{3})++(?:\.\d++)?+|\d{1,3}+(?:\.\d{3}){2,}+")
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
    - `unit`: canonical ("km", "dollar", "percent"), "" without one; `scale`: the word that
      multiplied the number ("million"), "" without one.
    - `sort`: "year", "ordinal", "code" (value None), the unit's sort ("length", "money", "time",
      "share" …), else "count". Two numbers can exclude each other only if their sort is the same.
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


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        return self.text.lower()


_NOTHING = _Token("", "", -1, -1)


@remembered(400_000)
def numbers(text: str) -> tuple[Number, ...]:
    """Return the numbers of a text, in order."""
    return tuple(_NumberReader(text).numbers())


def may_stand_for(claimed: Number, stated: Iterable[Number]) -> bool:
    """Return whether one of the stated numbers may mean the claimed number.

    It must be equal, or within 5% if it is rounded to another scale. Numbers with different units
    of one sort must be equal amounts.
    """
    return any(_may_be(claimed, other) for other in stated)


def is_equal(number: Number, other: Number) -> bool:
    """Return whether two numbers are the same quantity: 10 km and 10,000 m, but not 10."""
    if number.value is None or other.value is None:
        return False
    if number.sort == other.sort == "clock":
        return _is_same_time(number, other)
    factors = [1.0, 1.0]
    if number.unit != other.unit:
        factors = [_FACTORS.get(each.unit, math.nan) for each in (number, other)]
    is_ordinal = "ordinal" in (number.sort, other.sort)
    # A year is a number that is written like a count.
    may_differ = number.unit == other.unit == "" and not is_ordinal
    if number.sort != other.sort and not may_differ:
        return False
    return math.isclose(number.value * factors[0], other.value * factors[1])


def excludes(claimed: Number, stated: Number) -> bool:
    """Return whether two numbers have the same sort, but differ in value or unit."""
    return claimed.sort == stated.sort and not _may_be(claimed, stated)


@remembered(400_000)
def months(text: str) -> frozenset[str]:
    """Return the months that a text names, in lower case; "may" needs a capital, and a date."""
    tokens = _tokens(text)
    named = set()
    for at, token in enumerate(paused(tokens)):
        number = MONTH_NUMBERS.get(token.lower)
        if not number or not token.text[0].isupper():
            continue
        around = [*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 3]]
        is_dated = any(other.kind == "digits" for other in around)
        is_led = at > 0 and tokens[at - 1].lower in _BEFORE_YEARS
        if is_dated or (token.lower in MONTHS and (is_led or token.lower not in _ALSO_WORDS)):
            named.add(MONTHS[number - 1])
    return frozenset(named)


@remembered(400_000)
def weekdays(text: str) -> frozenset[str]:
    """Return the weekdays that a text names, in lower case."""
    words = {token.lower.removesuffix("s") for token in _tokens(text) if token.kind == "word"}
    return frozenset(words.intersection(WEEKDAYS))


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


def _unit(phrase: str) -> tuple[str, str] | None:
    # The case of a single letter counts: 60 W, 5 s.
    return _UNITS.get(phrase if len(phrase) == 1 else _PLURAL.sub("", phrase.lower()))


@remembered(200_000)
def _tokens(text: str) -> tuple[_Token, ...]:
    markers = {match.end() for match in _MARKER.finditer(text)}
    tokens: list[_Token] = []
    for match in paused(_TOKEN.finditer(text)):
        kind = match.lastgroup or "other"
        if kind == "digits" and match.end() + 1 in markers:
            kind = "other"
        tokens.append(_Token(kind, match[0], match.start(), match.end()))
    return tuple(tokens)


class _NumberReader:
    """Reads the numbers from the tokens of a text, in order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)

    def numbers(self) -> Iterator[Number]:
        last: Number | None = None
        for at, token in enumerate(paused(self._tokens)):
            if token.kind not in ("digits", "word") or (last and token.start < last.end):
                continue
            number = self._in_digits(at) if token.kind == "digits" else self._in_words(at)
            if number is None:
                continue
            joined = self._sum(last, number)
            if last and not joined:
                yield last
            last = joined or number
        if last:
            yield last

    def _sum(self, number: Number | None, part: Number | None) -> Number | None:
        """Return two numbers that are one amount (2 hours and 30 minutes) as one, or None."""
        if number is None or part is None or number.sort != part.sort:
            return None
        share = _FACTORS.get(part.unit, math.nan) / _FACTORS.get(number.unit, math.nan)
        if self._text[number.end : part.start] not in (" ", " and ") or not share < 1:
            return None
        value = (number.value or 0.0) + (part.value or 0.0) * share
        return number._replace(text=self._text[number.start : part.end], end=part.end, value=value)

    def _in_digits(self, at: int) -> Number | None:
        token = self._tokens[at]
        time = _TIME.match(self._text, token.start)
        if time and time.end() >= token.end:
            return self._time(time)
        value = value_of(token.text)
        if value is None:
            return Number(*token[1:], None, sort="code")
        after = self._get(at + 1)
        ending = after.lower if after.kind == "word" and after.start == token.end else ""
        if ending in ("st", "nd", "rd", "th"):
            return self._measured(at, at + 2, value, "ordinal")
        is_decade = ending == "s" and value in _YEARS  # 1930s
        if is_decade or (ending and ending not in _MONEY_SCALES and _unit(after.text) is None):
            return None  # 3D, 4x4
        return self._measured(at, at + 1, value, "")

    def _time(self, time: re.Match[str]) -> Number:
        hour, minutes, half = int(time[1]), int(time[2] or 0), (time[3] or "").lower()
        is_sure = half or hour > _NOON or time[1][0] == "0"
        if half:
            hour = hour % _NOON + _NOON * (half == "p")
        unit = "clock" if is_sure else "o'clock"
        return Number(time[0], *time.span(), hour + minutes / 60, unit, sort="clock")

    def _in_words(self, at: int) -> Number | None:
        """Return the number that a word begins; None if it begins no number.

        "Twenty-five" is one number. Longer ones ("two hundred and five") are read as two: 20 of
        4,911 texts have one. "A million" is not read: it affected no outcome of 9,620 quotes.
        """
        before, word, after = self._get(at - 1), self._tokens[at].lower, self._get(at + 1)
        follows_number = before.kind == "digits" or before.lower in _CARDINALS
        if word in _ORDINALS and not follows_number:  # Examples are "two thirds" and "5 seconds".
            return self._measured(at, at + 1, _ORDINALS[word], "ordinal")
        if word in _TIMES:
            return Number(*self._tokens[at][1:], _TIMES[word], "clock", sort="clock")
        if word == "half" and after.lower in ("a", "an") and self._unit_at(at + 2)[0]:
            return self._measured(at, at + 2, 0.5, "")
        if word not in _CARDINALS:
            return None
        value, end = float(_CARDINALS[word]), at + 1
        unit = _CARDINALS.get(self._get(at + 2).lower, 0)
        if after.kind == "dash" and value >= _TWENTY > unit > 0:
            value, end = value + unit, at + 3
        elif word == "one" and after.lower not in _SCALES and not _unit(after.text):
            return None  # This is a pronoun more often than a number.
        return self._measured(at, end, value, "")

    def _measured(self, at: int, end: int, value: float, sort: str) -> Number:
        """Return a number with its scale and unit."""
        before, after = self._get(at - 1), self._get(end)
        sign = _unit(before.text) if before.text in _CURRENCIES else None
        if [self._get(end + n).lower for n in range(3)] == ["and", "a", "half"]:
            value, end = value + 0.5, end + 3
            after = self._get(end)
        scale, factor = "", 1.0
        is_tight = after.start == self._tokens[end - 1].end or sign is not None
        scales = _MONEY_SCALES if sign else _SCALES
        if not sort and after.lower in scales and (len(after.text) > 2 or is_tight):  # noqa: PLR2004
            scale, factor, end = after.lower, scales[after.lower], end + 1
        unit, kind, end = (*sign, end) if sign else self._unit_at(end)
        if not sort:
            sort = kind or ("year" if self._is_year(at, end, value, scale) else "count")
        start = before.start if sign else self._tokens[at].start
        last = self._tokens[end - 1].end
        text = self._text[start:last]
        return Number(text, start, last, value * factor, unit, scale, sort)

    def _unit_at(self, end: int) -> tuple[str, str, int]:
        """Return the unit after a number, its sort, and the index of the token after it."""
        at = end + 1 if self._get(end).kind == "dash" else end  # a 5-mile run
        tokens = self._tokens[at : at + _LONGEST_UNIT]
        for last in range(len(tokens), 0, -1):
            named = _unit(self._text[tokens[0].start : tokens[last - 1].end])
            if named:
                return *named, at + last
        return "", "", end

    def _is_year(self, at: int, end: int, value: float, scale: str) -> bool:
        token, after = self._tokens[at], self._get(end)
        if scale or value not in _YEARS or len(token.text) != 4:  # noqa: PLR2004 - no 1,984
            return False
        counts = after.text.endswith("s") or after.lower in ("people", "men", "women", "children")
        return not (counts and after.text.islower()) or self._get(at - 1).lower in _BEFORE_YEARS

    def _get(self, at: int) -> _Token:
        return self._tokens[at] if 0 <= at < len(self._tokens) else _NOTHING


def value_of(written: str) -> float | None:
    """Return the value of a number in digits; None for a version, a date or a time."""
    if _GROUPED.fullmatch(written):
        separator = "." if written.count(".") > 1 else ","
        return float(written.replace(separator, ""))
    if ":" in written or "/" in written:
        return None
    decimal = written.replace(",", ".")
    return float(decimal) if decimal.count(".") <= 1 else None
