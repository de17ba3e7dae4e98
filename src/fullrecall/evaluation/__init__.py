"""Running scorers over samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.evaluation.run import aevaluate, evaluate

__all__ = [
    "aevaluate",
    "evaluate",
]

_MODULES = {
    "aevaluate": "run",
    "evaluate": "run",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
