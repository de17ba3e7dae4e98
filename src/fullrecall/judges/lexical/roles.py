"""Roles exchanged: two names of a claim that stand in each other's places in its contexts.

A name's place is the words beside it. If one name has there what the other has in the claim, and
not what it has itself, the claim turns the statement round: "Bo defeated Ann" by "Ann defeated Bo".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

from fullrecall.judges.lexical.passages import Passage
from fullrecall.judges.words.frequencies import weight, zipf_frequencies
from fullrecall.judges.words.tokens import Word, stem

_NAME_WEIGHT = 0.5  # a capitalised word that weighs less is a function word
_MOST_NAMES = 8  # of a claim that are compared, and
_PLACES = 12  # of one in a context
_EXCHANGED = 1.0  # how many more words beside them must be those of the other name
_JOINING = frozenset("and or as with well both to also nor".split())
_JOINED = 0.5  # what such a word counts beside a name
_MUTUAL = frozenset(
    map(
        stem,
        "married marry wed divorced met meet borders between equal equals sibling siblings cousin "
        "cousins twin twins spouse partner partners friend friends rival rivals versus vs adjoins "
        "same similar identical different differs synonym neighbor neighbour".split(),
    )
)

Sides: TypeAlias = tuple[str | None, str | None]
"""The keys of the words before and after a name; None at the end of a sentence."""


class _Name(NamedTuple):
    """A name of the claim: where it stands there, and its sides there and in the contexts."""

    first: int
    end: int
    claimed: Sides
    found: Sequence[Sides]


def has_roles_exchanged(claim: Passage, contexts: Sequence[Passage]) -> bool:
    """Whether two names of the claim stand in each other's places in the contexts."""
    words = claim.words
    own = list(names_in(words, contexts))
    if len(own) < 2:  # noqa: PLR2004 - two to exchange
        return False
    named = [
        _Name(first, end, _sides(words, first, end, 0, len(words)),
              list(_found(words[first:end], contexts)))
        for first, end in own[:_MOST_NAMES]
    ]  # fmt: skip
    return any(
        _are_exchanged(one, other)
        for one, other in combinations(named, 2)
        if _relates(words[one.end : other.first])
    )


def _relates(between: Sequence[Word]) -> bool:
    """Whether what stands between two names has a direction: a list has none."""
    keys = {word.key for word in between if not word.is_capitalised}
    return bool(keys - _JOINING) and keys.isdisjoint(_MUTUAL)


def _are_exchanged(one: _Name, other: _Name) -> bool:
    straight = _shared(one.claimed, one.found) + _shared(other.claimed, other.found)
    crossed = _shared(one.claimed, other.found) + _shared(other.claimed, one.found)
    # Where one of them stands nowhere, the other must have its place from both sides.
    least = _EXCHANGED if one.found and other.found else 2 * _EXCHANGED
    return crossed - straight >= least


def _shared(claimed: Sides, found: Sequence[Sides]) -> float:
    """Return how many words beside a name are also beside it there, where most are."""
    return max(
        (
            sum(
                _JOINED if mine in _JOINING else 1.0
                for mine, theirs in zip(claimed, sides, strict=True)
                if mine is not None and mine == theirs
            )
            for sides in found
        ),
        default=0.0,
    )


def names_in(words: Sequence[Word], contexts: Sequence[Passage]) -> Iterator[tuple[int, int]]:
    """Yield where names stand, each once.

    A first word is one in a run, if it is no frequent English word, or if contexts show it.
    """
    seen = set()
    for first, end in capitalised_runs(words):
        keys = tuple(word.key for word in words[first:end])
        is_frequent = first == 0 and end == 1 and words[0].written in zipf_frequencies()
        if keys not in seen and not (is_frequent and not _is_name_in(contexts, keys[0])):
            seen.add(keys)
            yield first, end


def capitalised_runs(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Yield where capitalised words stand with nothing but a space between them."""
    first = None
    for position, word in enumerate(words):
        if first is not None and (
            not _is_capitalised(word) or word.start - words[position - 1].end > 1
        ):
            yield first, position
            first = None
        if first is None and _is_capitalised(word):
            first = position
    if first is not None:
        yield first, len(words)


def _is_capitalised(word: Word) -> bool:
    return word.is_capitalised and not word.is_number and weight(word.written) >= _NAME_WEIGHT


def _is_name_in(contexts: Sequence[Passage], key: str) -> bool:
    return any(
        passage.words[place].is_capitalised
        and passage.sentences[passage.sentence_of[place]][0] != place
        for passage in contexts
        for place in passage.places.get(key, ())[:_PLACES]
    )


def _found(name: Sequence[Word], contexts: Sequence[Passage]) -> Iterator[Sides]:
    """Yield the sides of the name by its last word, with the capitalised words around it."""
    own = {word.key for word in name}
    for passage in contexts:
        words = passage.words
        for place in passage.places.get(name[-1].key, ())[:_PLACES]:
            first, last = passage.sentences[passage.sentence_of[place]]
            start, end = place, place + 1
            while start > first and words[start - 1].key in own:
                start -= 1
            while start > first + 1 and _is_capitalised(words[start - 1]):
                start -= 1
            while end < last and _is_capitalised(words[end]):
                end += 1
            yield _sides(words, start, end, first, last)


def _sides(words: Sequence[Word], start: int, end: int, first: int, last: int) -> Sides:
    return (
        words[start - 1].key if start > first else None,
        words[end].key if end < last else None,
    )
