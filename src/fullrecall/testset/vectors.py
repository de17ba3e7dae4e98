"""Texts as vectors without a model: term weights, hashed into a fixed number of dimensions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from fullrecall.testset.vocabulary import content_words

DIMENSIONS = 512


def hashed(texts: Sequence[str]) -> Any:
    """Return one unit vector for each text, an array of shape (texts, 512) of 32-bit floats.

    A term weighs (1 + log of its count) · log(texts / texts that have it); its place and sign are
    those of a CRC, so that they are the same on every machine. A text without words is 0.
    """
    import numpy as np

    counted = [Counter(content_words(text)) for text in texts]
    having = Counter(term for counts in counted for term in counts)
    positions = {term: _position(term) for term in having}
    vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    rarity = {term: np.log1p(len(texts) / count) for term, count in having.items()}
    for row, counts in zip(vectors, counted, strict=True):
        for term, count in counts.items():
            at, sign = positions[term]
            row[at] += sign * (1 + np.log(count)) * rarity[term]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def _position(term: str) -> tuple[int, int]:
    number = crc32(term.encode("utf-8", "surrogatepass"))
    return number % DIMENSIONS, 1 if number >> 31 else -1
