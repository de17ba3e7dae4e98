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


def pyplot(purpose: str) -> Any:
    """Return `matplotlib.pyplot`; raises `MissingExtraError` naming the extra and what needs it."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", purpose) from None
    return plt


def pyarrow(purpose: str) -> Any:
    """Return pyarrow with `compute` and `parquet`.

    Raises `MissingExtraError` naming the extra and what needs it.
    """
    try:
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", purpose) from None
    return pa
