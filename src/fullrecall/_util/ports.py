"""Ports: objects that higher packages provide to lower ones, which do not import them.

`fullrecall/__init__` fills the table. A lower package names a port, and never the package that
provides the object, so it works without that package.
"""

from __future__ import annotations

from importlib import import_module

# type checkers treat it as True; importing `typing` would slow every `import fullrecall`
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PORTS: dict[str, str] = {}
"""For each port, the module that provides its object and, after a colon, the object's name."""

_plugged: dict[str, Any] = {}
"""The objects of the ports that were used so far."""


def plugged(port: str) -> Any:
    """Return the object of a port, or None if its package is missing."""
    if port not in _plugged:
        _plugged[port] = _object_of(*PORTS.get(port, "").split(":"))
    return _plugged[port]


def _object_of(module: str, name: str = "") -> Any:
    """Return an object of a module by its name, or None if the module is missing."""
    if not module:
        return None
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        return None
