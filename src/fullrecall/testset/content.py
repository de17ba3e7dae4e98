"""What a machine can tell of a question's words and of the texts that its references name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

from fullrecall.sample import Sample
from fullrecall.testset import leak
from fullrecall.testset.alignment import letters_of
from fullrecall.testset.vocabulary import words


class Problem(StrEnum):
    """What may be wrong with a test set."""

    NO_QUESTION = "no question"
    NO_REFERENCE = "no references"
    UNKNOWN_ID = "ID not in the documents"
    LEVEL = "ID of another level"
    SPAN = "text not at its offsets"
    TWIN = "near-duplicate outside the any-of group"
    EMPTY = "reference without words"
    CONTENTS = "reference is a list of contents"
    WHOLE = "span is a whole document"
    ELSEWHERE = "quote stands in other documents"
    UNBACKED = "number or name not in the references"
    COPIED = "copied words"
    POINTS = "points at the text"
    NAMES = "names its document"
    SCRIPT = "another script than its references"
    UNCLEAR = "does not stand alone"
    UNANSWERED = "not answered by its references"
    DIFFERENT = "another answer in its references"
    SEVERAL = "several answers"
    UNSUPPORTED = "claim not supported by its references"
    UNCHECKED = "no verdict"
    DUPLICATE = "duplicate question"
    LEAK = "questions copy more than people's do"
    CROWDED = "references crowd in few documents"
    FEW = "too few questions"


Found: TypeAlias = Iterator[tuple[Problem, str]]

_LONG = 300
_WHOLE = 0.9
"""A span of this share of a document with 300 words or more says nothing of where it answers."""

_LISTED = 0.6
_FEWEST_LINES = 5
_QUOTED_WORDS = 8
_SHORT_NAME = 3
_ENTRY = re.compile(
    r"(?:\.[ .]{2,}|\t|\s{3,})\s*[\divxlc]+$"
    r"|^(?:chapter|section|part)?\s?\d+(?:\.\d+){0,5}\.?\s.{1,70}\s\d+$",
    re.IGNORECASE,
)
"""A line of a list of contents: a title, then dots, a tab or spaces, and the number of a page."""

_PLACED = re.compile(
    r"\b(?:chapter|section|page|figure|table|appendix|slide|footnote|paragraph) \d+(?:\.\d+)*\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_FILE = re.compile(r"\.(?:pdf|docx?|html?|md|txt|rst|pptx?|xlsx?|csv|json)$", re.IGNORECASE)


def names_in(sample: Sample) -> list[str]:
    """Return the IDs and the documents that a sample's references name, each once."""
    ids = [name for reference in sample.reference_context_ids or () for name in reference.any_of]
    spans = (context for group in sample.reference_contexts or () for context in group)
    return list(dict.fromkeys([*ids, *(span.source for span in spans if span.source is not None)]))


def of_wording(sample: Sample, texts: Mapping[str, str]) -> Found:
    """Yield what is wrong with a question's words, beside the documents that it is about."""
    question, names = sample.user_input or "", names_in(sample)
    placed = _PLACED.search(question)
    if placed:
        yield Problem.NAMES, placed[0]
    for name in names:
        stem = _FILE.sub("", name.rsplit("/", 1)[-1])
        is_file = stem != name.rsplit("/", 1)[-1]
        is_word = len(name) <= _SHORT_NAME or name.isalpha()  # which may be anybody's
        if not is_word and (name in question or (is_file and _has_words(question, stem))):
            yield Problem.NAMES, name
    there = "\n".join(texts[name][:5_000] for name in names if name in texts)
    if scripts := leak.other_script(question, there):
        yield Problem.SCRIPT, scripts


def _has_words(question: str, stem: str) -> bool:
    stem_words = words(stem.replace("_", " ").replace("-", " "))
    return len(stem_words) > 1 and f" {' '.join(stem_words)} " in f" {' '.join(words(question))} "


def of_references(sample: Sample, texts: Mapping[str, str]) -> Found:
    """Yield what is wrong with the texts that a sample's references name."""
    spans = [context for group in sample.reference_contexts or () for context in group]
    for reference in sample.reference_context_ids or ():
        for name in reference.any_of:
            if name in texts:
                yield from _of_text(name, texts[name])
    named = set(names_in(sample))
    for context in spans:
        if context.text is None:
            continue
        yield from _of_text(context.source or "a reference", context.text)
        whole = texts.get(context.source or "", "")
        is_long = len(words(whole)) >= _LONG
        if is_long and context.start is not None and len(context.text) >= _WHOLE * len(whole):
            yield Problem.WHOLE, f"{context.source}: {len(whole):,} characters"
        yield from _elsewhere(context.text, named, texts)
    there = [texts[name] for name in named if name in texts]
    there += [context.text for context in spans if context.text]
    if there:
        yield from _unbacked(sample, there)


def _of_text(name: str, text: str) -> Found:
    if not words(text):
        yield Problem.EMPTY, f"{name}: {text[:60]!r}"
        return
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    entries = sum(_ENTRY.search(line[-200:]) is not None for line in lines)
    if len(lines) >= _FEWEST_LINES and entries >= _LISTED * len(lines):
        yield Problem.CONTENTS, f"{name}: {entries} of {len(lines)} lines end in a page"


def _elsewhere(quote: str, named: set[str], texts: Mapping[str, str]) -> Found:
    """Yield a problem where a quote also stands in a document that no reference names."""
    if len(words(quote)) < _QUOTED_WORDS or len(quote) > _LONG * _QUOTED_WORDS:
        return
    probe = max(quote.split(), key=len)
    letters = letters_of(quote).text
    for name, text in texts.items():
        if name not in named and probe in text and letters in letters_of(text).text:
            yield Problem.ELSEWHERE, f"{quote[:60]!r} in {name!r}"
            return


def _unbacked(sample: Sample, texts: Sequence[str]) -> Found:
    """Yield numbers of the answer and the claims that neither question nor references have."""
    statements = [sample.reference or "", *(claim.text for claim in sample.reference_claims or ())]
    known_numbers = {
        number
        for text in (*texts, sample.user_input or "")
        for number in map(_normalized, _NUMBER.findall(text))
    }
    for text in statements:
        missing = [
            number for number in _NUMBER.findall(text) if _normalized(number) not in known_numbers
        ]
        if missing:
            yield Problem.UNBACKED, f"{missing[0]} in {text[:60]!r}"
            return


def _normalized(number: str) -> str:
    return number.replace(",", "").rstrip(".:")
