"""Postpone garbage collection while many objects that stay are made: rows, or modules."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def age() -> None:
    """Put all objects into the oldest generation: the next collections do not visit them.

    Modules make some hundred thousand objects that stay.
    """
    if not gc.get_freeze_count():  # a program may have frozen objects of its own
        gc.freeze()
        gc.unfreeze()


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch garbage collection off in this block, which creates many objects that stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
