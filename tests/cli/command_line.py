"""Samples, and functions that run the command line."""

from __future__ import annotations

import re
import sys
from typing import Any

from typer.testing import CliRunner

from fullrecall.cli import app

SAMPLES: list[dict[str, Any]] = [
    {
        "id": "q1",
        "user_input": "Where is the Eiffel Tower?",
        "retrieved_context_ids": ["d1", "d2", "d3", "d4", "d5", "d6", "d7"],
        "reference_context_ids": ["d2", "d7", "d9"],
    },
    {
        "id": "q2",
        "user_input": "Who built it?",
        "retrieved_context_ids": ["d8", "d8", "d1"],
        "reference_context_ids": ["d1"],
    },
    {"id": "q3", "retrieved_context_ids": ["d1"], "reference_context_ids": []},
    {"id": "q4", "reference_context_ids": ["d1"]},
]


TEXTS = {
    "user_input": "Where is it?",
    "retrieved_contexts": [{"id": "d1", "text": "It stands in Paris, on the Champ de Mars."}],
    "reference_contexts": ["It stands in Paris, on the Champ de Mars."],
    "reference": "The tower is in Paris.",
    "reference_context_ids": ["d1"],
}


def run(*arguments: object, **options: Any) -> Any:
    """Run the command line in this process; any exception but an exit is raised.

    `options` are those of the runner, such as `input`.
    """
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False, **options)


def command(*arguments: object) -> list[str]:
    """Return the command that runs the installed command line in a process of its own."""
    start = "from fullrecall.cli import main; main()"
    return [sys.executable, "-c", start, *map(str, arguments)]


def row_of(printed: str, label: str) -> list[str]:
    """Return the cells of a table's row."""
    (cells,) = re.findall(rf"^  {re.escape(label)}  +(.+)$", printed, re.MULTILINE)
    return str(cells).split()
