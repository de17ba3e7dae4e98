"""How similar two texts are, in [0, 1]: RapidFuzz scorers by name, or any callable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
_FUZZ = (
    "ratio",
    "partial_ratio",
    "token_sort_ratio",
    "token_set_ratio",
    "token_ratio",
    "partial_token_sort_ratio",
    "partial_token_set_ratio",
    "partial_token_ratio",
    "WRatio",
    "QRatio",
)

_COUNTED = ("levenshtein", "indel", "damerau_levenshtein", "osa", "lcs", "hamming")
"""What counts edits in whole numbers: many at once are then the same to the last bit as one."""

# A cut-off lets RapidFuzz stop early, but one equal to the threshold moves decisions at the
# border by rounding: cut a little lower, and compare the exact value.
_SLACK = 1e-6


class BoundedSimilarity:
    """A similarity that is exact from `threshold` up and may be 0 below it.

    RapidFuzz's scorers are taken by name or as functions, those of `rapidfuzz.fuzz` divided by
    their 100; they are `pure`: they never raise on texts, and when they are asked does not matter.
    Raises `ParameterError` for a name that RapidFuzz does not have and for a distance; a call
    raises it for a callable's value outside [0, 1].
    """

    __slots__ = ("_cutoff", "_function", "best", "many", "pure")

    def __init__(self, similarity: str | Similarity, threshold: float) -> None:
        function: Any = _named(similarity) if isinstance(similarity, str) else similarity
        scorer = getattr(function, "_RF_ScorerPy", None)
        self.pure = scorer is not None
        self.many = self.pure and function in [_named(name) for name in _COUNTED]
        """Whether `highest` may be called."""
        self.best = 1.0
        """The value of equal texts, before it is divided by itself."""
        self._cutoff = 0.0
        if scorer is None:
            if not callable(function):
                raise ParameterError(f"similarity must be a name or a callable, got {similarity!r}")
            self._function: Any = _checked(function)
            return
        flags = scorer["get_scorer_flags"]()
        if flags["worst_score"] != 0 or flags["optimal_score"] not in (1, 100):
            raise ParameterError(
                f"similarity must be a normalized similarity, got {similarity!r}: pass "
                "normalized_similarity of the same module"
            )
        self._function = function
        self.best = flags["optimal_score"]
        self._cutoff = max(0.0, threshold - _SLACK) * self.best

    def __call__(self, reference: str, text: str) -> float:
        """Return how similar a retrieved text is to a reference."""
        if not self.pure:
            return float(self._function(reference, text))
        return float(self._function(reference, text, score_cutoff=self._cutoff)) / self.best

    def highest(self, references: Sequence[str], texts: Sequence[str]) -> Sequence[float]:
        """Return for each text how similar it is to the reference that it is most similar to.

        The same numbers as of calls, but other threads run meanwhile.
        """
        import numpy as np
        from rapidfuzz.process import cdist

        found: Any = cdist(
            references,
            texts,
            scorer=self._function,
            score_cutoff=self._cutoff,
            dtype=np.float64,
        )
        most = found[0] if len(found) == 1 else found.max(axis=0)
        values: list[float] = (most if self.best == 1 else most / self.best).tolist()
        return values


def _named(name: str) -> object:
    import rapidfuzz

    if name in _DISTANCES:
        return getattr(rapidfuzz.distance, _DISTANCES[name]).normalized_similarity
    if name in _FUZZ:
        return getattr(rapidfuzz.fuzz, name)
    raise ParameterError(
        f"no similarity {name!r}: choose one of {', '.join((*_DISTANCES, *_FUZZ))}, "
        "or pass a callable"
    )


def _checked(function: Similarity) -> Similarity:
    def checked(reference: str, text: str) -> float:
        value = function(reference, text)
        if not 0 <= value <= 1:
            name = getattr(function, "__qualname__", repr(function))
            raise ParameterError(f"similarity {name} must return a number in [0, 1], got {value!r}")
        return float(value)

    return checked
