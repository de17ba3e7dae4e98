"""Garbage collection is off in a block, and as before after it."""

from __future__ import annotations

import gc
from contextlib import suppress

import pytest

from fullrecall._util.garbage import age, uncollected


@pytest.mark.parametrize("was_enabled", [True, False])
def test_the_collector_is_as_before(*, was_enabled: bool) -> None:
    """Also after an exception, and where it was off before."""
    switch = gc.enable if was_enabled else gc.disable
    switch()
    try:
        with suppress(KeyError), uncollected():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() == was_enabled
    finally:
        gc.enable()


@pytest.mark.parametrize("is_frozen", [True, False])
def test_old_objects_are_visited_by_the_last_collection_alone(*, is_frozen: bool) -> None:
    """Objects are put into the oldest generation, but none that the program froze."""
    gc.unfreeze()  # conftest.py froze the objects from before this file
    own: list[object] = [[]]
    if is_frozen:
        gc.freeze()
    try:
        age()
        assert (gc.get_freeze_count() > 0) is is_frozen
        oldest = {id(each) for each in gc.get_objects(generation=2)}
        assert (id(own) in oldest) is not is_frozen
    finally:
        gc.unfreeze()
