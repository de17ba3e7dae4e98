"""The command line: `fullrecall demo`, `evaluate FILE`, `compare BEFORE AFTER`, `gate REPORT`.

Exit codes: 0 success; 1 a negative result, such as FAIL; 2 wrong usage, or input that cannot be
read; 3 an undecided result, such as CANNOT TELL; 130 interrupted; 141 the program that reads the
output has closed it.
"""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper

# Not imported from `typing`: that import would take longer than printing the help. Type checkers
# treat any constant of this name as True.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from fullrecall.cli.commands import app as app
else:

    def __getattr__(name: str) -> object:
        from fullrecall._util import lazy

        return lazy.names(__name__, "main")(name)


def main() -> None:
    """Run the command line: exit with a code, or return after showing the help of all commands."""
    try:
        if sys.argv[1:] in (["-h"], ["--help"]) and "_FULLRECALL_COMPLETE" not in os.environ:
            from fullrecall.cli.overview import overview
            from fullrecall.cli.streams import write

            write(overview() + "\n")
            return
        # Import inside `try`, since the import takes long enough for a Ctrl-C.
        from fullrecall.cli.commands import app

        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                # A terminal that cannot print a character gets "?" instead of a traceback.
                stream.reconfigure(errors="replace")
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # From here on, Ctrl-C ends the process without a traceback from Python's shutdown.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
