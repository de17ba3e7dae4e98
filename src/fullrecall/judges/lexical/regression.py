"""Is a claim supported by contexts? Two models without a language model, a key or a download.

Both are logistic regressions over named features, with signs that were fixed before training, so
that a missing number or an added negation can never speak for a claim. `weights.json` holds them,
readable; `tests/benchmarks/train_embedded_judge.py` made it and says how well they agree with
people on data sets that they were not trained on.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from fullrecall.judges.lexical import static_embeddings
from fullrecall.judges.lexical.features import features
from fullrecall.judges.lexical.matching import Match, match
from fullrecall.judges.lexical.passages import Passage, Reader
from fullrecall.judges.lexical.vetoes import veto

_CLOSING = frozenset(".!?…。！？।؟\"'”’»)]%")  # noqa: RUF001 - they are full-width stops
_LIST_NUMBER = re.compile(r"^\s*\(?\d{1,2}[.)]\s+(?=\S)")
_LAST_LATIN = "\u024f"
_VETOED = 0.3  # what is left of the probability of a claim with a detail that no context has
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
    context: int | None
    start: int | None
    end: int | None


class Judged(NamedTuple):
    """A claim judged by each context alone, and where none is enough, by two jointly.

    `together` are the indices of two contexts that support it only jointly, ascending; or empty.
    """

    alone: list[Support]
    together: tuple[int, ...]


_UNSUPPORTED = Support(0.0, None, None, None)


class _Linear(NamedTuple):
    """A logistic regression over standardised features, as `weights.json` holds it."""

    intercept: float
    features: Mapping[str, Mapping[str, float]]

    def probability(self, measured: Mapping[str, float]) -> float:
        """Return the probability, rounded so that a machine's last bits do not show."""
        score = self.intercept + sum(
            entry["weight"] * (measured[name] - entry["mean"]) / entry["scale"]
            for name, entry in self.features.items()
        )
        return round(1 / (1 + math.exp(-score)), 6)


def _linear(name: str) -> _Linear:
    weights = _weights()[name]
    return _Linear(weights["intercept"], weights["features"])


