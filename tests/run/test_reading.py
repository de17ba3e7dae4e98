"""No sample is read after the end of a run was asked for, or its deadline has passed."""

from __future__ import annotations

import threading

import pytest

from fullrecall.run.interruption import Interruption


@pytest.mark.parametrize(
    ("flags", "read"), [((), [1, 2, 3]), (("is_asked",), [1]), (("is_late",), [1])]
)
def test_items_are_read_until_the_end_is_asked_for(flags: tuple[str, ...], read: list[int]) -> None:
    """Ctrl-C, or the end of the deadline, while an item is used raises before the next one."""
    interruption = Interruption()
    seen = []
    try:
        for item in interruption.reading([1, 2, 3]):
            assert not interruption.is_reading
            seen.append(item)
            for flag in flags:
                setattr(interruption, flag, True)
    except KeyboardInterrupt:
        assert flags
    assert seen == read
    assert not interruption.is_reading


def test_a_block_that_may_be_interrupted() -> None:
    """Ctrl-C may raise within the block, and no longer after it."""
    interruption = Interruption()
    with interruption.at_once():
        assert interruption.is_reading
    assert not interruption.is_reading
    told = threading.Event()
    with interruption.late_after(0.01, told.set):
        assert told.wait(30)
    assert interruption.is_late
    other = Interruption()
    for seconds in (None, 60.0):
        with other.late_after(seconds):
            pass
    assert not other.is_late
