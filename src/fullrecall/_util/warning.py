"""Warnings that show the caller's line."""

from __future__ import annotations

import sys
import warnings


def warn(message: str) -> None:
    """Warn at the line outside of this package that led here."""
    # Public names are called through a wrapper, and by others of the package: no fixed level fits.
    level, frame = 1, sys._getframe()  # noqa: SLF001 - Python 3.12 can skip files by itself
    while frame.f_globals["__name__"].partition(".")[0] == "fullrecall" and frame.f_back:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
