"""The sentence that says how a run ended."""

from __future__ import annotations

from itertools import takewhile


def ending(error: BaseException) -> str:
    """Return the message of an error that ended a run, as one sentence for `Report.stopped`."""
    if isinstance(error, KeyboardInterrupt):
        return "the run was interrupted"
    # The advice after the message is left out: it concerns the input, and the report may be opened
    # later.
    said = takewhile(lambda line: not line.endswith(":"), str(error).splitlines())
    return f"the run was stopped: {'; '.join(said) or type(error).__name__}"
