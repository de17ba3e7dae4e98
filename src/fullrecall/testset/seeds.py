"""Draw the passages from which questions are written, spread over the whole collection.

Every document is read once. Only a bounded, seeded sample of the passages is kept, so that memory
does not grow with the number of documents.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import chain
from math import ceil, inf, log1p
from typing import NamedTuple

from fullrecall._util.vocabulary import content_words, words
from fullrecall.lexical import names
from fullrecall.samples.corpus import Document
from fullrecall.testset import duplicates

FEWEST_WORDS, MOST_WORDS = 15, 500
"""The fewest and the most words of a passage."""

_ENOUGH_WORDS = 100
"""Paragraphs are joined until they have this many words."""

_CANDIDATES = 5_000
"""The fewest passages that are kept; more are kept if many questions are wanted."""

_PER_SEED = 20
_LARGEST_SHARE = 0.1
"""The largest share of seeds from one document."""

_RARE = range(2, 9)
"""A name makes pairs of passages only if this many passages have it."""

_SHORTEST_NAME = 3
"""The fewest letters of a name that makes pairs, since many people share initials."""

_BLOCK = re.compile(r"\n[^\S\n]*\n\s*")
_SENTENCE = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]*\s*(?=\S)")  # noqa: RUF001 - full-width marks
_SPACE = re.compile(r"\s+")
_CUTS = ((_BLOCK, MOST_WORDS // 2), (_SENTENCE, MOST_WORDS), (_SPACE, inf))
"""The boundaries at which texts are cut, each with the most words of a part; longer parts are cut
at the next boundary.
"""


class SeedPassage(NamedTuple):
    """A part of a document: `text` begins there at character `start`."""

    source: str
    start: int
    text: str

    @property
    def end(self) -> int:
        """The end of the passage in the document, exclusive."""
        return self.start + len(self.text)

    def meets(self, other: SeedPassage) -> bool:
        """Return whether two passages overlap in the same document."""
        return self.source == other.source and self.start < other.end and other.start < self.end


class Seed(NamedTuple):
    """The material of one request: a passage, or two of different documents that share a `term`."""

    passages: tuple[SeedPassage, ...]
    term: str = ""


def passages(document: Document) -> Iterator[SeedPassage]:
    """Yield the passages of a document: paragraphs, with long ones cut between sentences.

    Short paragraphs are joined to the next ones. Parts of fewer than 15 words are left out.
    """
    text = document.text
    ranges: list[tuple[int, int]] = []
    begin = size = 0
    for start, end in _pieces(text, 0, len(text)):
        count = len(words(text[start:end]))
        if size and size + count > MOST_WORDS:
            ranges.append((begin, start))
            size = 0
        if not size:
            begin = start
        size += count
        if size >= _ENOUGH_WORDS:
            ranges.append((begin, end))
            size = 0
    if size:
        ranges.append((begin, len(text)))
    for start, end in ranges:
        part = text[start:end].strip()
        if FEWEST_WORDS <= len(words(part)) <= MOST_WORDS:
            yield SeedPassage(document.id, text.index(part, start), part)


def _pieces(
    text: str, start: int, end: int, cuts: Sequence[tuple[re.Pattern[str], float]] = _CUTS
) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of each part of a range.

    A part that is too long is cut further, at the next finer boundary.
    """
    (boundary, most), *finer = cuts
    for cut in [*(start + match.end() for match in boundary.finditer(text[start:end])), end]:
        if len(words(text[start:cut])) <= most:
            yield start, cut
        else:
            yield from _pieces(text, start, cut, finer)
        start = cut


def sampled(documents: Iterable[Document], n: int, *, seed: int) -> list[SeedPassage]:
    """Read all documents, and return a random sample of max(5,000, 20 · `n`) passages.

    Every passage has the same chance, and only the sample is kept in memory. Of nearly equal
    passages, the sample keeps one.
    """
    draw = random.Random(f"{seed}:passages")  # noqa: S311 - a sample, no secret
    # The passages with the lowest random numbers are a uniform sample, in one pass.
    all_passages = (passage for document in documents for passage in passages(document))
    lots = ((draw.random(), number, passage) for number, passage in enumerate(all_passages))
    kept = nsmallest(max(_CANDIDATES, _PER_SEED * n), lots)
    chosen = [passage for _, _, passage in sorted(kept, key=lambda lot: lot[1])]
    repeated = {
        number
        for group in duplicates.groups([passage.text for passage in chosen])
        for number in group[1:]
    }
    return [passage for number, passage in enumerate(chosen) if number not in repeated]


def singles(passages: Sequence[SeedPassage], n: int, *, seed: int) -> Iterator[SeedPassage]:
    """Yield passages in a random order.

    At most a tenth of the first `n` come from one document, if there are enough documents.
    """
    draw = random.Random(f"{seed}:seeds")  # noqa: S311 - a sample, no secret
    sources = len({passage.source for passage in passages})
    most = max(ceil(_LARGEST_SHARE * n), ceil(n / max(1, sources)))
    passages_taken: Counter[str] = Counter()
    later: list[SeedPassage] = []
    for passage in draw.sample(passages, len(passages)):
        passages_taken[passage.source] += 1
        if passages_taken[passage.source] <= most:
            yield passage
        else:
            later.append(passage)
    yield from later


def questioned(
    passages: Sequence[SeedPassage], queries: Sequence[str], rest: Iterable[SeedPassage]
) -> Iterator[SeedPassage]:
    """Yield the passage that best matches each user query, then the `rest`, without repeats.

    The best match has the most words of the query, weighted by log(1 + passages / passages with the
    word).
    """
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for number, passage in enumerate(passages):
        for word in set(content_words(passage.text)):
            holders[word].append(number)

    def nearest(query: str) -> SeedPassage | None:
        shared: defaultdict[int, float] = defaultdict(float)
        for word in dict.fromkeys(content_words(query)):
            for number in holders.get(word, ()):
                shared[number] += log1p(len(passages) / len(holders[word]))
        return passages[max(shared, key=lambda n: (shared[n], -n))] if shared else None

    asked_about = filter(None, map(nearest, queries))
    yielded: set[SeedPassage] = set()
    for passage in chain(asked_about, rest):
        if passage not in yielded:
            yielded.add(passage)
            yield passage


def pairs(passages: Sequence[SeedPassage], *, seed: int) -> Iterator[Seed]:
    """Yield pairs of passages from two documents that share a name; no passage is in two pairs.

    Names are capitalized words of at least three letters that begin no sentence and are in two to
    eight passages. Names in scripts without capitals are not found.
    """
    draw = random.Random(f"{seed}:pairs")  # noqa: S311 - a sample, no secret
    # Pair passages by names, not by rare words: passages that share a rare word may have different
    # subjects.
    passages_with: defaultdict[str, list[SeedPassage]] = defaultdict(list)
    for passage in passages:
        sure = (name.text for name in names(passage.text) if name.is_sure)
        for name in dict.fromkeys(text for text in sure if len(text) >= _SHORTEST_NAME):
            passages_with[name].append(passage)
    shared = [name for name, holders in passages_with.items() if len(holders) in _RARE]
    draw.shuffle(shared)
    used: set[SeedPassage] = set()
    for name in shared:
        free = [passage for passage in passages_with[name] if passage not in used]
        second = next((other for other in free if other.source != free[0].source), None)
        if second is not None:
            used |= {free[0], second}
            yield Seed((free[0], second), term=name)
