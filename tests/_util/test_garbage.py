"""Garbage collection is off in a block, and as before after it."""

from __future__ import annotations

import gc
from contextlib import suppress

import pytest

from fullrecall._util.garbage import uncollected


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
