"""How similar two texts are, in [0, 1]: RapidFuzz scorers by name, or any callable."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from operator import mul
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
"""Products of lengths, summed over pairs, from which on they are compared in one call: it takes
some 0.1 ms."""

_ONE_CALL = 1_000_000_000
"""How many are compared in one call, which nothing can interrupt."""

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

    __slots__ = ("_cutoff", "_function", "_many", "best", "pure")

    def __init__(self, similarity: str | Similarity, threshold: float) -> None:
        function: Any = _named(similarity) if isinstance(similarity, str) else similarity
        scorer = getattr(function, "_RF_ScorerPy", None)
        self.pure = scorer is not None
        self._many = self.pure and function in [_named(name) for name in _COUNTED]
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

    def highest(self, group: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Return how similar each text is to the reference that it is most similar to.

        A text that is one of the references is as similar as can be.
        """
        if self.pure:
            rows = [list(self.of_pairs([own] * len(texts), texts)) for own in group]
        else:
            rows = [[self(own, text) for text in texts] for own in group]
        return [
            1.0 if text in group else max(values)
            for text, values in zip(texts, zip(*rows, strict=True), strict=True)
        ]

    def of_pairs(self, references: Sequence[str], texts: Sequence[str]) -> Iterable[float]:
        """Return how similar each text is to the reference of the same index, for what is pure.

        The same numbers as of calls; where it takes long, on several cores.
        """
        work = list(map(mul, map(len, references), map(len, texts)))
        if not self._many or sum(work) < _LENGTHY:
            function, best = self._function, self.best
            cut = partial(function, score_cutoff=self._cutoff)
            values = map(cut, references, texts)
            return values if best == 1 else [value / best for value in values]
        return chain.from_iterable(
            self._compared(references[part], texts[part]) for part in _parts(work)
        )

    def _compared(self, references: Sequence[str], texts: Sequence[str]) -> list[float]:
        import numpy as np
        from rapidfuzz.process import cpdist

        compared: Any = cpdist(
            references,
            texts,
            scorer=self._function,
            score_cutoff=self._cutoff,
            dtype=np.float64,
            workers=_cores(),
        )
        values: list[float] = (compared if self.best == 1 else compared / self.best).tolist()
        return values


def _parts(work: Sequence[int]) -> Iterator[slice]:
    """Yield slices of pairs that take some ten milliseconds each, or are a single one."""
    start = work_done = 0
    for end, product in enumerate(work, start=1):
        work_done += product
        if work_done > _ONE_CALL:
            yield slice(start, end)
            start, work_done = end, 0
    if start < len(work):
        yield slice(start, len(work))


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
        raise ParameterError(f"no similarity {name!r}: choose one of {names}, or pass a callable")
    return _by_name()[name]


def _checked(function: Similarity) -> Similarity:
    def checked(reference: str, text: str) -> float:
        value = function(reference, text)
        if not 0 <= value <= 1:
            name = getattr(function, "__qualname__", repr(function))
            raise ParameterError(f"similarity {name} must return a number in [0, 1], got {value!r}")
        return float(value)

    return checked


def _cores() -> int:
    """Return how many cores this process may use.

    8 at most: with more threads, those that hold the interpreter's lock keep the others waiting.
    """
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    usable = len(affinity(0)) if affinity is not None else os.cpu_count()
    return min(8, usable or 1)
