"""The signs of a wrong file are shown on the command line, in the summary, and on the page."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import run

from fullrecall import Report

GUARDS: dict[str, tuple[str, list[str], dict[str, Any]]] = {
    "the references are read as the retrieval": (
        "every retrieved list equals its references, in all 6 samples",
        ["--scorer", "id_recall"],
        {"expected_ids": ["d{n}"], "retrieved_ids": ["d{n}"]},
    ),
    "the contexts of a test set are read as the retrieval": (
        "come from a generated test set (evolution_type)",
        ["--scorer", "claim_recall", "--judge", "lexical", "--field=retrieved_contexts=contexts"],
        {
            "contexts": ["Employees have 2{n} days of leave per year."],
            "ground_truth": "Employees have 2{n} days of leave.",
            "evolution_type": "simple",
        },
    ),
    "no ID of one side resembles one of the other": (
        "no reference is among the 6 retrieved IDs",
        ["--scorer", "id_recall"],
        {"expected_ids": ["handbook/leave.md#{n}"], "retrieved_ids": ["{n}a9f-77c"]},
    ),
    "a text reference is the name of a file": (
        "the reference context 'leave 0.md' is the source of a retrieved context, not its text",
        ["--scorer", "text_recall"],
        {
            "expected_texts": ["leave {n}.md"],
            "retrieved_contexts": [
                {"text": "Leave is {n} days.", "metadata": {"source": "leave {n}.md"}}
            ],
        },
    ),
}


@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_is_told_on_each_surface(guard: str, tmp_path: Path) -> None:
    """Each sign shows in a report of six questions, on each surface."""
    says, options, columns = GUARDS[guard]
    row = json.dumps({"question": "How many days of leave {n}?", **columns})
    golden, report, page = (tmp_path / name for name in ("g.jsonl", "r.jsonl", "p.html"))
    golden.write_text("".join(row.replace("{n}", str(n)) + "\n" for n in range(6)))
    told = run("evaluate", golden, *options, "--output", report)
    assert told.exit_code == 0, told.stderr
    assert says in " ".join(told.output.split())
    assert says in " ".join(str(Report.load(report).summary()).split())
    assert run("page", report, "--output", page).exit_code == 0
    assert says in " ".join(html.unescape(page.read_text("utf-8")).split())
