"""The verdict contract: exactly the asked targets, each once, each with the words it begins with.

A verdict with a fault of its own is asked for again alone. A reply that numbers otherwise is void:
a number that was not asked for, a context 0, or a verdict that repeats the first words of another
target says that the other verdicts may belong elsewhere, too. Nothing is guessed or dropped.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fullrecall.judges.judge import LABELS, Citation, Label, Verdict
from fullrecall.judges.words.data import table

BEGINS = "begins"
"""The field in which a verdict repeats how its target begins."""

_ID = re.compile(
    r"(?:claim|statement|question|entity|context|source|item|target|id|no|number)?"
    r"[ \t_#:.\[(-]{0,3}(\d{1,9})(?:\.0{1,3})?[\]).:]{0,2}",
    re.IGNORECASE,
)
_LONGEST_ID = 30
_FIRST_TOO_LARGE = 1e9

_MISSPELLED = 0.85
"""How alike an echo and the target's own beginning are, where they are not the same."""

_MOST_CITATIONS = 200
_MOST_QUOTED = 40_000
"""Citations of a reply, and characters of their quotes, that are looked up: twenty verdicts with
three sentences each take a third. More would take long, and prove nothing more."""

_MARKS = re.compile(r"[^a-z0-9]+")

NO_VERDICT = "the judge gave no verdict"


def checked(
    objects: Iterable[Mapping[str, Any]],
    targets: Mapping[int, str],
    contexts: Collection[int] | None,
    *,
    on_itself: bool = False,
) -> dict[int, Verdict]:
    """Return one verdict for each number in `targets`; those without a valid one have a `problem`.

    `targets` are by number. `contexts` are the numbers that a citation may name, with
    `on_itself` only the target's own, None where verdicts cite nothing; citations come out 0-based.
    Of several targets each verdict must repeat how its own begins, further than another begins
    alike.
    """
    items_of: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for item in objects:
        number = _number(item.get("id"))
        if number is None or number not in targets:
            shown = str(item.get("id"))[:40]
            return _void(targets, f"the judge gave a verdict on {shown!r}, which was not asked for")
        items_of[number].append(item)
    problem = _quotes_too_much([item for items in items_of.values() for item in items])
    if problem:
        return _void(targets, problem)
    echoes = _Echoes(targets)
    for number, items in items_of.items():
        for item in items:
            problem = echoes.misfit(number, item.get(BEGINS)) or _counts_from_zero(item)
            if problem:
                return _void(targets, problem)
    verdicts = {}
    for number in targets:
        items = items_of.get(number, [])
        if len(items) == 1:
            unclear = echoes.unclear(number, items[0].get(BEGINS))
            verdicts[number] = (
                Verdict(None, problem=unclear)
                if unclear
                else _verdict(items[0], {number} if on_itself else contexts)
            )
        else:
            problem = NO_VERDICT if not items else f"the judge gave {len(items)} verdicts"
            verdicts[number] = Verdict(None, problem=problem)
    return verdicts


