"""Find nearly equal texts: repeated questions, and repeated documents of a collection."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any, NamedTuple
from zlib import crc32

from fullrecall._util.vocabulary import content_words, words

_SAME_WORDS = 0.7
_SAME_LETTERS = 85.0
_SHINGLE = 3
SAME_TEXT = 0.8
"""The least share of runs of three words (Jaccard) that nearly equal texts have in common."""

_MOST_IN_BUCKET = 16
"""The most texts that are kept for one run of words, to be compared with later texts that have it.
More texts share a rare run only if all are nearly equal.
"""


_MARKED = re.compile(r"(?<!\w)\w*\d[\w.,]*\w|\d|(?<!^)(?<![.!?] )\b[A-Z]\w+")
"""Numbers and names; names are capitalized words that begin no sentence."""


class Questions:
    """The questions collected so far; `match` finds one that asks the same as a new question."""

    def __init__(self) -> None:
        self._earlier: list[_Wording] = []

    def match(self, question: str) -> str | None:
        """Return an earlier question that asks the same; if none does, remember this one.

        Two questions ask the same if they share at least 0.7 of all content words (Jaccard), or
        have a token sort ratio of at least 85 and no replaced content word ("direct" for
        "indirect"). Questions with a replaced number or name (2017 for 2018) differ.
        """
        wording = _Wording(
            question,
            frozenset(content_words(question)),
            frozenset(word.casefold() for word in _MARKED.findall(question)),
        )
        for other in self._earlier:
            if _ask_the_same(wording, other):
                return other.text
        self._earlier.append(wording)
        return None


class _Wording(NamedTuple):
    """A question prepared for comparison: its content words, and its numbers and names."""

    text: str
    content: frozenset[str]
    marked: frozenset[str]


def _ask_the_same(first: _Wording, second: _Wording) -> bool:
    from rapidfuzz.fuzz import token_sort_ratio

    # Of 191,000 pairs of different questions, each of the two rules wrongly joins at most three.
    # Embeddings at cosine 0.85 wrongly join "direct problem" and "indirect problem".
    if _swapped(first.marked, second.marked):
        return False
    shared, union = first.content & second.content, first.content | second.content
    if union and len(shared) / len(union) >= _SAME_WORDS:
        return True
    if _swapped(first.content, second.content):
        return False
    texts = (" ".join(words(wording.text)) for wording in (first, second))
    return token_sort_ratio(*texts) >= _SAME_LETTERS


def _swapped(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Return whether each side has a word that the other lacks."""
    return bool(ours - theirs and theirs - ours)


def groups(texts: Sequence[str]) -> list[list[int]]:
    """Return groups of nearly equal texts, as indices; a text is in at most one group.

    Texts that share one of their rarest runs are compared in pairs. If two texts share the fraction
    t of their runs, and one has n runs, they share one of its n - ⌈t · n⌉ + 1 rarest runs
    (prefix filtering: Chaudhuri, Ganti and Kaushik, "A primitive operator for similarity joins in
    data cleaning", ICDE 2006).
    """
    shingled = [_shingles(text) for text in texts]
    group_of = [[number] for number in range(len(texts))]
    for first, second in _candidates(shingled):
        larger, other = group_of[first], group_of[second]
        if larger is not other and _alike(shingled[first], shingled[second]):
            larger += other
            # All members share one list object, so that `is` shows which are joined.
            for number in other:
                group_of[number] = larger
    groups = {min(group): sorted(group) for group in group_of if len(group) > 1}
    return [groups[first] for first in sorted(groups)]


def _shingles(text: str) -> Any:
    """Return the distinct hashes of a text's runs of three words, sorted."""
    import numpy as np

    text_words = words(text)
    starts = range(max(1, len(text_words) - _SHINGLE + 1))
    runs = {" ".join(text_words[at : at + _SHINGLE]) for at in starts}
    # Use CRC-32, since `hash` differs between processes, and groups must not.
    hashes = [crc32(run.encode("utf-8", "surrogatepass")) for run in runs if run]
    return np.unique(np.asarray(hashes, dtype=np.uint64))


def _alike(first: Any, second: Any) -> bool:
    import numpy as np

    shared = len(np.intersect1d(first, second, assume_unique=True))
    union = len(first) + len(second) - shared
    return bool(union and shared / union >= SAME_TEXT)


def _candidates(shingled: Sequence[Any]) -> Iterator[tuple[int, int]]:
    import numpy as np

    runs = np.concatenate([np.empty(0, np.uint64), *shingled])
    known, counts = np.unique(runs, return_counts=True)
    having: defaultdict[int, list[int]] = defaultdict(list)
    for number, hashes in enumerate(shingled):
        rarest = np.lexsort((hashes, counts[np.searchsorted(known, hashes)]))
        offered: set[int] = set()
        for run in hashes[rarest[: len(hashes) - ceil(SAME_TEXT * len(hashes)) + 1]].tolist():
            offered.update(having[run])
            # Keep few texts for a run: boilerplate on every page would make all pairs candidates,
            # which takes quadratic time.
            if len(having[run]) < _MOST_IN_BUCKET:
                having[run].append(number)
        for other in sorted(offered):
            yield other, number
