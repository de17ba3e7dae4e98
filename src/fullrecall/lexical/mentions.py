"""Find a number, an amount or a date in a text, in any notation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from fullrecall._util.caches import remembered
from fullrecall.lexical.words.numbers import MONTH_NUMBERS, is_equal, numbers

_Date: TypeAlias = tuple[int, int, int]

_MONTH = "(?P<month{0}>[A-Z][a-z]{{2,8}})\\.?"
_DAY = "(?P<day{0}>\\d{{1,2}})(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"\b(?:{_DAY.format(1)} (?:of )?{_MONTH.format(1)},? (?P<year1>\d{{4}})"
    rf"|{_MONTH.format(2)} {_DAY.format(2)},? (?P<year2>\d{{4}})"
    r"|(?P<year3>\d{4})-(?P<month3>\d\d)-(?P<day3>\d\d))\b"
)


def mentions(entity: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the half-open offsets of each mention of a number or a date, in any notation.

    It yields nothing if `entity` is neither a number nor a date. `10 km` equals 10km, `$4.2B`
    equals $4.2 billion, and `4 March 2023` equals March 4, 2023.
    """
    entity = entity.strip()
    dates = _dates(entity)
    if [span for _, *span in dates] == [[0, len(entity)]]:
        yield from ((start, end) for date, start, end in _dates(text) if date == dates[0][0])
        return
    own = numbers(entity)
    if len(own) == 1 and (own[0].start, own[0].end) == (0, len(entity)):
        yield from ((each.start, each.end) for each in numbers(text) if is_equal(own[0], each))


@remembered(200_000)
def _dates(text: str) -> tuple[tuple[_Date, int, int], ...]:
    """Return the dates of a text, each as (year, month, day) with its offsets."""
    listed = []
    for match in _DATE.finditer(text):
        form = {key[:-1]: value for key, value in match.groupdict().items() if value}
        written = form["month"].lower()
        month = int(written) if written.isdigit() else MONTH_NUMBERS.get(written)
        if month:
            listed.append(((int(form["year"]), month, int(form["day"])), *match.span()))
    return tuple(listed)
