"""What runs in a Python of its own: imports that may fail in any way, and must not take us along.

    python -m fullrecall.cli.probe scipy numpy

prints for each name one line of JSON, the name and what is wrong with it; then nothing.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module


def problem_of(module: str) -> str:
    """Import a module; return what it raises, empty if nothing."""
    try:
        import_module(module)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what is asked for
        return " ".join(f"{type(error).__name__}: {error}".split())
    return ""


def main() -> None:
    """Try each name of the command line."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what modules print when they are imported is no answer
    for name in sys.argv[1:]:
        answers.write(json.dumps([name, problem_of(name)]) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
