"""Measure how `SpanRecall`'s time grows with the number of references and length of texts.

Each kind of text is scored at four sizes, each twice the one before. Linear growth is a factor of 2
from one column to the next. Times are the least CPU seconds of the rounds, since other work on the
machine only adds to them.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from side_by_side import say, setting, table

from fullrecall import SpanRecall

CHUNK = 1_000
CONTEXTS, LONG_CONTEXTS = 20, 5


class Texts(NamedTuple):
    """The input of one call."""

    references: list[str]
    contexts: list[str]


Make: TypeAlias = Callable[[int], Texts]


class Writer:
    """A writer of texts of made-up words, the same for the same seed."""

    LETTERS = "etaoinshrdlucmfwypvbgkjqxz"
    CJK = "".join(map(chr, range(0x4E00, 0x4E00 + 3_000)))

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)
        lengths = self.random.choices(range(2, 11), k=5_000)
        self._words = ["".join(self.random.choices(self.LETTERS, k=n)) for n in lengths]

    def text(self, length: int) -> str:
        """Return words with spaces between them."""
        return " ".join(self.random.choices(self._words, k=length // 3 + 1))[:length]

    def cjk(self, length: int) -> str:
        """Return a text without spaces, of characters as frequent as in Zipf's law."""
        weights = [1 / (rank + 3) for rank in range(len(self.CJK))]
        return "".join(self.random.choices(self.CJK, weights, k=length))


def by_references(writer: Writer) -> Mapping[str, Make]:
    """Return the kinds whose number of references grows, against 20 contexts."""

    def with_chunks(references: list[str]) -> Texts:
        some = writer.random.choices(references, k=CONTEXTS)
        return Texts(references, [f"{one[200:]} {writer.text(700)}" for one in some])

    def strangers(count: int) -> Texts:
        return with_chunks([writer.text(CHUNK) for _ in range(count)])

    def alike(count: int) -> Texts:
        heading = writer.text(CHUNK // 2)
        return with_chunks([heading + writer.text(CHUNK // 2) for _ in range(count)])

    def chain(count: int) -> Texts:
        whole = writer.text((count + 1) * CHUNK // 2)
        starts = range(0, count * CHUNK // 2, CHUNK // 2)
        references = [whole[start : start + CHUNK] for start in starts]
        writer.random.shuffle(references)
        ends = writer.random.sample(range(CHUNK, len(whole)), k=CONTEXTS)
        return Texts(references, [whole[end - CHUNK : end + CHUNK // 2] for end in ends])

    return {
        "references of 1,000 characters": strangers,
        "the same, half of each a common heading": alike,
        "the same, each half of the next": chain,
    }


def by_length(writer: Writer) -> Mapping[str, Make]:
    """Return the kinds whose texts grow: one reference, 5 contexts that overlap it."""

    def windows(whole: str, length: int) -> Texts:
        starts = [n * length // LONG_CONTEXTS for n in range(LONG_CONTEXTS)]
        contexts = [whole[start : start + length] for start in starts]
        return Texts([whole[length // 2 : length // 2 + length]], contexts)

    def repeated(unit: str) -> Make:
        def make(length: int) -> Texts:
            whole = (unit * length)[:length]
            return Texts([f"{whole}y"], [f"{whole[n:]}x{n}" for n in range(LONG_CONTEXTS)])

        return make

    def dots(length: int) -> Texts:
        def rows(word: str) -> str:
            return (f"{'.' * 22} {word} " * length)[:length]

        return Texts([rows("one")], [rows(f"page{n}") for n in range(LONG_CONTEXTS)])

    return {
        "words": lambda length: windows(writer.text(2 * length), length),
        "CJK without spaces": lambda length: windows(writer.cjk(2 * length), length),
        "one character": repeated("a"),
        "two by turns": repeated("ab"),
        "a period of 32": repeated(writer.text(32)),
        "rows of dots between words that differ": dots,
    }


def seconds(make: Make, size: int, rounds: int) -> float:
    """Return the least CPU seconds of one call."""
    references, contexts = make(size)
    took = []
    for _ in range(rounds):
        began = time.process_time()
        SpanRecall().score(reference_contexts=references, retrieved_contexts=contexts)
        took.append(time.process_time() - began)
    return min(took)


def growth(kinds: Mapping[str, Make], sizes: Sequence[int], rounds: int) -> list[list[str]]:
    """Return a row for each kind: milliseconds at each size, and the largest factor."""
    rows = []
    for name, make in kinds.items():
        took = [seconds(make, size, rounds) for size in sizes]
        factor = max(after / before for before, after in pairwise(took))
        rows.append([name, *(f"{1_000 * one:.1f}" for one in took), f"{factor:.1f}"])
    return rows


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--references", type=int, default=100)
    parser.add_argument("--length", type=int, default=25_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    writer = Writer()
    for kinds, first in ((by_references, asked.references), (by_length, asked.length)):
        sizes = [first << doubled for doubled in range(4)]
        head = [kinds.__name__.replace("_", " "), *(f"{size:,}" for size in sizes), "factor"]
        say(table(head, growth(kinds(writer), sizes, asked.rounds)))
        say("")
    say(setting("fullrecall"))


if __name__ == "__main__":
    main()
