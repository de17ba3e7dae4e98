"""Which rows are drawn where not all can be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random


def drawn_places(size: int, n: int, seed: int = 0) -> Sequence[int]:
    """Return `n` indices below `size`, drawn at random, ascending; all if there are fewer."""
    every = range(size)
    return every if size <= n else sorted(Random(seed).sample(every, n))  # noqa: S311 - no secret
