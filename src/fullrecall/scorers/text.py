"""Recall by the similarity of whole texts: RapidFuzz scorers by name, or any callable."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from operator import ge, gt
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from fullrecall._util.parameters import check_choice, check_share
from fullrecall._util.pieces import pause, paused
from fullrecall.errors import ParameterError
from fullrecall.measures.findings import CreditStep, Evidence, Finding, Target
from fullrecall.samples.context import Context
from fullrecall.samples.sample import Sample
from fullrecall.scorers.scorer import (
    DeterministicScorer,
    Found,
    Unmeasured,
    first_ranks,
    require,
    retrieved_texts,
)

Similarity: TypeAlias = Callable[[str, str], float]
"""A function of a reference and a retrieved text, in this order, that returns a number in [0, 1].
"""

_DISTANCES: Mapping[str, str] = {
    "levenshtein": "Levenshtein",
    "indel": "Indel",
    "damerau_levenshtein": "DamerauLevenshtein",
    "osa": "OSA",
    "lcs": "LCSseq",
    "hamming": "Hamming",
    "jaro": "Jaro",
    "jaro_winkler": "JaroWinkler",
}
_COUNTED = ("levenshtein", "indel", "damerau_levenshtein", "osa", "lcs", "hamming")
"""Similarities that count edits in whole numbers, so that one call for many pairs returns exactly
the same values as single calls.
"""

_LENGTHY = 5_000_000
"""The work, as the sum over pairs of the product of their lengths, from which several cores are
used. Less work is not worth starting threads, which takes about 0.1 ms.
"""

_MOST = 2e10
"""The most cells of the table for two texts, a cell for each pair of their characters; RapidFuzz
takes up to two seconds to fill them.
"""

_LONG, _PIECE = 1e8, 2e9
"""The most cells of two texts that are compared in one call with others, and the most cells that
are computed between two pauses.
"""

_CALL = 2e4
"""The fixed work of a call, in cells; for short texts it is most of the work."""

_SLOWNESS: Mapping[str, float | None] = {
    "damerau_levenshtein": 30.0,  # RapidFuzz fills its cells one by one, not 64 at a time
    "hamming": 1e-6,  # RapidFuzz compares character by character, without a table
    **dict.fromkeys(("partial_ratio", "partial_token_sort_ratio"), None),
    **dict.fromkeys(("partial_token_set_ratio", "partial_token_ratio", "WRatio"), None),
}
"""The cost of a cell relative to the usual one. None means a third of the shorter text's length,
since the shorter text is compared with every part of the longer one.
"""

# A cut-off lets RapidFuzz stop early, but at exactly the threshold rounding could change a
# decision. So cut slightly lower, and compare the exact value.
_SLACK = 1e-6


class BoundedSimilarity:
    """A similarity that is exact at or above `threshold` and may be 0 below it.

    Takes a RapidFuzz scorer by name or as a function, or another callable; values of
    `rapidfuzz.fuzz` are divided by 100. Raises `ParameterError` for a name that RapidFuzz does not
    have, and for a distance. Calls raise it for a callable whose value is outside [0, 1].
    """

    __slots__ = ("_best", "_cutoff", "_function", "_in_one_call", "_slowness")

    def __init__(self, similarity: str | Similarity, threshold: float) -> None:
        function: Any = _named(similarity) if isinstance(similarity, str) else similarity
        self._function = function
        scorer = getattr(function, "_RF_ScorerPy", None)
        self._in_one_call = scorer is not None and function in map(_named, _COUNTED)
        self._slowness: float | None = 1.0
        self._best: float | None = None
        """The value that RapidFuzz's scorer gives equal texts; None for another callable."""
        self._cutoff = 0.0
        if scorer is None:
            if not callable(function):
                raise ParameterError(
                    f"must be a name or a callable, got {similarity!r}", "similarity"
                )
            return
        flags = scorer["get_scorer_flags"]()
        if flags["worst_score"] != 0 or flags["optimal_score"] not in (1, 100):
            raise ParameterError(
                f"must be a normalized similarity, got {similarity!r}: pass "
                "normalized_similarity of the same module",
                "similarity",
            )
        names = {name for name, known in _by_name().items() if known is function}
        self._slowness = next((_SLOWNESS[name] for name in names & _SLOWNESS.keys()), 1.0)
        self._best = flags["optimal_score"]
        self._cutoff = max(0.0, threshold - _SLACK) * flags["optimal_score"]

    def __call__(self, reference: str, text: str) -> float:
        """Return the similarity of a reference and a retrieved text, in [0, 1]."""
        if self._best is None:
            value = self._function(reference, text)
            if not 0 <= value <= 1:
                name = getattr(self._function, "__qualname__", repr(self._function))
                raise ParameterError(
                    f"similarity {name} must return a number in [0, 1], got {value!r}"
                )
            return float(value)
        return float(self._function(reference, text, score_cutoff=self._cutoff)) / self._best

    def rows(self, references: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
        """Return a row for each reference, with its similarity to each text.

        The values equal those of single calls. Raises `Unmeasured` for two texts that RapidFuzz
        would compare for seconds.
        """
        longest, width = max(map(len, references), default=0), sum(map(len, texts))
        pair = self._cost(longest, max(map(len, texts), default=0))
        # Compare many pairs in one call only with similarities that count edits: Jaro and `fuzz`
        # divide, so they may round the last bit differently. Compare long texts in single calls,
        # which first strip the common beginning and end of two texts.
        if self._in_one_call and pair <= _LONG and self._cost(longest, width) <= _PIECE:
            size = max(1, int(_PIECE // max(1, self._cost(longest, width))))
            pieces = (references[n : n + size] for n in range(0, len(references), size))
            return [row for piece in pieces for row in self._at_once(piece, texts)]
        rows: list[list[float]] = []
        work = 0.0
        # Add fixed work for each call. The work of a user's function does not follow from the
        # lengths of the texts, and for short texts most of the work is fixed.
        least = _PIECE / 100 if self._best is None else _CALL
        for reference in references:
            rows.append([])
            for text in texts:
                work += least + self._cost(len(reference), len(text))
                if work > _PIECE:
                    pause()
                    work = 0.0
                self._check(reference, text)
                rows[-1].append(self(reference, text))
        return rows

    def _cost(self, one: int, other: int) -> float:
        """Return the work of comparing two texts of these lengths.

        The unit is a table cell (see `_MOST`) of the usual cost (see `_SLOWNESS`).
        """
        return one * other * (self._slowness or min(one, other) / 3)

    def _check(self, reference: str, text: str) -> None:
        """Raise `Unmeasured` for two texts whose comparison would take too long."""
        lengths = len(reference), len(text)
        if self._best is None or self._cost(*lengths) <= _MOST:
            return
        # Allow lengths that differ so much that RapidFuzz returns at once.
        if self._in_one_call and 2 * min(lengths) < self._cutoff * sum(lengths):
            return
        if self._cost(*_differing(reference, text)) > _MOST:
            raise Unmeasured(
                f"a reference of {lengths[0]:,} characters and a retrieved text of {lengths[1]:,} "
                "are too long to compare: cut them into passages, or use SpanRecall"
            )

    def _at_once(self, references: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
        pause()
        import numpy as np
        from rapidfuzz.process import cdist

        work = sum(map(len, references)) * sum(map(len, texts))
        compared: list[list[float]] = cdist(
            references,
            texts,
            scorer=self._function,
            score_cutoff=self._cutoff,
            dtype=np.float64,
            workers=_cores() if work >= _LENGTHY else 1,
        ).tolist()
        return compared


@cache
def _by_name() -> Mapping[str, Any]:
    """Return RapidFuzz's normalized similarities, and the ratios of `fuzz`, by name."""
    from rapidfuzz import distance, fuzz

    distances = {
        name: getattr(distance, kind).normalized_similarity for name, kind in _DISTANCES.items()
    }
    return distances | {
        name: ratio for name, ratio in vars(fuzz).items() if hasattr(ratio, "_RF_ScorerPy")
    }


def is_name(name: str) -> bool:
    """Return whether a similarity of RapidFuzz has this name; other names are users' functions."""
    return name in _by_name()


def _named(name: str) -> object:
    if not is_name(name):
        names = ", ".join(_by_name())
        raise ParameterError(f"must be one of {names}, or a callable, got {name!r}", "similarity")
    return _by_name()[name]


def _cores() -> int:
    """Return the number of cores that this process may use, at most 8.

    More threads would only wait for the interpreter's lock.
    """
    affinity = getattr(os, "sched_getaffinity", None)  # macOS and Windows have no such function
    usable = len(affinity(0)) if affinity is not None else os.cpu_count()
    return min(8, usable or 1)


def _differing(reference: str, text: str) -> tuple[int, int]:
    """Return the lengths of two texts without their common beginning and end."""
    from rapidfuzz.distance import Postfix, Prefix

    start = Prefix.similarity(reference, text)
    end = min(Postfix.similarity(reference, text), min(len(reference), len(text)) - start)
    return len(reference) - start - end, len(text) - start - end


ThresholdOperator = Literal["ge", "gt"]


@dataclass(frozen=True, kw_only=True)
class TextRecall(DeterministicScorer):
    """The share of the reference contexts that the retriever returned, compared by text.

    A target is a reference context, or an any-of group of them; it is found at the first rank whose
    text is similar enough: `similarity(reference, retrieved)` is at or above `threshold`
    (`comparison="gt"`: strictly above, as ragas's non-LLM recall compares).

    `similarity` is a RapidFuzz scorer by name or as a function, or any callable of two texts that
    returns a number in [0, 1]. The default is the normalized Levenshtein similarity, 1 - distance /
    length of the longer text (Levenshtein, 1966; scaled as RapidFuzz does). It compares whole
    texts, so a reference that is contained in a chunk of twice its length has a similarity of at
    most 0.5. If chunks are longer or shorter than the references, use `SpanRecall`, or a partial
    similarity such as "partial_ratio".

    Raises `ParameterError` when a callable returns a number outside [0, 1].
    """

    similarity: str | Similarity = "levenshtein"
    threshold: float = 0.5
    comparison: ThresholdOperator = "ge"

    kind: ClassVar[str] = "text_recall"
    labels: ClassVar[Collection[str]] = ("reference_contexts",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self.threshold, "threshold")
        check_choice(self.comparison, "comparison", get_args(ThresholdOperator))
        BoundedSimilarity(self.similarity, self.threshold)

    def __getstate__(self) -> dict[str, object]:
        # The cached similarity has functions that may not be picklable; workers create their own.
        return {name: value for name, value in self.__dict__.items() if name != "_bounded"}

    @cached_property
    def _bounded(self) -> BoundedSimilarity:
        """The similarity, which is exact at or above the threshold."""
        return BoundedSimilarity(self.similarity, self.threshold)

    def _find(self, sample: Sample) -> Found:
        texts = retrieved_texts(sample)
        references = require(sample.reference_contexts, "reference_contexts")
        groups = list(dict.fromkeys(tuple(map(_text, each)) for each in paused(references)))
        # Compare a repeated text once; it is found at its first rank.
        rank_of = {text: rank for text, rank in first_ranks(texts).items() if text}
        distinct = list(dict.fromkeys(chain.from_iterable(groups)))
        rows = self._bounded.rows(distinct, list(rank_of))
        row_of = dict(zip(distinct, rows, strict=True))
        return Found(
            [self._finding(each, rank_of, row_of) for each in paused(groups, 100)], len(texts)
        )

    def _finding(
        self,
        group: tuple[str, ...],
        rank_of: Mapping[str, int],
        row_of: Mapping[str, Sequence[float]],
    ) -> Finding:
        """Return the finding of an any-of group; each text that is similar enough is evidence."""
        similarities = [
            1.0 if text in group else max(row_of[reference][nth] for reference in group)
            for nth, text in enumerate(rank_of)
        ]
        passes = ge if self.comparison == "ge" else gt
        evidence = tuple(
            Evidence(rank, similarity=similarity)
            for rank, similarity in zip(rank_of.values(), similarities, strict=True)
            if passes(similarity, self.threshold)
        )
        ranks = tuple(piece.rank for piece in evidence)
        steps = (CreditStep(ranks[0], 1.0),) if ranks else ()
        return Finding(Target(group), steps, ranks, evidence)


def _text(context: Context) -> str:
    if context.text is None:
        raise Unmeasured(f"the reference context {context.id!r} has no text to compare")
    return context.text
