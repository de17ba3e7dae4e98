"""Ports: the objects that rooms plug into the kernel.

The facade, `fullrecall/__init__`, fills the table. The kernel names a port and never a room, so it
works without any of them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

PORTS: dict[str, str] = {}
"""For each port the face of a room and, after a colon, the name that is plugged in."""


@cache
def plugged(port: str) -> Any:
    """Return the object that is plugged into a port; None without the room that has it."""
    face, _, name = PORTS.get(port, "").partition(":")
    if not face:
        return None
    try:
        return getattr(import_module(face), name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{face}.".startswith(f"{error.name}."):
            raise
        return None
