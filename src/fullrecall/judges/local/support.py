"""Is a claim supported by contexts? Without a language model, a key or a download.

A logistic regression over named features, with signs that were fixed before training, so that a
missing number can never speak for a claim. `weights.json` holds it, readable;
`bench/local_judge.py` made it and says how well it agrees with people on data sets that
it was not trained on.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from fullrecall.judges.local.details import differing_detail
from fullrecall.judges.local.features import features
from fullrecall.judges.local.matching import Match, match
from fullrecall.judges.local.passages import Passage, Reader

_CLOSING = frozenset(".!?…。！？।؟\"'”’»)]%")  # noqa: RUF001 - they are full-width stops
_LIST_NUMBER = re.compile(r"\s*+\(?\d{1,2}[.)]\s++(?=\S)")
_DENIED = 0.3  # what is left of the probability of a claim that differs in a detail
_KEPT = 4  # contexts that are tried with each further one, those that cover most
_COVERED = 0.6  # of the claim's weight, for contexts to be tried together
_ADDED = 0.08  # of it, that each of them must add
_LINKING = 2.5  # what a word weighs that shows two contexts to speak of the same


class Support(NamedTuple):
    """How probably a claim is supported, and the stretch of text that speaks most for it.

    `context` counts from 0; `start` and `end` are character offsets in it. They are None where no
    word of the claim was found.
    """

    probability: float
    context: int | None = None
    start: int | None = None
    end: int | None = None


class Judged(NamedTuple):
    """A claim judged by each context alone, and where none is enough, by two jointly.

    `together` are the indices of two contexts that support it only jointly, ascending; or empty.
    """

    alone: list[Support]
    together: tuple[int, ...]


@cache
def weights() -> Mapping[str, Any]:
    """Return the intercept, the features' weights, the threshold and the measured agreement."""
    text = files(__package__).joinpath("weights.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


class SupportModel:
    """How probably contexts support a claim.

    Contexts that were read are kept (up to two million characters of text), since a context is
    judged for many claims. Nothing else is remembered between calls.
    """

    def __init__(self) -> None:
        self._reader = Reader()

    def support(self, claim: str, contexts: Sequence[str]) -> list[Support]:
        """Judge the claim by each context alone; one answer per context, in order."""
        return [support for support, _ in self._each(claim, contexts)]

    def judge(self, claim: str, contexts: Sequence[str], *, threshold: float) -> Judged:
        """Judge the claim by each context alone, and by two where none reaches the threshold.

        Each text is read once, and time is linear in the contexts: with each one, only the few
        earlier ones are tried that cover most of the claim. So more contexts never lower what
        fewer support.
        """
        each = self._each(claim, contexts)
        alone = [support for support, _ in each]
        if len(each) == 1 or any(support.probability >= threshold for support in alone):
            return Judged(alone, ())
        return Judged(alone, self._together(claim, contexts, [m for _, m in each], threshold))

    def support_together(self, claim: str, contexts: Sequence[str]) -> Support:
        """Judge the claim by all contexts jointly: it may need several."""
        passage, read = self._claim(claim), [self._reader.read(context) for context in contexts]
        return _supported(passage, read, match(passage, read))

    def measure(self, claim: str, contexts: Sequence[str]) -> tuple[dict[str, float], str]:
        """Return the features by name, and the detail that differs; what is trained on."""
        passage, read = self._claim(claim), [self._reader.read(context) for context in contexts]
        found = match(passage, read)
        return features(passage, found), differing_detail(passage, read, found)

    def _claim(self, text: str) -> Passage:
        """Read a claim, without the list number before it."""
        marker = _LIST_NUMBER.match(text)
        return self._reader.read(text[marker.end() :] if marker else text)

    def _each(self, claim: str, contexts: Sequence[str]) -> list[tuple[Support, Match]]:
        passage = self._claim(claim)
        judged = []
        for index, context in enumerate(contexts):
            read = [self._reader.read(context)]
            found = match(passage, read)
            support = _supported(passage, read, found)
            located = support if support.context is None else support._replace(context=index)
            judged.append((located, found))
        return judged

    def _together(
        self, claim: str, contexts: Sequence[str], matches: Sequence[Match], threshold: float
    ) -> tuple[int, ...]:
        """Return the first two contexts that support the claim jointly.

        Two that share no rare word of it speak of different things, and what three cover between
        them is mostly chance: of labeled claims, as many false ones were supported so as true.
        """
        kept: list[_Joined] = []
        for index, found in enumerate(matches):
            alone = _Joined.of(index, found)
            if not alone.weight:
                continue
            joined = [both for other in kept if (both := other.with_(alone)) is not None]
            best = max(joined, key=lambda both: both.weight, default=None)
            if best is not None and best.may_support:
                shown = [contexts[number] for number in best.contexts]
                if self.support_together(claim, shown).probability >= threshold:
                    return best.contexts
            kept = sorted([*kept, alone], key=lambda joined: -joined.weight)[:_KEPT]
        return ()


def _supported(claim: Passage, contexts: Sequence[Passage], found: Match) -> Support:
    if found.best is None:
        return Support(0.0)
    probability = _probability(features(claim, found))
    if differing_detail(claim, contexts, found):
        probability = round(probability * _DENIED, 6)
    return Support(probability, *_evidence(found, contexts))


def _probability(measured: Mapping[str, float]) -> float:
    """Return the probability, rounded so that a machine's last bits do not show."""
    score = weights()["intercept"] + sum(
        entry["weight"] * (measured[name] - entry["mean"]) / entry["scale"]
        for name, entry in weights()["features"].items()
    )
    return round(1 / (1 + math.exp(-score)), 6)


class _Joined(NamedTuple):
    """Contexts taken together: what they cover of the claim's words."""

    contexts: tuple[int, ...]
    credit: tuple[float, ...]
    weight: float
    total: float
    match: Match

    @classmethod
    def of(cls, index: int, found: Match) -> _Joined:
        """Return one context by itself."""
        return cls((index,), found.found, _weighed(found, found.found), found.total, found)

    def with_(self, other: _Joined) -> _Joined | None:
        """Return both together; None if they share no name or rare word, or one adds nothing."""
        if not any(
            mine and theirs and unit.word.weight >= _LINKING
            for unit, mine, theirs in zip(self.match.units, self.credit, other.credit, strict=True)
        ):
            return None
        credit = tuple(map(max, self.credit, other.credit))
        weight = _weighed(self.match, credit)
        if weight < max(self.weight, other.weight) + _ADDED * self.total:
            return None
        return self._replace(
            contexts=(*self.contexts, *other.contexts), credit=credit, weight=weight
        )

    @property
    def may_support(self) -> bool:
        """Whether enough is covered, every number among it, to look more closely."""
        return self.weight >= _COVERED * self.total and all(
            credit or not unit.word.in_digits
            for unit, credit in zip(self.match.units, self.credit, strict=True)
        )


def _weighed(found: Match, credit: Sequence[float]) -> float:
    return sum(unit.word.weight * got for unit, got in zip(found.units, credit, strict=True))


def _evidence(found: Match, passages: Sequence[Passage]) -> tuple[int, int, int]:
    """Return the context and the characters of the best stretch, with its closing marks."""
    assert found.best is not None  # noqa: S101 - asked only where something was found
    context = found.best.context
    passage, text = passages[context], passages[context].text
    first, last = found.evidence
    start = passage.words[passage.sentences[max(0, first)][0]].start
    last = min(last, len(passage.sentences) - 1)
    end = passage.words[passage.sentences[last][1] - 1].end
    while end < len(text) and text[end] in _CLOSING:
        end += 1
    return context, start, end
