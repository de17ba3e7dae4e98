"""Numbers as tables and sentences show them."""

from __future__ import annotations


def shown(value: float | None) -> str:
    """Return a measure with three decimals; a dash where there is none."""
    return "-" if value is None else f"{value:.3f}"
