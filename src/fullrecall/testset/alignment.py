"""Find a text in another corpus: complete, in pieces, in other words, or not at all."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from heapq import heappush, heappushpop
from typing import NamedTuple

from fullrecall._util.caches import remembered
from fullrecall._util.vocabulary import words
from fullrecall.judge.evidence import Folded
from fullrecall.samples.corpus import Document

GRAM = 4
"""The number of consecutive words in a run; texts are found by the runs that they share with a
quote.
"""

_NEAREST = 60
"""The most texts of the corpus that are aligned with one quote: those that share the most runs with
it.
"""

_ENOUGH = 0.9
"""The least share of a quote's letters that pieces must still span after one at an end is left out.
"""

_LARGEST_GAP = 3
"""The most letters that may be missing between two pieces, such as marks that a chunker dropped."""

_SHORTEST_PIECE = 8

OWN_LETTERS = 40
"""The fewest letters that identify the place of a text without the text around it."""

_RESEMBLES = 0.4
"""The least share of a quote's runs of words that texts must have to resemble it; chosen with
bench/testset_follow.py.
"""

_SHOWN = 6

_LAYOUT = re.compile(
    r"""
    (?<=[^\W\d_])[-\u2010\u2011](?=(?:[ \t]*+\r?\n\s*+)?[^\W\d_])  # a hyphen between letters
    | ^[ \t]*+(?:\#{1,6}[ \t]|[-+>][ \t]|[•·▪◦‣])                  # a heading, item or citation
    | (?<!\d)\*++ | \*++(?!\d) | (?<!\w)_++ | _++(?!\w)           # emphasis
    | [`|]++                                                       # code, and cells of a table
    """,
    re.VERBOSE | re.MULTILINE,
)
"""Layout marks. A minus, an asterisk between digits, and C# are not layout."""


class Letters(Folded):
    """A text without white space, case, and typographic marks, with offsets in the original.

    It also lacks layout marks, which differ between extractions of the same page: Markdown's marks,
    bullets, and hyphens between letters, also at the end of a line.
    """

    def __init__(self, text: str) -> None:
        super().__init__(_LAYOUT.sub(lambda match: " " * len(match[0]), text), space="")

    def positions(self, letters: str) -> list[int]:
        """Return the positions at which letters occur, including overlapping ones."""
        # A lookahead consumes no letters, so it finds "aba" twice in "ababa".
        return [match.start() for match in re.finditer(f"(?={re.escape(letters)})", self.text)]


@remembered(1_000_000)
def letters_of(text: str) -> Letters:
    """Return the letters of a text; cached, since texts are aligned with many quotes."""
    return Letters(text)


class Piece(NamedTuple):
    """A range of a quote's letters, and the text that contains it."""

    document: Document
    start: int
    end: int


def grams(text: str) -> set[tuple[str, ...]]:
    """Return the runs of four words of a text; a shorter text is one run."""
    text_words = words(text)
    size = max(1, min(GRAM, len(text_words)))
    return set(zip(*(text_words[at:] for at in range(size)), strict=False))


class Lookup:
    """Finds the texts of a corpus that share runs of words with quotes, in one pass over it.

    `short` maps the letters of each text of fewer than eight words to its document.
    """

    def __init__(self, quotes: Sequence[str]) -> None:
        self.grams = [grams(quote) for quote in quotes]
        self._quotes_of: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, quote_grams in enumerate(self.grams):
            for gram in quote_grams:
                self._quotes_of[gram].append(number)
        self._sizes = sorted({len(gram) for gram in self._quotes_of})
        self._near: list[list[tuple[int, int, Document]]] = [[] for _ in quotes]
        self._read = 0
        self.short: dict[str, Document] = {}

    def read(self, document: Document) -> None:
        """Add one text of the corpus."""
        self._read += 1
        document_words = words(document.text)
        if len(document_words) < 2 * GRAM:
            self.short.setdefault(letters_of(document.text).text, document)
        shared: Counter[int] = Counter()
        for size in self._sizes:
            for gram in set(zip(*(document_words[at:] for at in range(size)), strict=False)):
                shared.update(self._quotes_of.get(gram, ()))
        for number, count in shared.items():
            near = self._near[number]
            # The number of the document breaks ties between equal counts, since documents cannot be
            # compared.
            add = heappush if len(near) < _NEAREST else heappushpop
            add(near, (count, -self._read, document))

    def nearest(self, number: int) -> list[Document]:
        """Return the texts that share the most runs with a quote, best first."""
        return [document for _, _, document in sorted(self._near[number], reverse=True)]

    def resemblance(
        self, number: int, near: Iterable[Document]
    ) -> tuple[tuple[Document, ...], float]:
        """Return a few texts that together have most runs of a quote, and their share of the runs.

        Returns ((), 0.0) if the share is below 0.4.
        """
        # Greedy set cover. Each text after the first must add a fifteenth of the quote's runs, so
        # that everyday phrases add no text.
        missing_grams = set(self.grams[number])
        total, least = len(missing_grams), max(1, len(missing_grams) // 15)
        candidates = [(document, grams(document.text) & missing_grams) for document in near]
        chosen: list[Document] = []
        while candidates:
            document, shared = max(candidates, key=lambda pair: len(pair[1] & missing_grams))
            if len(shared & missing_grams) < (least if chosen else 1):
                break
            chosen.append(document)
            missing_grams -= shared
        similarity = 1 - len(missing_grams) / total if total else 0.0
        return (tuple(chosen), similarity) if similarity >= _RESEMBLES else ((), 0.0)


def pieces(
    quote: Letters, near: Sequence[Document], short: Mapping[str, Document]
) -> list[Document]:
    """Return the fewest texts whose pieces, in order, make up a quote; [] if no texts do.

    A piece is a whole text, its beginning, or its end, so that no inserted, removed or replaced
    word is overlooked. `short` maps the letters of each text of a few words to the text. Such a
    text may be the remainder of a document after its last chunk.
    """
    candidates = [piece for document in near if (piece := _piece(quote.text, document)) is not None]
    chosen: list[Piece] = []
    covered, size = 0, len(quote.text)
    # Always take the piece that reaches farthest: this covers the quote with the fewest pieces.
    while covered < size:
        adjoining = [
            piece
            for piece in candidates
            if piece.start <= covered + _LARGEST_GAP and piece.end > covered
        ]
        if not adjoining:
            break
        farthest = max(adjoining, key=lambda piece: piece.end)
        chosen.append(farthest)
        covered = farthest.end
    # A short remainder may share no run of four words with the quote, so look it up by its letters.
    if chosen and (rest := short.get(quote.text[covered:])) is not None:
        chosen.append(Piece(rest, covered, size))
        covered = size
    if covered < size - _LARGEST_GAP:
        return []
    return [piece.document for piece in _needed(chosen, size)]


def within(quote: Letters, near: Sequence[Document], chosen: Sequence[Document]) -> list[Document]:
    """Return the texts of `near`, other than `chosen`, that lie within a quote.

    These are chunks that overlap the chosen ones. Texts of fewer than 40 letters are left out.
    """
    taken = {document.id for document in chosen}
    return [
        document
        for document in near
        if document.id not in taken
        and len(text := letters_of(document.text).text) >= OWN_LETTERS
        and text in quote.text
    ]


def _needed(chosen: Sequence[Piece], size: int) -> list[Piece]:
    """Drop pieces at both ends while the rest spans 90 % of the quote; return the rest."""
    kept = list(chosen)
    for without_end in (slice(1, None), slice(None, -1)):
        while rest := kept[without_end]:
            if max(p.end for p in rest) - min(p.start for p in rest) < _ENOUGH * size:
                break
            kept = rest
    return kept


def _piece(quote: str, document: Document) -> Piece | None:
    text = letters_of(document.text).text
    if len(text) >= _SHORTEST_PIECE and (at := quote.find(text)) >= 0:
        return Piece(document, at, at + len(text))
    # Accept only the beginning or the end of a text as a piece. With a piece from the middle of a
    # text, a word that was inserted next to the piece would be overlooked.
    longest = min(len(quote), len(text)) - 1
    for size in range(longest, _SHORTEST_PIECE - 1, -1):
        if text.endswith(quote[:size]):
            return Piece(document, 0, size)
        if text.startswith(quote[-size:]):
            return Piece(document, len(quote) - size, len(quote))
    return None


def difference(old: str, new: str) -> str:
    """Return the first words that differ, as `old → new`; "" if no words differ."""
    ours, theirs = old.split(), new.split()
    for kind, a, b, c, d in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind != "equal":
            before, after = ours[a : min(b, a + _SHOWN)], theirs[c : min(d, c + _SHOWN)]
            return f"{' '.join(before) or 'nothing'!r} → {' '.join(after) or 'nothing'!r}"
    return ""
