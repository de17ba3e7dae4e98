"""What a report is put into words by: its numbers, and how its run ended."""

from __future__ import annotations


def shown(value: float | None) -> str:
    """Return a measure with three decimals; a dash where there is none."""
    return "-" if value is None else f"{value:.3f}"


def ending(error: BaseException) -> str:
    """Return what an error that ended a run says, as one sentence of `Report.stopped`."""
    if isinstance(error, KeyboardInterrupt):
        return "the run was interrupted"
    return f"the run was stopped: {str(error) or type(error).__name__}"
