"""Postpone garbage collection while many lasting objects are created: rows, or modules."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def age() -> None:
    """Put all objects into the oldest generation: the next collections do not visit them.

    Importing modules creates some hundred thousand lasting objects.
    """
    if not gc.get_freeze_count():  # never unfreeze objects that the program froze
        gc.freeze()
        gc.unfreeze()


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch garbage collection off in this block, which creates many lasting objects."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
