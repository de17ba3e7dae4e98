"""Writing to standard output, which the reading program may close."""

from __future__ import annotations

import os
import sys

# 128 + SIGPIPE, the exit code of shells for a program that this signal ends.
PIPE_CLOSED = 141


def write(text: str) -> None:
    """Write `text` to standard output; exit quietly if its reader has closed it (`… | head`)."""
    if sys.stdout is None:  # The program that started this one has closed it.
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes again at exit, which would fail again with a message.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(PIPE_CLOSED)
