"""Check a reply: it must have one verdict for each requested target, with the target's first words.

Only the faulty verdicts of a reply are requested again. The whole reply is void if it has a number
that was not requested, cites a context 0, or has a verdict that begins unlike its target: its other
verdicts may then be misnumbered, too. It is also void if its quotes are too long to look up. No
verdict is ever guessed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from fullrecall._util.data import table
from fullrecall.judge.judge import LABELS, Citation, Verdict, VerdictLabel

BEGINS = "begins"
"""The field in which a verdict repeats the first words of its target."""

_ID = re.compile(
    r"(?:claim|statement|question|entity|context|source|item|target|id|no|number|[cqs])?"
    r"[ \t_#:.\[(-]{0,3}(\d{1,9})(?:\.0{1,3})?[\]).:]{0,2}",
    re.IGNORECASE,
)
_LONGEST_ID = 30
_FIRST_TOO_LARGE = 10**9  # ten digits

_MISSPELLED = 0.85
"""The least similarity, 0 to 1, at which a repeated beginning may be a misspelling."""

_MOST_CITATIONS = 200
_MOST_QUOTED = 40_000
"""The most citations of a reply, and the most characters of their quotes; with more it is void.
Twenty verdicts with three quoted sentences each need a third of either limit; looking up more would
take long and prove no more.
"""

_WITHOUT_MARKS = {code: None for code in range(128) if not chr(code).isalnum()}
"""The table for `str.translate` that deletes all ASCII marks and spaces."""

_WORDS_OF: Mapping[str, str] = table("verdicts.json", __package__)

_NO_VERDICT = "the judge gave no verdict"


def checked(
    objects: Iterable[Mapping[str, Any]],
    targets: Mapping[int, str],
    contexts: Collection[int] | None,
    *,
    on_itself: bool = False,
) -> dict[int, Verdict]:
    """Return one verdict for each number in `targets`, with a `problem` if it is not valid.

    `contexts` are the numbers that a citation may name, None if verdicts cite no contexts; with
    `on_itself` a citation may name only the target's own number. Returned citations are 0-based.
    With several targets, each verdict must repeat enough of its target's first words to
    distinguish it from every other target.
    """
    answers_of: dict[int, list[_Answer]] = defaultdict(list)
    letters_of = {number: _letters(text) for number, text in targets.items()}
    void = ""
    for answer in objects:
        number = number_of(answer.get("id"))
        if number is None or number not in targets:
            shown = str(answer.get("id"))[:40]
            # After one wrong number, the other verdicts may be misnumbered, too: count none.
            void = f"the judge gave a verdict on {shown!r}, which was not asked for"
            break
        echo = answer.get(BEGINS)
        answers_of[number].append(_Answer(answer, echo, _letters(echo), _citations(answer)))
    void = void or next(filter(None, _faults(answers_of, letters_of)), "")
    if void:
        return {number: Verdict(None, problem=void) for number in targets}
    verdicts = {}
    for number in targets:
        answers = answers_of.get(number, [])
        problem = f"the judge gave {len(answers)} verdicts" if answers else _NO_VERDICT
        if len(answers) == 1:
            problem = _unclear(letters_of, number, answers[0])
        verdicts[number] = (
            Verdict(None, problem=problem)
            if problem
            else _verdict(answers[0], {number} if on_itself else contexts)
        )
    return verdicts


def merged(verdicts: Sequence[Verdict]) -> Verdict:
    """Return a target's best verdict from several windows, with other helpful ones in `others`.

    A later check of the quotes decides which of these verdicts count. If a window gave no verdict,
    the label is None, unless another window fully supports the target.
    """
    if len(verdicts) == 1:
        return verdicts[0]
    # A window that was judged in smaller groups has `others` already: make one flat list.
    every = [part for verdict in verdicts for part in (verdict, *verdict.others)]
    helping = [replace(part, others=()) for part in every if part.helps]
    helping.sort(key=lambda verdict: verdict.label != "supported")
    unjudged = next((verdict for verdict in verdicts if verdict.label is None), None)
    denying = [verdict for verdict in verdicts if verdict.label == "contradicted"]
    if unjudged is not None and not (helping and helping[0].label == "supported"):
        best = unjudged
    elif helping:
        best = replace(helping[0], others=tuple(helping[1:]))
    elif denying:
        cited = tuple(c for verdict in denying for c in verdict.citations)
        best = replace(denying[0], citations=cited)
    else:
        best = Verdict("not_supported")
    contested = next((verdict.contested for verdict in verdicts if verdict.contested), "")
    return replace(best, contested=contested)


class _Answer(NamedTuple):
    """A judge's verdict before it is checked.

    `echo` is the beginning of the target as the judge repeats it, `echoed` its letters and digits.
    """

    fields: Mapping[str, Any]
    echo: object
    echoed: str
    citations: Sequence[Mapping[str, Any]]


def _faults(
    answers_of: Mapping[int, Sequence[_Answer]], letters_of: Mapping[int, str]
) -> Iterator[str]:
    """Yield the problems that make a whole reply void. Some checks yield "" if the reply passes."""
    yield _quotes_too_much(answers_of)
    for number, answers in answers_of.items():
        for answer in answers:
            if answer.echoed and not _fits(letters_of[number], answer.echoed):
                yield _misfit(letters_of, number, answer)
            if any(number_of(citation.get("context")) == 0 for citation in answer.citations):
                yield "the judge cites context 0: contexts are counted from 1"


def _misfit(letters_of: Mapping[int, str], number: int, answer: _Answer) -> str:
    """Return the problem of a verdict that begins unlike its target; "" for a misspelling."""
    from rapidfuzz.distance import Levenshtein

    echoed, own = answer.echoed, letters_of[number]
    likeness = {
        text: Levenshtein.normalized_similarity(text[: len(echoed)], echoed)
        for text in letters_of.values()
    }
    # Many claims of a list differ only in a number, so another digit is not a misspelling.
    if likeness[own] >= max(_MISSPELLED, *likeness.values()) and _digits(echoed) == _digits(
        own[: len(echoed)]
    ):
        return ""
    return f"the judge's verdict {number} begins {str(answer.echo)[:40]!r}, and {number} does not"


def _unclear(letters_of: Mapping[int, str], number: int, answer: _Answer) -> str:
    """Return the problem of a verdict that repeats too little to tell its target from others."""
    if len(letters_of) == 1:
        return ""
    echoed, own = answer.echoed, letters_of[number]
    if not echoed:
        return f"the judge's verdict does not repeat how its target begins ({BEGINS!r})"
    fitting = [other for other, text in letters_of.items() if text != own and _fits(text, echoed)]
    if echoed == own or not fitting:
        return ""
    numbers = ", ".join(map(str, sorted({number, *fitting})))
    return f"the judge's verdict begins {str(answer.echo)[:40]!r}, as {numbers} do: repeat more"


def _fits(text: str, echoed: str) -> bool:
    return text.startswith(echoed) or echoed.startswith(text)


def _letters(text: object) -> str:
    """Return the letters and digits of a text, without marks and spaces, in one case.

    A text without letters and digits gives its marks; a value that is not a text gives "".
    """
    if not isinstance(text, str):
        return ""
    if text.isascii():  # most texts; the letter-by-letter path below is slow
        lowered = text.lower()
        return lowered.translate(_WITHOUT_MARKS) or lowered.strip()
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(filter(str.isalnum, folded)) or folded.strip()


def _digits(text: str) -> list[str]:
    return list(filter(str.isdigit, text))


def _quotes_too_much(answers_of: Mapping[int, Sequence[_Answer]]) -> str:
    """Return the problem of a reply that has too many quotes to look up, or ""."""
    answers = (answer for answers in answers_of.values() for answer in answers)
    quotes = [citation.get("quote") for answer in answers for citation in answer.citations]
    characters = sum(len(quote) for quote in quotes if isinstance(quote, str))
    if len(quotes) <= _MOST_CITATIONS and characters <= _MOST_QUOTED:
        return ""
    return (
        f"the judge gave {len(quotes):,} citations with {characters:,} characters, at most "
        f"{_MOST_CITATIONS} with {_MOST_QUOTED:,} are looked up: quote less"
    )


def _verdict(answer: _Answer, contexts: Collection[int] | None) -> Verdict:
    word = answer.fields.get("verdict", answer.fields.get("label"))
    label = label_of(word)
    if label is None:
        return Verdict(
            None,
            problem=f"the judge's verdict {str(word)[:40]!r} is none of supported, partial, "
            "not_supported, contradicted",
        )
    if label == "not_supported" or contexts is None:
        return Verdict(label)
    if not answer.citations:
        if label == "contradicted":
            return Verdict(label)
        return Verdict(None, problem="the judge cites no context for its verdict")
    citations, unknown = [], []
    for citation in answer.citations:
        number, quote = number_of(citation.get("context")), citation.get("quote")
        if number is None or number not in contexts:
            unknown.append(citation.get("context"))
        else:
            citations.append(Citation(number - 1, quote if isinstance(quote, str) else ""))
    together = answer.fields.get("together") is True
    # Ignore unknown contexts only if a known one is enough without them.
    if unknown and (together or not citations):
        problem = f"the judge cites context {unknown[0]!r}, which is not there"
        return Verdict(None, problem=problem)
    return Verdict(label, tuple(citations), together=together)


def _citations(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    cited = answer.get("citations")
    if isinstance(cited, dict) and "context" in cited:
        cited = [cited]
    if not isinstance(cited, list):
        return []
    return [citation if isinstance(citation, dict) else {"context": citation} for citation in cited]


def number_of(value: object) -> int | None:
    """Parse a number in any form: 1, 1.0, "1", "claim 1", "#1", "[1]".

    Return None for other values.
    """
    if type(value) is int and 0 <= value < _FIRST_TOO_LARGE:
        return value  # most numbers
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        value = str(value)
    if not isinstance(value, str) or len(value) > _LONGEST_ID:
        return None
    written = _ID.fullmatch(value.strip())
    return int(written[1]) if written else None


def _caseless(word: str) -> str:
    folded = unicodedata.normalize("NFC", word).casefold()
    return re.sub(r"[\s_-]+", " ", folded).strip(" .,;:!*\"'`。")


_REASON = re.compile(r":|\(|\s[-\u2013\u2014]\s")
_TAKES_BACK = re.compile(
    r"\b(?:but|however|although|though|except|only|part\w*|contradict\w*|unsupport\w*|support\w*)\b",
    re.IGNORECASE,
)
_LABELS: Mapping[str, VerdictLabel] = {
    word: label
    for label in LABELS
    for word in (label, *map(_caseless, _WORDS_OF[label].split(";")))
}


def label_of(word: object) -> VerdictLabel | None:
    """Return the label that a word means, in any letter case; None if unknown or ambiguous.

    The word "false" is ambiguous: it may mean that a claim is contradicted, or that it is not
    supported. A boolean False, like 0, means not supported, since there are only two values. A
    reason after the label is ignored. If it takes the label back ("supported (only in part)"),
    the result is None.
    """
    if isinstance(word, (bool, int, float)) and word in (0, 1):
        return "supported" if word else "not_supported"
    if not isinstance(word, str):
        return None
    if word in _LABELS:
        return _LABELS[word]  # Most labels are already in the table.
    if word.strip() in ("0", "1"):
        return label_of(int(word))
    head, *reason = _REASON.split(word, maxsplit=1)
    return None if _TAKES_BACK.search("".join(reason)) else _LABELS.get(_caseless(head))