def merged(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of several windows: the best label, with the others that help.

    Which of them counts, and from which rank on, is decided when their evidence is checked. A
    window that was not judged leaves the target open, unless another supports it.
    """
    if len(verdicts) == 1:
        return verdicts[0]
    contested = next((verdict.contested for verdict in verdicts if verdict.contested), "")
    return replace(_merged(verdicts), contested=contested)


def _merged(verdicts: Sequence[Verdict]) -> Verdict:
    # A window may have been judged in smaller groups: what helps stands on one level all the same.
    every = [part for verdict in verdicts for part in (verdict, *verdict.others)]
    helping = [replace(part, others=()) for part in every if part.helps]
    helping.sort(key=lambda verdict: verdict.label != "supported")
    if not helping or helping[0].label == "partial":
        for verdict in verdicts:
            if verdict.label is None:
                return verdict
    if helping:
        return replace(helping[0], others=tuple(helping[1:]))
    denying = [verdict for verdict in verdicts if verdict.label == "contradicted"]
    if not denying:
        return Verdict("not_supported")
    return replace(denying[0], citations=tuple(c for verdict in denying for c in verdict.citations))


class _Echoes:
    """What the verdicts of one reply repeat, against the targets that were asked."""

    def __init__(self, targets: Mapping[int, str]) -> None:
        self._asked = {number: _letters(text) for number, text in targets.items()}

    def misfit(self, number: int, echo: object) -> str:
        """Return what is wrong with an echo that is of another target; empty where nothing is."""
        echoed = _letters(echo) if isinstance(echo, str) else ""
        if not echoed or self._fits(number, echoed):
            return ""
        own = _likeness(self._asked[number], echoed)
        others = (_likeness(text, echoed) for text in self._asked.values())
        if own >= max(_MISSPELLED, *others) and _digits(echoed) == _digits(
            self._asked[number][: len(echoed)]
        ):
            return ""
        return f"the judge's verdict {number} begins {str(echo)[:40]!r}, and {number} does not"

    def unclear(self, number: int, echo: object) -> str:
        """Return why an echo may mean another target; empty where it means this one alone."""
        if len(self._asked) == 1:
            return ""
        echoed = _letters(echo) if isinstance(echo, str) else ""
        if not echoed:
            return f"the judge's verdict does not repeat how its target begins ({BEGINS!r})"
        own = self._asked[number]
        if echoed == own:
            return ""
        fitting = [other for other in self._asked if self._fits(other, echoed)]
        if any(self._asked[other] != own for other in fitting if other != number):
            numbers = ", ".join(map(str, sorted({number, *fitting})))
            return f"the judge's verdict begins {str(echo)[:40]!r}, as {numbers} do: repeat more"
        return ""

    def _fits(self, number: int, echoed: str) -> bool:
        own = self._asked[number]
        return own.startswith(echoed) or echoed.startswith(own)


def _letters(text: str) -> str:
    """Return the letters and digits of a text alone: marks, spaces and case are no difference.

    A target of marks alone is compared as it is.
    """
    if text.isascii():
        lowered = text.lower()
        return _MARKS.sub("", lowered) or lowered.strip()
    folded = unicodedata.normalize("NFKD", text).casefold()
    return "".join(filter(str.isalnum, folded)) or folded.strip()


def _digits(text: str) -> list[str]:
    return list(filter(str.isdigit, text))


def _likeness(target: str, echoed: str) -> float:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.normalized_similarity(target[: len(echoed)], echoed)


def _counts_from_zero(item: Mapping[str, Any]) -> str:
    """Return what says that the judge counts contexts from 0; empty where nothing does."""
    if any(_number(citation.get("context")) == 0 for citation in _citations(item)):
        return "the judge cites context 0: contexts are counted from 1"
    return ""


def _quotes_too_much(items: Iterable[Mapping[str, Any]]) -> str:
    """Return what says that a reply quotes more than is looked up; empty where it does not."""
    quotes = [citation.get("quote") for item in items for citation in _citations(item)]
    characters = sum(len(quote) for quote in quotes if isinstance(quote, str))
    if len(quotes) <= _MOST_CITATIONS and characters <= _MOST_QUOTED:
        return ""
    return (
        f"the judge gave {len(quotes):,} citations with {characters:,} characters, at most "
        f"{_MOST_CITATIONS} with {_MOST_QUOTED:,} are looked up: quote less"
    )


def _void(targets: Mapping[int, str], problem: str) -> dict[int, Verdict]:
    return {number: Verdict(None, problem=problem) for number in targets}


def _verdict(item: Mapping[str, Any], contexts: Collection[int] | None) -> Verdict:
    word = item.get("verdict")
    label = label_of(word)
    if label is None:
        return Verdict(
            None,
            problem=f"the judge's verdict {str(word)[:40]!r} is none of supported, partial, "
            "not_supported, contradicted",
        )
    if label == "not_supported" or contexts is None:
        return Verdict(label)
    cited = _citations(item)
    citations = [
        Citation(number - 1, quote if isinstance(quote := citation.get("quote"), str) else "")
        for citation in cited
        if (number := _number(citation.get("context"))) is not None and number in contexts
    ]
    if citations:
        every = len(citations) == len(cited)
        # What a missing context was needed for, together with the others, is open.
        if every or item.get("together") is not True:
            return Verdict(label, tuple(citations), together=item.get("together") is True)
    if label == "contradicted" and not cited:
        return Verdict(label)
    if not cited:
        return Verdict(None, problem="the judge cites no context for its verdict")
    shown = next(
        citation.get("context")
        for citation in cited
        if _number(citation.get("context")) not in contexts
    )
    return Verdict(None, problem=f"the judge cites context {shown!r}, which is not there")


def _citations(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    cited = item.get("citations")
    if not isinstance(cited, list):
        return []
    return [citation if isinstance(citation, dict) else {"context": citation} for citation in cited]


def _number(value: object) -> int | None:
    """Return the number that a value is, in whatever form: 1, 1.0, "1", "claim 1", "#1", "[1]"."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _FIRST_TOO_LARGE else None
    if isinstance(value, int):
        return value
    if not isinstance(value, str) or len(value) > _LONGEST_ID:
        return None
    written = _ID.fullmatch(value.strip())
    return int(written[1]) if written else None


def _caseless(word: str) -> str:
    folded = unicodedata.normalize("NFC", word).casefold()
    return re.sub(r"[\s_-]+", " ", folded).strip(" .,;:!*\"'`。")


_LABELS: Mapping[str, Label] = {
    _caseless(word): label for label in LABELS for word in table("verdicts.json")[label].split(";")
}


def label_of(word: object) -> Label | None:
    """Return the label that a word means, letter case and marks aside; None where it is unclear.

    The word "false" is not read: it may say that a claim is contradicted, or that it is not
    supported. A boolean has two values alone, so false is all that is not supported.
    """
    if isinstance(word, bool):
        return "supported" if word else "not_supported"
    return _LABELS.get(_caseless(word)) if isinstance(word, str) else None
