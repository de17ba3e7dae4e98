"""Locks of reports that are being written."""

from __future__ import annotations

from pathlib import Path

from fullrecall.errors import ReportError


def lock(descriptor: int, path: Path) -> None:
    """Lock an open file or directory until it is closed.

    Raises `ReportError` if another run holds the lock. Does nothing if the system or the file
    system has no such locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows has no such locks.
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ReportError(f"another run writes to {path}: wait for its end") from None
    except OSError:  # This file system has no locks.
        return
