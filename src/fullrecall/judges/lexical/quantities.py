"""Numbers of a claim as quantities: 1.5 million is 1,500,000, and 1984 is of the 1980s."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from fullrecall.judges.lexical.matching import Match
from fullrecall.judges.lexical.passages import Passage
from fullrecall.judges.words.tokens import Word

_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_ABOUT = frozenset(
    "about around approximately roughly nearly almost over more under less up circa".split()
)
_BEFORE = 3  # words before a number in which one of these makes it a rough one
_ROUGHLY = 0.1  # how far a rough number may be from the one that is meant, of it
_DECADE = 10


def has_absent_number(claim: Passage, contexts: Sequence[Passage], found: Match) -> bool:
    """Whether a number in digits stands in no context, nor one that it may stand for."""
    credit = {unit.word.key: got for unit, got in zip(found.units, found.found, strict=True)}
    absent = [
        position
        for position, word in enumerate(claim.words)
        if word.is_number and word.written[0].isdigit() and not credit[word.key]
    ]
    if not absent:
        return False
    there = {value for passage in contexts for value in values(passage.words)}
    return not all(may_stand_for(claim.words, position, there) for position in absent)


def may_stand_for(words: Sequence[Word], position: int, there: set[float]) -> bool:
    """Whether the number at a position is one of these, its scale counted, or roughly one."""
    word = words[position]
    value = _value(words, position)
    if value is None:
        return False
    if value in there:
        return True
    if word.written.endswith("s") and value % _DECADE == 0:
        return any(value <= other < value + _DECADE for other in there)
    before = {other.written for other in words[max(0, position - _BEFORE) : position]}
    return not before.isdisjoint(_ABOUT) and any(
        abs(other - value) <= _ROUGHLY * value for other in there
    )


def values(words: Sequence[Word]) -> set[float]:
    """Return the numbers, and those with a scale also as what they come to."""
    scaled = {_value(words, position) for position, word in enumerate(words) if word.is_number}
    plain = {_plain(word) for word in words if word.is_number}
    return {value for value in scaled | plain if value is not None}


def _value(words: Sequence[Word], position: int) -> float | None:
    value = _plain(words[position])
    after = words[position + 1].key if position + 1 < len(words) else ""
    return None if value is None else value * _SCALES.get(after, 1.0)


def _plain(word: Word) -> float | None:
    with suppress(ValueError):  # 1.2.3 is a version
        return float(word.key[1:])
    return None
