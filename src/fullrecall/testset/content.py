"""Machine checks of the words of questions, and of the texts that references name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import TypeAlias

from fullrecall._util.vocabulary import words
from fullrecall.samples.context import Context
from fullrecall.samples.corpus import Document
from fullrecall.samples.sample import Sample
from fullrecall.testset.alignment import letters_of


class Problem(StrEnum):
    """A problem of a test set, or of a draft of one of its questions."""

    NO_QUESTION = "no question"
    NO_REFERENCE = "no references"
    UNKNOWN_ID = "ID not in the documents"
    LEVEL = "ID of another level"
    SPAN = "text not at its offsets"
    TWIN = "near-duplicate outside the any-of group"
    RIVAL = "lookalike in the documents"
    EMPTY = "reference without words"
    WHOLE = "span is a whole document"
    ELSEWHERE = "quote occurs in other documents"
    UNBACKED = "number or name not in the references"
    FORM = "incomplete draft"
    QUOTE = "quote not in the document"
    COPIED = "copied words"
    POINTS = "points at the text"
    UNCLEAR = "does not stand alone"
    UNANSWERED = "not answered by its references"
    DIFFERENT = "another answer in its references"
    SEVERAL = "several answers"
    UNSUPPORTED = "claim not supported by its references"
    SINGLE = "one document is enough"
    UNCHECKED = "no verdict"
    DUPLICATE = "duplicate question"
    SURPLUS = "more than wanted"


ProblemsFound: TypeAlias = Iterator[tuple[Problem, str]]

_LONG = 300
_WHOLE = 0.9
"""A span does not locate the answer if it has at least this share of a document of 300 words or
more.
"""

_QUOTED_WORDS = 8
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def contexts_in(sample: Sample) -> list[Context]:
    """Return the reference contexts of a sample, of all groups."""
    return [context for group in sample.reference_contexts or () for context in group]


def has_spans(sample: Sample) -> bool:
    """Return whether there are reference contexts, and every any-of group has a start offset."""
    groups = sample.reference_contexts or ()
    return bool(groups) and all(any(c.start is not None for c in group) for group in groups)


def names_in(sample: Sample) -> list[str]:
    """Return the distinct IDs and documents that a sample's references name."""
    ids = [name for reference in sample.reference_context_ids or () for name in reference.any_of]
    sources = [context.source for context in contexts_in(sample) if context.source is not None]
    return list(dict.fromkeys([*ids, *sources]))


def texts_named(samples: Iterable[Sample], documents: Iterable[Document]) -> dict[str, str]:
    """Return the texts that references name, by ID; the other texts are not kept."""
    named = {name for sample in samples for name in names_in(sample)}
    return {document.id: document.text for document in documents if document.id in named}


def of_references(sample: Sample, texts: Mapping[str, str]) -> ProblemsFound:
    """Yield the problems of the texts that a sample's references name."""
    named = names_in(sample)
    referenced = [(name, texts[name]) for name in named if name in texts]
    for context in contexts_in(sample):
        if context.text is not None:
            referenced.append((context.source or "a reference", context.text))
            whole = texts.get(context.source or "", "")
            is_whole = context.start is not None and len(context.text) >= _WHOLE * len(whole)
            if is_whole and len(words(whole)) >= _LONG:
                yield Problem.WHOLE, f"{context.source}: {len(whole):,} characters"
            yield from _elsewhere(context.text, named, texts)
    for name, text in referenced:
        if not words(text):
            yield Problem.EMPTY, f"{name}: {text[:60]!r}"
    if referenced:
        yield from _unbacked(sample, [text for _, text in referenced])


def _elsewhere(quote: str, named: Sequence[str], texts: Mapping[str, str]) -> ProblemsFound:
    """Yield a problem if a quote also occurs in a document that the sample does not name.

    Quotes of fewer than 8 words, or of more than 2,400 characters, are not searched.
    """
    if len(words(quote)) < _QUOTED_WORDS or len(quote) > _LONG * _QUOTED_WORDS:
        return
    # Search for one long word first, so that few texts must be converted to letters.
    probe = max(quote.split(), key=len)
    letters = letters_of(quote).text
    for name, text in texts.items():
        if name not in named and probe in text and letters in letters_of(text).text:
            yield Problem.ELSEWHERE, f"{quote[:60]!r} in {name!r}"
            return


