"""How similar two texts are, in [0, 1]: RapidFuzz scorers by name, or any callable."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from fullrecall.errors import ParameterError

Similarity: TypeAlias = Callable[[str, str], float]
"""Takes a reference and a retrieved text, in this order, and returns a number in [0, 1]."""

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
"""What counts edits in whole numbers: many at once are then the same to the last bit as one."""

_LENGTHY = 5_000_000
"""Products of lengths, summed over pairs, from which on several cores compare: starting their
threads takes some 0.1 ms."""

# A cut-off lets RapidFuzz stop early, but one equal to the threshold moves decisions at the
# border by rounding: cut a little lower, and compare the exact value.
_SLACK = 1e-6


class BoundedSimilarity:
    """A similarity that is exact from `threshold` up and may be 0 below it.

    RapidFuzz's scorers are taken by name or as functions, those of `rapidfuzz.fuzz` divided by
    their 100.
    Raises `ParameterError` for a name that RapidFuzz does not have and for a distance; a call
    raises it for a callable's value outside [0, 1].
    """

    __slots__ = ("_best", "_cutoff", "_function", "_in_one_call")

    def __init__(self, similarity: str | Similarity, threshold: float) -> None:
        function: Any = _named(similarity) if isinstance(similarity, str) else similarity
        self._function = function
        scorer = getattr(function, "_RF_ScorerPy", None)
        self._in_one_call = scorer is not None and function in map(_named, _COUNTED)
        self._best: float | None = None
        """RapidFuzz's value of equal texts; None for any other callable."""
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
        self._best = flags["optimal_score"]
        self._cutoff = max(0.0, threshold - _SLACK) * flags["optimal_score"]

    def __call__(self, reference: str, text: str) -> float:
        """Return how similar a retrieved text is to a reference."""
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
        """Return for each reference how similar each text is to it: the numbers of calls."""
        # Jaro and `fuzz` divide: in one call they may round otherwise in the last bit.
        if not self._in_one_call:
            return [[self(reference, text) for text in texts] for reference in references]
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
    """Return RapidFuzz's similarities: normalized ones of distances, and what `fuzz` has."""
    from rapidfuzz import distance, fuzz

    distances = {
        name: getattr(distance, kind).normalized_similarity for name, kind in _DISTANCES.items()
    }
    return distances | {
        name: ratio for name, ratio in vars(fuzz).items() if hasattr(ratio, "_RF_ScorerPy")
    }


def is_name(name: str) -> bool:
    """Return whether a similarity has this name; all others are functions that are passed."""
    return name in _by_name()


def _named(name: str) -> object:
    if not is_name(name):
        names = ", ".join(_by_name())
        raise ParameterError(f"must be one of {names}, or a callable, got {name!r}", "similarity")
    return _by_name()[name]


def _cores() -> int:
    """Return how many cores this process may use.

    8 at most: with more threads, those that hold the interpreter's lock keep the others waiting.
    """
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    usable = len(affinity(0)) if affinity is not None else os.cpu_count()
    return min(8, usable or 1)
