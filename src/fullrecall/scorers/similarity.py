"""How similar two texts are, in [0, 1]: RapidFuzz scorers by name, or any callable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

# A cut-off lets RapidFuzz stop early, but one equal to the threshold moves decisions at the
# border by rounding: cut a little lower, and compare the exact value.
_SLACK = 1e-6


def similarity_above(similarity: str | Similarity, threshold: float) -> Callable[[str, str], float]:
    """Return `similarity` as a function that is exact from `threshold` up and may be 0 below it.

    RapidFuzz's scorers are taken by name or as functions, those of `rapidfuzz.fuzz` divided by
    their 100. Raises `ParameterError` for a name that RapidFuzz does not have and for a distance;
    the function raises it for a callable's value outside [0, 1].
    """
    function: Any = _named(similarity) if isinstance(similarity, str) else similarity
    scorer = getattr(function, "_RF_ScorerPy", None)
    if scorer is None:
        if not callable(function):
            raise ParameterError(f"similarity must be a name or a callable, got {similarity!r}")
        return _checked(function)
    flags = scorer["get_scorer_flags"]()
    best = flags["optimal_score"]
    if flags["worst_score"] != 0 or best not in (1, 100):
        raise ParameterError(
            f"similarity must be a normalised similarity, got {similarity!r}: take "
            "normalized_similarity of the same module"
        )
    cutoff = max(0.0, threshold - _SLACK) * best
    if best == 1:
        return lambda reference, text: float(function(reference, text, score_cutoff=cutoff))
    return lambda reference, text: float(function(reference, text, score_cutoff=cutoff)) / best


def is_rapidfuzz(similarity: object) -> bool:
    """Return whether a function is one of RapidFuzz's scorers, which never raise on texts."""
    return hasattr(similarity, "_RF_ScorerPy")


def _named(name: str) -> object:
    import rapidfuzz

    if name in _DISTANCES:
        return getattr(rapidfuzz.distance, _DISTANCES[name]).normalized_similarity
    if name in _FUZZ:
        return getattr(rapidfuzz.fuzz, name)
    raise ParameterError(
        f"no similarity {name!r}: there are {', '.join((*_DISTANCES, *_FUZZ))}, or give a callable"
    )


def _checked(function: Similarity) -> Similarity:
    def checked(reference: str, text: str) -> float:
        value = function(reference, text)
        if not 0 <= value <= 1:
            name = getattr(function, "__qualname__", repr(function))
            raise ParameterError(f"similarity {name} is in [0, 1], but returned {value!r}")
        return float(value)

    return checked
