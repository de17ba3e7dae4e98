"""Import optional dependencies when they are first used; an error names a missing one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fullrecall.errors import MissingExtraError


def imported(module: str, package: str, extra: str, purpose: str) -> Any:
    """Import a module; raise `MissingExtraError` if it is missing.

    The error names the package, the extra that installs it, and the purpose.
    """
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(package, extra, purpose) from None


def pyplot(purpose: str) -> Any:
    """Return `matplotlib.pyplot`, which is imported for this purpose."""
    imported("matplotlib", "matplotlib", "plot", purpose)
    # An error inside matplotlib, such as a missing backend, does not mean that it is missing.
    return import_module("matplotlib.pyplot")


def pyarrow(purpose: str) -> Any:
    """Return pyarrow, imported for this purpose with its modules `compute` and `parquet`."""
    for name in ("compute", "parquet"):
        imported(f"pyarrow.{name}", "pyarrow", "parquet", purpose)
    return import_module("pyarrow")
