"""Samples spelled in letters, whose right answer is easy to see, and a check of promises."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fullrecall.samples.context import Context
from fullrecall.samples.sample import Sample

WORDS = {
    "a": "amber anchors about Arles, all afloat and answering",
    "b": "Beside Bruges, bronze bells bang below broad bridges",
    "c": "calm canals carry Cork's copper coins coldly closer",
    "x": "Xylophones exit luxurious Xanthi, taxing exact boxes",
    "y": "yellow yaks yodel by your Yalta yards, yawning yearly",
    "z": "zinc zebras zigzag; Zug's zealous zoo zooms the zenith",
}
NAMES = {"a": "Arles", "b": "Bruges", "c": "Cork", "x": "Xanthi", "y": "Yalta", "z": "Zug"}


def sample_of(retrieved: Iterable[str] | None, references: Iterable[str] | None) -> Sample:
    """Return a sample in which letters match themselves, for every kind of deterministic scorer.

    The letters are `abcxyz`. Each gives an ID, a text unlike that of any other letter, and an
    entity that occurs only in this text. None leaves fields out.
    """
    fields: dict[str, Any] = {}
    if retrieved is not None:
        fields["retrieved_contexts"] = [Context(WORDS[c], id=c) for c in retrieved]
    if references is not None:
        letters = list(references)
        fields["reference_context_ids"] = letters
        fields["reference_contexts"] = [WORDS[letter] for letter in letters]
        fields["reference_entities"] = [NAMES[letter] for letter in letters]
        fields["reference_claims"] = fields["reference_contexts"]
    return Sample(user_input="which letters?", **fields)


def expect(condition: bool, promise: str) -> None:  # noqa: FBT001 - reads as assert does
    """Raise `AssertionError` with the promise unless the condition holds."""
    if not condition:
        raise AssertionError(promise)