@cache
def _weights() -> dict[str, Any]:
    text = files(__package__).joinpath("weights.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


class LexicalModel:
    """Support by words alone: the standard library and RapidFuzz.

    Attributes:
        threshold: The probability from which a claim counts as supported.
        AGREEMENT: Balanced accuracy and ROC AUC against human labels, by leaving each data set
            of the training data out in turn, and their means.

    Contexts that were read are kept (up to two million characters of text), since a context is
    judged for many claims. Nothing else is remembered between calls.
    """

    name = "lexical"

    def __init__(self) -> None:
        weights = _weights()[self.name]
        self.threshold: float = weights["threshold"]
        self.AGREEMENT: dict[str, Any] = weights["agreement"]
        self._linear = _linear(self.name)
        self._reader = Reader()

    def __repr__(self) -> str:
        mean = self.AGREEMENT["mean"]
        return (
            f"{type(self).__name__}(balanced accuracy {mean['balanced_accuracy']:.2f}, "
            f"AUC {mean['auc']:.2f} against human labels, on data sets not trained on)"
        )

    def support(
        self, claim: str, contexts: Sequence[str], *, question: str | None = None
    ) -> list[Support]:
        """Judge the claim by each context alone; one answer per context, in order."""
        return [support for support, _ in self._each(claim, contexts, question)]

    def judge(
        self,
        claim: str,
        contexts: Sequence[str],
        *,
        question: str | None = None,
        least: float | None = None,
    ) -> Judged:
        """Judge the claim by each context alone, and by several where none reaches `least`.

        Each text is read once, and time is linear in the contexts: with each one, only the few
        earlier ones are tried that cover most of the claim. So more contexts never lower what
        fewer support.
        """
        least = self.threshold if least is None else least
        each = self._each(claim, contexts, question)
        alone = [support for support, _ in each]
        if len(each) == 1 or any(support.probability >= least for support in alone):
            return Judged(alone, ())
        matches = [found for _, found in each]
        return Judged(alone, self._together(claim, contexts, question, matches, least))

    def _claim(self, text: str) -> Passage:
        """Read a claim, without the list number before it."""
        return self._reader.read(_LIST_NUMBER.sub("", text))

    def _each(
        self, claim: str, contexts: Sequence[str], question: str | None
    ) -> list[tuple[Support, Match]]:
        ours = self._claim(claim)
        asked = self._reader.read(question) if question else None
        judged = []
        for index, context in enumerate(contexts):
            theirs = [self._reader.read(context)]
            found = match(ours, theirs)
            judged.append((_at(self._support(ours, theirs, asked, found, [context]), index), found))
        return judged

    def _together(
        self,
        claim: str,
        contexts: Sequence[str],
        question: str | None,
        matches: Sequence[Match],
        least: float,
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
            joined = [one for other in kept if (one := other.with_(alone)) is not None]
            best = max(joined, key=lambda one: one.weight, default=None)
            if best is not None and best.may_support:
                shown = [contexts[number] for number in best.contexts]
                if self.support_together(claim, shown, question=question).probability >= least:
                    return best.contexts
            kept = sorted([*kept, alone], key=lambda one: -one.weight)[:_KEPT]
        return ()

    def support_together(
        self, claim: str, contexts: Sequence[str], *, question: str | None = None
    ) -> Support:
        """Judge the claim by all contexts jointly: it may need several."""
        ours = self._claim(claim)
        theirs = [self._reader.read(context) for context in contexts]
        asked = self._reader.read(question) if question else None
        return self._support(ours, theirs, asked, match(ours, theirs), contexts)

    def _support(
        self,
        claim: Passage,
        contexts: Sequence[Passage],
        question: Passage | None,
        found: Match,
        texts: Sequence[str],
    ) -> Support:
        if found.best is None:
            return _UNSUPPORTED
        probability = self._probability(claim, contexts, question, found)
        if veto(claim, contexts, found):
            probability = round(probability * _VETOED, 6)
        return Support(probability, *_evidence(found, contexts, texts))

    def measure(
        self, claim: str, contexts: Sequence[str], *, question: str | None = None
    ) -> dict[str, float]:
        """Return the features by name; what the training script learns from."""
        ours = self._claim(claim)
        theirs = [self._reader.read(context) for context in contexts]
        asked = self._reader.read(question) if question else None
        return self._measure(ours, theirs, asked, match(ours, theirs))

    def veto(self, claim: str, contexts: Sequence[str]) -> str:
        """Return the kind of detail that denies support by itself; empty where none does."""
        ours = self._claim(claim)
        theirs = [self._reader.read(context) for context in contexts]
        return veto(ours, theirs, match(ours, theirs))

    def _measure(
        self,
        claim: Passage,
        contexts: Sequence[Passage],
        question: Passage | None,
        found: Match,
    ) -> dict[str, float]:
        return features(claim, contexts, question, found)

    def _probability(
        self,
        claim: Passage,
        contexts: Sequence[Passage],
        question: Passage | None,
        found: Match,
    ) -> float:
        return self._linear.probability(self._measure(claim, contexts, question, found))


class EmbeddedModel(LexicalModel):
    """Support by words and their meaning: the lexical features and static word embeddings.

    Needs the extra `embedded` (wordllama, whose wheel carries the vectors, and numpy). Its vectors
    know next to nothing of scripts other than Latin: a claim mostly in another script is judged
    as by `LexicalModel`.
    """

    name = "embedded"

    def __init__(self) -> None:
        super().__init__()
        self._vectors = static_embeddings.WordVectors()
        self._by_words = _linear(LexicalModel.name)

    def _measure(
        self,
        claim: Passage,
        contexts: Sequence[Passage],
        question: Passage | None,
        found: Match,
    ) -> dict[str, float]:
        measured = super()._measure(claim, contexts, question, found)
        if not found.units or not any(passage.words for passage in contexts):
            return {**measured, **dict.fromkeys(static_embeddings.SIGNS, 0.0)}
        filled = [passage for passage in contexts if passage.words]
        soft = static_embeddings.soft_features(filled, question, found, self._vectors)
        return {**measured, **soft}

    def _probability(
        self,
        claim: Passage,
        contexts: Sequence[Passage],
        question: Passage | None,
        found: Match,
    ) -> float:
        foreign = sum(max(word.written) > _LAST_LATIN for word in claim.words)
        if foreign > len(claim.words) / 2:
            return self._by_words.probability(features(claim, contexts, question, found))
        return super()._probability(claim, contexts, question, found)


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
            credit or not (unit.word.is_number and unit.word.written[0].isdigit())
            for unit, credit in zip(self.match.units, self.credit, strict=True)
        )


def _weighed(found: Match, credit: Sequence[float]) -> float:
    return sum(unit.word.weight * got for unit, got in zip(found.units, credit, strict=True))


def _at(support: Support, index: int) -> Support:
    return support if support.context is None else support._replace(context=index)


def _evidence(
    found: Match, passages: Sequence[Passage], contexts: Sequence[str]
) -> tuple[int, int, int]:
    """Return the context and the characters of the best stretch, with its closing marks."""
    if found.best is None or found.evidence is None:
        raise AssertionError  # pragma: no cover - asked only where something was found
    context = found.best.context
    passage, text = passages[context], contexts[context]
    first, last = found.evidence
    start = passage.words[passage.sentences[max(0, first)][0]].start
    last = min(last, len(passage.sentences) - 1)
    end = passage.words[passage.sentences[last][1] - 1].end
    while end < len(text) and text[end] in _CLOSING:
        end += 1
    return context, start, end
