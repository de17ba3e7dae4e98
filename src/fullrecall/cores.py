"""How many cores this process may use."""

from __future__ import annotations

import os

_MOST = 8
"""With more threads, those that hold the interpreter's lock keep the others waiting."""


def cores() -> int:
    """Return how many cores this process may use, 8 at most."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    usable = len(affinity(0)) if affinity is not None else os.cpu_count()
    return min(_MOST, usable or 1)
