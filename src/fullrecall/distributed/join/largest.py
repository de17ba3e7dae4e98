"""The samples that changed most, found in one pass."""

from __future__ import annotations

from typing import Any

MOST_FLIPS = 1_000
"""Samples whose change is shown."""


class Largest:
    """The rows with the largest changes so far, the first of equal ones."""

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._sizes: list[float] = []

    def add(self, rows: Any, moved: Any) -> None:
        """Add rows with how much each changed; what did not change is left out."""
        import numpy as np

        sizes = np.abs(np.asarray(moved, dtype=np.float64))
        least = min(self._sizes) if len(self._sizes) >= MOST_FLIPS else 0.0
        kept = sizes > 0
        if least:
            kept &= sizes >= least
        if not kept.any():
            return
        all_rows = np.concatenate([np.array(self._rows, np.int64), np.asarray(rows)[kept]])
        all_sizes = np.concatenate([np.array(self._sizes), sizes[kept]])
        order = np.lexsort((all_rows, -all_sizes))[:MOST_FLIPS]
        self._rows, self._sizes = all_rows[order].tolist(), all_sizes[order].tolist()

    def places(self) -> list[int]:
        """Return the rows, the largest change first."""
        return self._rows
