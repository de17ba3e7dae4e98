"""Who may ask: a lease of one key, held by one process until it ends or its owner is dead."""

from __future__ import annotations

import os
import platform
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

LEASE_SECONDS = 15.0
"""A lease that was not renewed for so long is nobody's: its owner is dead, or as good as that."""


_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", None)  # goes on while the machine sleeps


def _steady() -> float:
    return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)


_BEGIN = time.time() - _steady()


def seconds() -> float:
    """Return the time since the epoch, by a clock that does not follow who sets the machine's.

    A process that starts after the clock was set, and one from before, disagree by as much.
    """
    return _BEGIN + _steady()


class Lease(NamedTuple):
    """A row of the store: which claim holds a key, of which process where, and until when."""

    token: bytes
    place: str
    pid: int
    until: float

    def is_held(self) -> bool:
        """Whether its owner may still be at it."""
        now = seconds()
        if not now < self.until <= now + 2 * LEASE_SECONDS:  # beyond: the clock was set back
            return False
        return self.place != own_place() or _lives(self.pid)


@cache
def own_place() -> str:
    """Return where process numbers mean what they mean here: the machine, and the container."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return f"{platform.node()} {space}"


def _lives(pid: int) -> bool:
    if os.name != "posix":
        return True  # there is no harmless way to ask: the lease ends by itself
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it is another user's
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether a process is dead, and its parent has not yet asked how it ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[:1] in (["Z"], ["X"])
