"""How an expected ID and the retrieved one are written differently."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from fullrecall.diagnosis.ids.words import CHUNK, ENDS, EXTENSION, FEWEST, SLASHES, Words, words_of

Side: TypeAlias = Literal["retrieved", "reference"]


class IdMatch(NamedTuple):
    """A reference ID and another ID of the same document, each with the words that they share.

    `part` is the side whose ID names a part of the document that the other ID names; None where
    both name the same.
    """

    reference: str
    retrieved: str
    reference_core: Words
    retrieved_core: Words
    part: Side | None


_SHOWN = 20
"""Matches that are compared to say how IDs differ."""

_SPELLINGS: dict[str, Callable[[str], str]] = {
    "percent encoding": unquote,
    "Unicode form": lambda text: unicodedata.normalize("NFKC", text),
    "white space": str.strip,
    "letter case": str.casefold,
    "zero padding": lambda text: re.sub(r"(?<!\d)0+(?=\d)", "", text),
    "separators": lambda text: re.sub(r"(?<=\w)[\W_]+(?=\w)|_", "", text),
}


def _spelling(ours: str, theirs: str) -> Iterator[str]:
    """Yield the kinds of spelling in which two IDs, or their common parts, differ."""
    for name in _SPELLINGS:
        texts = [ours, theirs]
        for other, normalize in _SPELLINGS.items():
            if other != name:
                texts = [normalize(text) for text in texts]
        if texts[0] != texts[1]:
            yield name


def _end_named(text: str, *, before: bool) -> tuple[str, str]:
    """Return the kind of the text before or after two IDs' shared words, and its spelling."""
    if before:
        kind = "directory" if text.endswith(SLASHES) else "prefix"
        return ("URL" if "://" in text else kind), repr(text)
    if ENDS[EXTENSION].fullmatch(text):
        return "extension", repr(text)
    words = words_of(text).keys
    if not text.startswith(("#", "?", "::")) and any(map(str.isdigit, words)):
        shape = " ".join("#" if word.isdigit() else word for word in words)
        return f"what numbers parts ({shape})", ""
    return ("fragment" if ENDS[CHUNK].fullmatch(text) else "suffix"), repr(text)


def differences(matches: Sequence[IdMatch]) -> str:
    """Return how the two IDs of each match differ, in a few words."""
    ends: dict[str, set[str]] = defaultdict(set)
    spelled: dict[str, None] = {}
    for match in matches[:_SHOWN]:
        ours, theirs = match.reference_core, match.retrieved_core
        before, after = (ours.before, theirs.before), (ours.after, theirs.after)
        for texts, is_before in ((before, True), (after, False)):
            for text in filter(None, texts if texts[0] != texts[1] else ()):
                kind, written = _end_named(text, before=is_before)
                ends[kind].add(written)
        for text in {ours.inner, theirs.inner} - {""}:
            ends["infix"].add(repr(text))
        if ours.key != theirs.key:
            is_moved = sorted(ours.keys) == sorted(theirs.keys)
            spelled["order of the words" if is_moved else "numbers (from 0 or from 1)"] = None
            continue
        is_whole = before[0] == before[1] and after[0] == after[1]
        pair = (match.reference, match.retrieved) if is_whole else (ours.core, theirs.core)
        if ours.inner or theirs.inner:
            pair = ours.spaced, theirs.spaced
        spelled |= dict.fromkeys(_spelling(*pair))
    named = [
        f"{kind} {' and '.join(sorted(texts))}".strip() if len(texts) < FEWEST else kind
        for kind, texts in ends.items()
    ]
    return ", ".join([*named, *spelled]) or "spelling"
