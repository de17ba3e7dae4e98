"""The optional dependencies: each is imported when it is first used, and named when missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType


def pandas(purpose: str) -> ModuleType:
    """Return pandas; raises `MissingExtraError` naming the extra and what needs it."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("pandas", "pandas", purpose) from None
    return pandas
