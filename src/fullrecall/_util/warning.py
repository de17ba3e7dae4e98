"""Warnings that show the caller's line."""

from __future__ import annotations

import sys
import warnings


def warn(message: str) -> None:
    """Issue a warning that shows the nearest line of code outside this package."""
    # No fixed stack level fits: public functions are called through wrappers, and from inside the
    # package.
    level, frame = 1, sys._getframe()  # noqa: SLF001 - Python 3.12 can skip files by itself
    while frame.f_globals["__name__"].partition(".")[0] == "fullrecall" and frame.f_back:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
