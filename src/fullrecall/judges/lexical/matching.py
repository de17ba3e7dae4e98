"""Where each word of a claim is found in the contexts, and the stretch that covers most of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fullrecall.judges.lexical.passages import PREFIX, Passage
from fullrecall.judges.words.tokens import Word, alike

_ALIKE_CREDIT = 0.8  # of a word that begins like the claim's
_PLACES_EXACT = 48  # of one word in one context; more tell nothing new
_PLACES_ALIKE = 12
_CANDIDATES = 6  # sentences around which windows are tried
_POOL = 40  # sentences tried as the second of a pair
_TELLING = 1.2  # words that weigh less are function words

Cover = Mapping[int, float]  # unit number to credit in (0, 1]
_NOTHING: Cover = {}


class Unit(NamedTuple):
    """A word of the claim, once, however often it occurs there."""

    word: Word
    order: int  # its first position in the claim


class Sentence(NamedTuple):
    """A sentence of a context, by number."""

    context: int
    number: int


class Match(NamedTuple):
    """The claim's units against the contexts.

    A window is a sentence with its neighbours. The *region* is the best window together with the
    first sentence of its context, which is where a text says what "he" and "it" stand for later.
    """

    units: tuple[Unit, ...]
    telling: tuple[int, ...]  # the units that are no function words
    total: float  # weight of all units
    found: tuple[float, ...]  # for each unit, its best credit anywhere
    region: tuple[float, ...]  # for each unit, its best credit in the region
    pair: tuple[float, ...]  # and in the best sentence with the one that adds most to it
    places: tuple[Mapping[int, Sequence[int]], ...]  # for each context: unit to word positions
    best: Sentence | None  # the middle of the best window
    windows: tuple[float, float, float, float]  # weight covered: 1, 2, 3 sentences, region
    pair_covered: float
    evidence: tuple[int, int] | None  # sentences, first and last, of the best context

    def weigh(self, units: Iterable[int], credit: Sequence[float]) -> float:
        """Return the share of the units' weight that `credit` covers; of no units, all."""
        weight = covered = 0.0
        for unit in units:
            weight += self.units[unit].word.weight
            covered += self.units[unit].word.weight * credit[unit]
        return covered / weight if weight else 1.0


def match(claim: Passage, contexts: Sequence[Passage]) -> Match:
    """Find the claim's words in the contexts."""
    first: dict[str, Unit] = {}
    for position, word in enumerate(claim.words):
        first.setdefault(word.key, Unit(word, position))
    units = tuple(first.values())
    covers: dict[Sentence, dict[int, float]] = {}
    places: list[dict[int, list[int]]] = []
    for number, passage in enumerate(contexts):
        here: dict[int, list[int]] = {}
        for index, unit in enumerate(units):
            for position, credit in occurrences(unit.word, passage):
                cover = covers.setdefault(Sentence(number, passage.sentence_of[position]), {})
                cover[index] = max(credit, cover.get(index, 0.0))
                here.setdefault(index, []).append(position)
        places.append(here)
    weights = [unit.word.weight for unit in units]
    ranking = sorted(
        ((_weigh(cover, weights), sentence) for sentence, cover in covers.items()),
        key=lambda entry: (-entry[0], entry[1]),
    )
    window = _best_window(ranking, covers, weights)
    pair, pair_covered = _best_pair(ranking, covers, weights)
    everywhere = _join(*covers.values())
    return Match(
        units,
        tuple(index for index, weight in enumerate(weights) if weight >= _TELLING),
        sum(weights),
        _listed(everywhere, units),
        _listed(window.region, units),
        _listed(pair, units),
        tuple(places),
        window.best,
        window.covered,
        pair_covered,
        window.evidence,
    )


def occurrences(word: Word, passage: Passage) -> Iterator[tuple[int, float]]:
    """Yield where a word stands in a passage, with its credit: itself, alike, or its acronym."""
    exact = passage.places.get(word.key)
    if exact is not None:
        yield from ((position, 1.0) for position in exact[:_PLACES_EXACT])
        return
    if not word.is_number:
        for other in passage.beginnings.get(word.key[:PREFIX], ()):
            if alike(word.key, other):
                for position in passage.places[other][:_PLACES_ALIKE]:
                    yield position, _ALIKE_CREDIT
    if word.is_capitalised and word.written in passage.acronyms:
        yield passage.acronyms[word.written], 1.0


class _Window(NamedTuple):
    best: Sentence | None
    covered: tuple[float, float, float, float]
    region: Cover
    evidence: tuple[int, int] | None


def _best_window(
    ranking: Sequence[tuple[float, Sentence]],
    covers: Mapping[Sentence, Cover],
    weights: Sequence[float],
) -> _Window:
    one = two = three = lead = 0.0
    best: Sentence | None = None
    region = _NOTHING
    evidence: tuple[int, int] | None = None
    for covered, sentence in ranking[:_CANDIDATES]:
        context, number = sentence
        here = covers[sentence]
        before = covers.get(Sentence(context, number - 1), _NOTHING)
        after = covers.get(Sentence(context, number + 1), _NOTHING)
        with_before = _weigh(_join(before, here), weights)
        with_after = _weigh(_join(here, after), weights)
        joined = _join(before, here, after)
        with_both = _weigh(joined, weights)
        extended = _join(joined, covers.get(Sentence(context, 0), _NOTHING))
        one, two = max(one, covered), max(two, with_before, with_after)
        lead = max(lead, _weigh(extended, weights))
        if with_both > three + 1e-9:
            three, best, region = with_both, sentence, extended
            # The shortest stretch that covers nearly as much as the window is the evidence.
            stretches = (
                (covered, (number, number)),
                (with_before, (number - 1, number)),
                (with_after, (number, number + 1)),
                (with_both, (number - 1, number + 1)),
            )
            evidence = next(span for value, span in stretches if value >= 0.9 * with_both)
    return _Window(best, (one, two, three, lead), region, evidence)


def _best_pair(
    ranking: Sequence[tuple[float, Sentence]],
    covers: Mapping[Sentence, Cover],
    weights: Sequence[float],
) -> tuple[Cover, float]:
    """Return the best sentence joined with the one, of any context, that adds most to it."""
    if not ranking:
        return _NOTHING, 0.0
    covered, sentence = ranking[0]
    pair = alone = covers[sentence]
    for _, other in ranking[1:_POOL]:
        joined = _join(alone, covers[other])
        weight = _weigh(joined, weights)
        if weight > covered + 1e-9:
            pair, covered = joined, weight
    return pair, covered


def _weigh(cover: Cover, weights: Sequence[float]) -> float:
    return sum(weights[unit] * credit for unit, credit in cover.items())


def _join(*covers: Cover) -> dict[int, float]:
    joined: dict[int, float] = {}
    for cover in covers:
        for unit, credit in cover.items():
            if credit > joined.get(unit, 0.0):
                joined[unit] = credit
    return joined


def _listed(cover: Cover, units: Sequence[Unit]) -> tuple[float, ...]:
    return tuple(cover.get(unit, 0.0) for unit in range(len(units)))
