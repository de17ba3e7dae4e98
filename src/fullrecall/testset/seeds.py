"""The passages that questions are written from, spread over the whole collection.

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
"""A passage has no fewer words and no more."""

_ENOUGH_WORDS = 100
"""Paragraphs are joined until they have as many."""

_CANDIDATES = 5_000
"""Passages that are kept, at least; more where many questions are wanted."""

_PER_SEED = 20
_LARGEST_SHARE = 0.1
"""Largest share of all seeds from one document."""

_RARE = range(2, 9)
"""Passages that share a name belong together if so many of them have it."""

_SHORTEST_NAME = 3
"""Letters of a name: initials are many people's."""

_BLOCK = re.compile(r"\n[^\S\n]*\n\s*")
_SENTENCE = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]*\s*(?=\S)")  # noqa: RUF001 - full-width marks
_SPACE = re.compile(r"\s+")
_CUTS = ((_BLOCK, MOST_WORDS // 2), (_SENTENCE, MOST_WORDS), (_SPACE, inf))
"""Where a text is cut; a part with more words than these is cut again at the next boundary."""


class SeedPassage(NamedTuple):
    """A part of a document: `text` begins at `start` in it, in characters."""

    source: str
    start: int
    text: str

    @property
    def end(self) -> int:
        """The end of the passage in the document, exclusive."""
        return self.start + len(self.text)

    def meets(self, other: SeedPassage) -> bool:
        """Return whether both passages have characters of a document in common."""
        return self.source == other.source and self.start < other.end and other.start < self.end


class Seed(NamedTuple):
    """The subject of one request: a passage, or two of different documents that share a `term`."""

    passages: tuple[SeedPassage, ...]
    term: str = ""


def passages(document: Document) -> Iterator[SeedPassage]:
    """Yield the passages of a document: whole paragraphs, long ones cut between sentences.

    Short paragraphs are joined to the next ones; the last words of a document are left out if they
    are fewer than 15.
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
    """Yield the parts of a range; too long a part is cut again at the next finer boundary."""
    (boundary, most), *finer = cuts
    for cut in [*(start + match.end() for match in boundary.finditer(text[start:end])), end]:
        if len(words(text[start:cut])) <= most:
            yield start, cut
        else:
            yield from _pieces(text, start, cut, finer)
        start = cut


def sampled(documents: Iterable[Document], n: int, *, seed: int) -> list[SeedPassage]:
    """Read all documents and return a sample of their passages, at least 20 for each of `n`.

    Every passage has the same chance, and only the sample is kept in memory. The sample has one
    of each group of nearly equal passages.
    """
    draw = random.Random(f"{seed}:passages")  # noqa: S311 - a sample, no secret
    # The lowest random numbers in one pass are a uniform sample of any number of passages.
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

    At most a tenth of the first `n` are of one document, if there are enough documents.
    """
    draw = random.Random(f"{seed}:seeds")  # noqa: S311 - the same
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
    """Yield the passage nearest to each of users' queries, each once, then the `rest`.

    It has the most words of the query, by their rarity: the logarithm of 1 + passages / those with
    the word.
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
    """Yield pairs of passages of two documents that share a name, each passage once.

    Names are words with a capital that begin no sentence, in two to eight passages; names in
    scripts without capitals are not found.
    """
    draw = random.Random(f"{seed}:pairs")  # noqa: S311 - the same
    # Passages are paired by names, not by rare words: passages that share a rare word need not be
    # about one thing.
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
