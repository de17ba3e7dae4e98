"""Find the words of a claim in contexts, and the sentences that cover most of them.

Each text is read once into its words, its sentences, and an index from word to positions.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from fullrecall._util.caches import remembered
from fullrecall._util.pieces import paused
from fullrecall.lexical.words.tokens import SHARED_PREFIX, Word, alike, read_words

# A sentence ends at . ! ? … before a space and a character that can begin a sentence. It also ends
# at the stop of another script (Chinese, Hindi, Arabic …), and at a line break.
_BOUNDARY = re.compile(
    r"(?<=[.!?…])(?<!\b[DM]r\.)(?<!\bM[rs]s\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bProf\.)[\"'”’)\]]*\s+(?=[\"'“‘(\[]?(?:[^\W_a-z]|`))"  # noqa: RUF001
    r"|(?<=[。！？।؟])|\n+"  # noqa: RUF001
)
_BETWEEN = " \t\n.!?…"  # marks between two sentences
_ROW = re.compile(  # a table row: cells between bars, tabs or wide gaps, or in CSV
    r"^[^,|\t]+(?:,(?=\S)[^,]+){2,}$|\||[^\s.!?](?:\t| {2})\s*\S"
)
_LEAST_ROWS = 3  # the fewest rows of a table, with its header
_LONGEST_SENTENCE = 60  # words; a longer text without a stop (a table, a list) is cut
_ALIKE_CREDIT = 0.8  # the credit for a word that begins like the claim's word
_CANDIDATES = 6  # the number of sentences around which windows are tried
_NEARLY = 0.9  # the share of a window's covered weight that its evidence covers

Cover = Mapping[int, float]  # index of a distinct word of the claim: its credit in (0, 1]
_NOTHING: Cover = {}


class ParsedText(NamedTuple):
    """A text with its words, sentences and index."""

    text: str
    words: tuple[Word, ...]
    sentence_of: tuple[int, ...]  # for each word, the number of its sentence
    # for each sentence: the index of its first word, and the index after its last word
    sentences: tuple[tuple[int, int], ...]
    places: Mapping[str, Sequence[int]]  # a word's key: the positions of the word

    def sentence(self, number: int) -> str:
        """Return a sentence's text up to its last word, without final marks."""
        first, last = self.sentences[number]
        start = self.words[first - 1].end if first else 0
        return self.text[start : self.words[last - 1].end].lstrip(_BETWEEN)


@remembered(1_000_000)  # a context is judged for many claims
def read_passage(text: str) -> ParsedText:
    """Return a text with its words, its sentences, and the positions of each word."""
    words = read_words(text)
    cuts = [match.end() for match in _BOUNDARY.finditer(text)]
    firsts: list[int] = []  # the first word of each sentence
    sentence_of: list[int] = []
    positions_of: defaultdict[str, list[int]] = defaultdict(list)
    passed = 0
    for position, word in enumerate(paused(words)):
        # Words and cuts both ascend, so each search starts where the last one ended.
        passed, before = bisect_right(cuts, word.start, lo=passed), passed
        if not firsts or passed > before or position - firsts[-1] >= _LONGEST_SENTENCE:
            firsts.append(position)
        sentence_of.append(len(firsts) - 1)
        positions_of[word.key].append(position)
    sentences = tuple(pairwise([*firsts, len(words)]))
    return ParsedText(text, words, tuple(sentence_of), sentences, dict(positions_of))


@remembered(1_000_000)
def _table(text: str) -> tuple[Sequence[str], Sequence[int]]:
    """Return the lines of a text, and the indices of the table rows among them.

    A header without digits is not a row; with fewer than three rows, there is no table.
    """
    lines = text.splitlines()
    rows = [n for n, line in enumerate(lines) if _ROW.search(line) and any(map(str.isalnum, line))]
    if len(rows) < _LEAST_ROWS:
        return lines, ()
    return lines, rows[not any(map(str.isdigit, lines[rows[0]])) :]


def read_for(claim: ParsedText, text: str) -> ParsedText:
    """Parse a text; of the rows of a table, keep only the one that has most of the claim.

    A number in another row belongs to another item.
    """
    lines, rows = _table(text)
    if not rows:
        return read_passage(text)

    def shared(row: int) -> tuple[float, int]:
        """Return the weight of the words, and the count of the numbers, shared by claim and row."""
        stated = claim.places.keys() & read_passage(lines[row]).places.keys()
        words = [claim.words[claim.places[key][0]] for key in stated]
        worth = [word.weight for word in words if not word.is_number]
        return sum(worth), len(words) - len(worth)

    others = {*rows} - {max(rows, key=shared)}
    return read_passage("\n".join(line for n, line in enumerate(lines) if n not in others))


class Sentence(NamedTuple):
    """The 0-based numbers of a context, and of a sentence in it."""

    context: int
    number: int


