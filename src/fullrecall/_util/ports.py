"""Ports: the objects that rooms plug into the kernel.

The facade, `fullrecall/__init__`, fills the table. The kernel names a port and never a room, so it
works without any of them.
"""

from __future__ import annotations

from importlib import import_module

# type checkers treat it as True; importing `typing` would slow every `import fullrecall`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PORTS: dict[str, str] = {}
"""For each port, the face of a room and, after a colon, the name that it provides."""

_plugged: dict[str, Any] = {}
"""The objects of the ports that the kernel has asked so far."""


def plugged(port: str) -> Any:
    """Return the object that is plugged into a port; None without its room."""
    if port not in _plugged:
        _plugged[port] = _object_of(*PORTS.get(port, "").split(":"))
    return _plugged[port]


def _object_of(face: str, name: str = "") -> Any:
    """Return a face's export by its name; None if the face is missing."""
    if not face:
        return None
    try:
        return getattr(import_module(face), name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{face}.".startswith(f"{error.name}."):
            raise
        return None
