"""The optional dependencies: each is imported when it is first used, and named when missing."""

from __future__ import annotations

from typing import Any

from fullrecall.errors import MissingExtraError


def pandas(purpose: str) -> Any:
    """Return pandas; raises `MissingExtraError` naming the extra and what needs it."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "pandas", purpose) from None
    return pd


def numpy(purpose: str) -> Any:
    """Return NumPy; raises `MissingExtraError` naming the extra and what needs it."""
    try:
        import numpy as np
    except ImportError:
        raise MissingExtraError("numpy", "stats", purpose) from None
    return np


def scipy_special(purpose: str) -> Any:
    """Return `scipy.special`, which loads in a fraction of the time that `scipy.stats` takes.

    Raises `MissingExtraError` naming the extra and what needs it.
    """
    try:
        from scipy import special
    except ImportError:
        raise MissingExtraError("scipy", "stats", purpose) from None
    return special


def pyplot(purpose: str) -> Any:
    """Return `matplotlib.pyplot`; raises `MissingExtraError` naming the extra and what needs it."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", purpose) from None
    return plt