class ClaimMatch(NamedTuple):
    """How far the contexts cover the claim's units (the distinct words of the claim).

    A window is a sentence with its neighbors. The *region* is the best window together with the
    first sentence of its context, where a text often names the thing that "he" or "it" later means.
    """

    units: tuple[Word, ...]
    telling: tuple[int, ...]  # the units that are not function words
    total: float  # weight of all units
    found: Cover  # the best credit of each unit that occurs anywhere
    region: Cover  # the best credit of each unit that occurs in the region
    places: tuple[Mapping[int, Sequence[int]], ...]  # for each context: a unit's word positions
    best: Sentence | None  # the middle of the best window
    covered: float  # the weight that the best single sentence covers
    # the numbers of the first and the last sentence; may be -1, or one above the context's last
    evidence: tuple[int, int]

    @property
    def weight(self) -> float:
        """The part of the claim's weight that the contexts cover together."""
        return sum(self.units[unit].weight * credit for unit, credit in self.found.items())

    def weigh(self, units: Iterable[int], credit: Cover) -> float:
        """Return the share of the units' weight that `credit` covers; 1.0 without units."""
        weight = covered = 0.0
        for unit in units:
            weight += self.units[unit].weight
            covered += self.units[unit].weight * credit.get(unit, 0.0)
        return covered / weight if weight else 1.0


def match_of(claim: ParsedText, contexts: Sequence[ParsedText]) -> ClaimMatch:
    """Return the matches of the claim's words in the contexts."""
    units = tuple(claim.words[positions[0]] for positions in claim.places.values())
    covers: dict[Sentence, dict[int, float]] = {}
    positions: list[dict[int, list[int]]] = []
    for number, passage in enumerate(contexts):
        here: dict[int, list[int]] = {}
        for index, unit in enumerate(paused(units, 20)):
            for position, credit in occurrences(unit, passage):
                cover = covers.setdefault(Sentence(number, passage.sentence_of[position]), {})
                cover[index] = max(credit, cover.get(index, 0.0))
                here.setdefault(index, []).append(position)
        positions.append(here)
    weights = [unit.weight for unit in units]
    best, region, evidence = _best_window(covers, weights, contexts)
    return ClaimMatch(
        units,
        tuple(index for index, unit in enumerate(units) if unit.tells),
        sum(weights),
        _join(*covers.values()),
        region,
        tuple(positions),
        best,
        max((_weigh(cover, weights) for cover in covers.values()), default=0.0),
        evidence,
    )


def occurrences(word: Word, passage: ParsedText) -> Iterator[tuple[int, float]]:
    """Yield each position of a word in a text, with the credit for it.

    If the text lacks the word, and the word is not a number, yield the positions of words that
    begin like it, with less credit.
    """
    if word.key in passage.places:
        yield from ((position, 1.0) for position in passage.places[word.key])
    elif not word.is_number:
        beginning = word.key[:SHARED_PREFIX]
        for other, positions in passage.places.items():
            if other.startswith(beginning) and alike(word.key, other):
                yield from ((position, _ALIKE_CREDIT) for position in positions)


def _best_window(
    covers: Mapping[Sentence, Cover], weights: Sequence[float], contexts: Sequence[ParsedText]
) -> tuple[Sentence | None, Cover, tuple[int, int]]:
    """Return the middle sentence of the best window, the cover of its region, and its evidence.

    The best window covers the most weight of the claim. Only windows around the sentences that
    cover most are tried; the window of a table row is the row alone.
    """
    # Joining every window would take too long in a long context.
    ranking = sorted(covers, key=lambda sentence: (-_weigh(covers[sentence], weights), sentence))
    window: tuple[Sentence | None, Cover, tuple[int, int]] = (None, _NOTHING, (0, 0))
    most = 0.0
    for sentence in ranking[:_CANDIDATES]:
        context, number = sentence
        is_row = _ROW.search(contexts[context].sentence(number))
        neighbors = [number] if is_row else [number - 1, number, number + 1]
        whole = _weigh(_joined(covers, context, neighbors), weights)
        # Treat almost equal weights as equal: their last bits depend on the order of addition.
        if whole <= most + 1e-9:
            continue
        most = whole
        # The evidence is the shortest part that covers nearly as much as the window.
        for stretch in ([number], neighbors[:2], neighbors[1:], neighbors):
            if _weigh(_joined(covers, context, stretch), weights) >= _NEARLY * whole:
                break
        region = _joined(covers, context, (*neighbors, 0))
        window = sentence, region, (stretch[0], stretch[-1])
    return window


def _joined(covers: Mapping[Sentence, Cover], context: int, numbers: Sequence[int]) -> Cover:
    """Return the joint cover of several sentences of a context."""
    return _join(*(covers.get(Sentence(context, number), _NOTHING) for number in numbers))


def _weigh(cover: Cover, weights: Sequence[float]) -> float:
    return sum(weights[unit] * credit for unit, credit in cover.items())


def _join(*covers: Cover) -> dict[int, float]:
    joined: dict[int, float] = {}
    for cover in covers:
        for unit, credit in cover.items():
            if credit > joined.get(unit, 0.0):
                joined[unit] = credit
    return joined
