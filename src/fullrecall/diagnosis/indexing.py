"""The evidence of all lists about the index: documents that it lacks, texts that it changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import log

from fullrecall.diagnosis.causes import Cause, Diagnosed
from fullrecall.diagnosis.corpus import Corpus, letters_of
from fullrecall.diagnosis.effects import Baseline, ChangeKind, Proposal
from fullrecall.samples.context import Context

_FALSE_ALARMS = 0.01
"""Groups that are in no list by chance, of all groups: so many at most are expected."""

_NAMED = 3
"""Groups of documents that a change names."""

_COMPARED = 500
"""Retrieved texts that are compared with those of the corpus."""

_ALIKE = 50.0
"""From this share of letters on, another text of an ID is another version of it."""

_BEGINNING = "are the beginning of their text"
_PART = "are a later part of their text"

_BORDER = re.compile(r"[/\\#?]|::")

_REPLACED = frozenset({Cause.NEVER_RETRIEVED, Cause.LOOKALIKE, Cause.NEAR_DUPLICATE})
"""Causes that a document outside of the index explains better."""


def change_of_texts(corpus: Corpus, lists: Iterable[Sequence[Context] | None]) -> str:
    """Return how most retrieved texts differ from the corpus texts of their IDs, or ""."""
    texts: dict[str, set[str]] = {}
    for context in chain.from_iterable(each or () for each in lists):
        if context.id in corpus.by_id and context.text and corpus.by_id[context.id].text:
            texts.setdefault(str(context.id), set()).add(context.text)
            if len(texts) == _COMPARED:
                break
    single = [(own_id, *of) for own_id, of in texts.items() if len(of) == 1]
    hows = Counter(_change(corpus, own_id, text) for own_id, text in single)
    if hows.pop(_PART, 0):  # The index has chunks, and some are the beginnings of their documents.
        del hows[_BEGINNING]
    how, count = hows.most_common(1)[0] if hows else ("", 0)
    if not how or count * 2 < len(texts):
        return ""
    return f"{count:,} of {len(texts):,} retrieved texts {how} in the corpus"


def _change(corpus: Corpus, own_id: str, text: str) -> str:
    from rapidfuzz import fuzz

    letters, indexed = letters_of(text), letters_of(corpus.by_id[own_id].text)
    if letters == indexed or corpus.of_text(text) is not None:
        return ""  # The text belongs to another ID, so it was not changed.
    if indexed.startswith(letters):
        return _BEGINNING
    if letters in indexed:
        return _PART
    return "are another version of their text" if fuzz.ratio(letters, indexed) >= _ALIKE else ""


def groups_of(context: Context) -> Iterator[str]:
    """Yield the groups of a context: its document, folders, and fields that filters may use."""
    own_id = context.id or ""
    yield from (own_id[: border.end()] for border in _BORDER.finditer(own_id))
    if context.source is not None and context.source != own_id:
        yield context.source
    for name, value in context.metadata.items():
        if isinstance(value, str | bool | int):
            yield f"{name}: {value}"
    yield own_id


def not_searched(corpus: Corpus, lists: Iterable[Sequence[Context] | None]) -> dict[str, str]:
    """Return, by corpus ID, its largest group that no list has, although chance alone would.

    A group is a folder, a value that a filter may require, or a document.
    """
    if not corpus.by_id:
        return {}
    # Copies of a document in one list count once.
    found = Counter(
        chain.from_iterable(
            {str(context.id) for context in each or ()} & corpus.by_id.keys() for each in lists
        )
    )
    groups = {own_id: list(groups_of(context)) for own_id, context in corpus.by_id.items()}
    sizes = Counter(chain.from_iterable(groups.values()))
    reached = {group for own_id in found for group in groups[own_id]}
    share = found.total() / len(corpus.by_id)
    enough = log(len(sizes) / _FALSE_ALARMS)
    missing = {
        group: size
        for group, size in sizes.items()
        if group not in reached and size * share >= enough
    }
    return {
        own_id: max(absent, key=lambda group: (missing[group], group))
        for own_id, of in groups.items()
        if (absent := [group for group in of if group in missing])
    }


def with_unsearched(misses: Sequence[Diagnosed], groups: Mapping[str, str]) -> list[Diagnosed]:
    """Return the misses; those of documents in no list get the cause `NOT_SEARCHED`."""
    return [
        miss._replace(
            cause=Cause.NOT_SEARCHED,
            detail=f"in the corpus, but no list has anything of {groups[miss.target]!r}",
            rank=None,
        )
        if miss.cause in _REPLACED and miss.target in groups
        else miss
        for miss in misses
    ]


def index_proposals(
    baseline: Baseline, misses: Iterable[Diagnosed], groups: Mapping[str, str]
) -> Iterator[Proposal]:
    """Yield the proposal to search the documents that no list has.

    It assumes that they would be found as often as the other targets, since the record does not
    show their rank.
    """
    absent: dict[str, Counter[str]] = {}
    names: Counter[str] = Counter()
    for miss in misses:
        if miss.cause is Cause.NOT_SEARCHED:
            absent.setdefault(miss.score, Counter())[miss.sample] += 1
            names[groups[miss.target]] += 1
    after = {}
    for score_index, values in baseline.values.items():
        lost = absent.get(baseline.labels[score_index], Counter())
        others = [
            value
            for value, row in zip(values, baseline.rows, strict=True)
            if value is not None and not lost[row.label]
        ]
        rate = sum(others) / len(others) if others else 0.0
        if lost and rate:
            after[score_index] = [
                value
                if value is None or not lost[row.label]
                else value + rate * lost[row.label] / len(row.results[score_index].targets)
                for value, row in zip(values, baseline.rows, strict=True)
            ]
    if after:
        listed = [repr(name) for name, _ in names.most_common(_NAMED)]
        rest = ["…"] if len(names) > _NAMED else []
        action = f"search what no list has: {', '.join([*listed, *rest])} (gain: as other targets)"
        yield Proposal(ChangeKind.SEARCH_ALL, action, after)
