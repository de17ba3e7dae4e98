"""How a run ended, in words."""

from __future__ import annotations


def ending(error: BaseException) -> str:
    """Return what an error that ended a run says, as one sentence of `Report.stopped`."""
    if isinstance(error, KeyboardInterrupt):
        return "the run was interrupted"
    first, *_ = str(error).splitlines() or [type(error).__name__]
    return f"the run was stopped: {first}"