def _unbacked(sample: Sample, texts: Sequence[str]) -> ProblemsFound:
    """Yield a problem if the answer or a claim has a number that is not in question or texts."""
    statements = [sample.reference or "", *(claim.text for claim in sample.reference_claims or ())]
    known_numbers = {
        number for text in (*texts, sample.user_input or "") for number in numbers_in(text)
    }
    for text in statements:
        missing = [number for number in numbers_in(text) if number not in known_numbers]
        if missing:
            yield Problem.UNBACKED, f"{missing[0]} in {text[:60]!r}"
            return


def numbers_in(text: str) -> list[str]:
    """Return the numbers of a text in digits, without commas between thousands."""
    return [number.replace(",", "") for number in _NUMBER.findall(text)]


REJECTED_RUN = 7
"""A question is rejected if it copies this many consecutive words of its source; at most 0.5 % of
people's questions do.
"""

_EN = "text|passage|document|article|context|excerpt|paragraph|abstract|section"
_DE = "text|dokument|auszug|absatz|abschnitt|kapitel"
_FR = "texte|passage|extrait|document|paragraphe|chapitre"
_ES = "texto|pasaje|fragmento|documento|párrafo|capítulo"
_IT = "testo|brano|estratto|documento|paragrafo|capitolo"
_SHOWN = "table|figure|example|listing|tabelle|abbildung|beispiel|tableau|exemple|tabla|figura|"
_SHOWN += "ejemplo|listado|tabella|esempio|listato"
_POINTS = re.compile(
    # Measured with bench/testset_leak.py: people use the first four patterns in at most 0.7 % of
    # their questions.
    rf"\b(?:in|according to|from|by) (?:the|this|that) (?:given |above |provided )?(?:{_EN})\b"
    rf"|\bthis (?:study|paper|{_EN})\b"
    r"|\b(?:mentioned|described|discussed|stated|provided|presented|given) "
    rf"(?:in|by) (?:the|this) (?:{_EN})\b"
    r"|\bthe (?:text|passage|excerpt|document) (?:say|state|mention|describe|discuss|provide)"
    rf"|\b(?:{_EN}|{_SHOWN}) (?:above|below)\b"
    rf"|\b(?:above|preceding|previous|following) (?:{_EN}|chapter|{_SHOWN})\b"
    r"|\b(?:mentioned|described|discussed|stated|noted|shown|explained|defined) "
    r"(?:above|below|earlier|previously|before)\b"
    rf"|\b(?:fig\.|abb\.|{_SHOWN}) \d"
    r"|\b(?:obig|vorig|vorherig|vorliegend|vorstehend|vorangehend|folgend|nachstehend)e[nmrs]? "
    rf"(?:{_DE}|{_SHOWN})"
    rf"|\b(?:laut|gemäß|in) diese[mr] (?:{_DE})"
    r"|\b(?:oben|zuvor|vorher|bereits) (?:erwähnt|genannt|beschrieben|gezeigt|definiert)"
    rf"|\b(?:{_FR}|{_SHOWN}) (?:ci-dess|précédent|suivant)"
    rf"|\b(?:selon|d['\u2019]après|dans) (?:ce|cet|cette) (?:{_FR}|article)\b"
    r"|\b(?:mentionné|indiqué|décrit|dit|expliqué)e?s? (?:précédemment|plus haut|ci-dessus)"
    rf"|\b(?:{_ES}|{_SHOWN}) (?:anterior|precedente|siguiente|de arriba|de abajo)\b"
    rf"|\b(?:según|en) est[ea] (?:{_ES}|artículo)\b"
    r"|\b(?:mencion|indic|explic|descri|dich)\w* (?:anteriormente|antes|(?:más )?arriba)\b"
    rf"|\b(?:{_IT}|{_SHOWN}) (?:(?:qui )?(?:sopra|sotto)|precedente|seguente)\b"
    rf"|\b(?:secondo|in) questo (?:{_IT}|articolo)\b"
    r"|\b(?:menzionat|indicat|descritt|dett|spiegat)[aeio] (?:in precedenza|sopra)\b",
    re.IGNORECASE,
)
"""How questions point at the text that they were written from, in five languages."""


def longest_run(question: str, sources: Iterable[str]) -> tuple[str, ...]:
    """Return the longest run of words that the question shares with one of its sources."""
    asked = words(question)
    runs: list[tuple[str, ...]] = [()]
    for source in sources:
        run = SequenceMatcher(None, asked, words(source), autojunk=False).find_longest_match()
        runs.append(tuple(asked[run.a : run.a + run.size]))
    return max(runs, key=len)


def pointing(question: str) -> str:
    """Return the words by which a question points at its source, or ""."""
    match = _POINTS.search(question)
    return match[0] if match else ""
