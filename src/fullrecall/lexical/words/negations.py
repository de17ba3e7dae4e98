"""Find the denials of a text, their kind, and the words that they deny.

A denial is "plain" (not, no, never, nor, n't), "implied" (without, failed, hardly), or "reported"
if it calls a statement false (a myth, wrongly, denied). "Not only", "no later than" and "No. 5" are
not denials.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias, get_args

from fullrecall._util.caches import remembered, remembered_words
from fullrecall._util.pieces import paused
from fullrecall.lexical.words.data import languages, words_of
from fullrecall.lexical.words.languages import language_of
from fullrecall.lexical.words.tokens import read_words

DenialKind: TypeAlias = Literal["plain", "implied", "reported"]

_KINDS: tuple[DenialKind, ...] = get_args(DenialKind)
_WORD = re.compile(r"[^\W\d_]++(?:['’][^\W\d_]++)*+")
_NO_DENIAL = re.compile(
    r"\bnot (?:only|just|merely|simply|necessarily|until|to mention|long (?:after|before))\b"
    r"|\bno (?:later|earlier|fewer|less|more) than\b|\bno doubt\b|\bno\. ?(?=\d)"
    r"|\b(?:whether|if|why) (?:or )?not\b|\bor not\b|\bno other than\b|\bnone other than\b"
    r"|\bnothing (?:but|short of)\b|\bcontrary to popular\b"
    r"|\b(?:not?|never)-(?=[^\W\d_])|\bn(?:ot|ever) be (?:an? )?more\b|\bnot (?:so much|one)\b"
    r"|\bnicht nur\b|\bnon seulement\b|\bno s[oó]lo\b|\bnon solo\b|\bnão s[óo]\b"
    r"|不仅|不僅|不久|不同|だけでなく",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[;:!?。！？；，、\n]|[.,](?=\s|$)|\s[–—]\s|\b(?:but|although|though|while|whereas|however)\b",
    re.IGNORECASE,
)
_REPORTED_PHRASE = re.compile(r"\bcontrary to\b", re.IGNORECASE)
_MOST_DENIED = 6  # the most content words after a denial that it may deny


class Denial(NamedTuple):
    """A denying word: its half-open offsets, its kind, and the end of its clause."""

    start: int
    end: int
    kind: DenialKind
    clause_end: int


@remembered(400_000)
def denials(text: str, language: str | None = None) -> tuple[Denial, ...]:
    """Return a text's denials, in order; `language` is its ISO 639-1 code, or None to detect it."""
    spoken = language or language_of(text) or "en"
    # Replace phrases that deny nothing by blanks, to keep the offsets.
    denying = _NO_DENIAL.sub(lambda phrase: " " * len(phrase[0]), text)
    ends = [match.start() for match in _CLAUSE_END.finditer(text)] + [len(text)]
    return tuple(
        Denial(start, end, kind, ends[bisect_left(ends, end)])
        for start, end, kind in paused(sorted(_denying(denying, spoken)))
    )


def denies(
    text: str, language: str | None = None, kinds: tuple[DenialKind, ...] = ("plain",)
) -> bool:
    """Return whether a text has a denial of one of these kinds."""
    return any(denial.kind in kinds for denial in denials(text, language))


@remembered(400_000)
def denied_keys(text: str) -> frozenset[str]:
    """Return the keys of the content words that the plain denials of an English text deny.

    A denial denies the first six content words, at most, that follow it in its clause: "was not
    built in Rome" denies build and rome.
    """
    negations = [denial for denial in denials(text, "en") if denial.kind == "plain"]
    if not negations:
        return frozenset()
    words = [
        word
        for word in paused(read_words(text))
        if word.tells and not denying_kind(word.written, "en")
    ]
    starts = [word.start for word in words]
    denied: set[str] = set()
    for denial in negations:
        first = bisect_left(starts, denial.end)
        end = bisect_left(starts, denial.clause_end)
        denied.update(word.key for word in words[first : min(end, first + _MOST_DENIED)])
    return frozenset(denied)


def _denying(text: str, language: str) -> Iterator[tuple[int, int, DenialKind]]:
    """Yield the denying words of a text in a language, with their kinds."""
    if language == "en":
        for match in _REPORTED_PHRASE.finditer(text):
            yield match.start(), match.end(), "reported"
    if languages().get(language, {}).get("unspaced"):
        for kind in _KINDS:
            for sign in words_of(language, kind):
                for match in re.finditer(re.escape(sign), text):
                    yield match.start(), match.end(), kind
        return
    for match in paused(_WORD.finditer(text)):
        kind_of = denying_kind(match[0].lower(), language)
        if kind_of is not None:
            yield match.start(), match.end(), kind_of


@remembered_words(16_384)
def denying_kind(word: str, language: str) -> DenialKind | None:
    """Return the kind of denial of a lower-case word; None if it does not deny."""
    word = word.replace("’", "'")
    if language == "en" and word.endswith("n't"):
        return "plain"
    # Look up the part before an apostrophe, too: in a French elision or an English possessive, it
    # is the denial.
    forms = {word, word.partition("'")[0]}  # n'est, nobody's
    return next((kind for kind in _KINDS if forms & words_of(language, kind)), None)
