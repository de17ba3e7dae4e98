"""How rows of 240 shapes are read: the fields and their paths, the doubts, or the error.

`python -m tests.files.test_decisions` writes the outcomes into `decisions.jsonl` anew; its diff
then shows which files a change of the rules reads otherwise.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fullrecall.errors import InputError
from fullrecall.read import from_rows

FILE = Path(__file__).with_name("decisions.jsonl")
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
"""Each case: a row, the number of rows like it, and how they are read."""


def decision(row: dict[str, Any], count: int) -> str:
    """Return how rows like this one are read; their number takes the place of `{n}`."""
    text = json.dumps(row)
    samples = from_rows([json.loads(text.replace("{n}", str(n))) for n in range(1, count + 1)])
    error = ""
    try:
        list(samples)
    except InputError as raised:
        error = str(raised)
    if samples.plan is None:
        doubts = [line for line in error.splitlines() if "=?" in line]
        return "\n".join(doubts) or error
    fields = [f"{field}={path}" for field, path in samples.plan.fields.items()]
    return "; ".join([*fields, *filter(None, [error])])


@pytest.mark.parametrize("case", CASES, ids=lambda case: ", ".join(case["row"]))
def test_rows_are_read_as_they_were(case: dict[str, Any]) -> None:
    """A change of the rules changes the reading of no file by chance."""
    assert decision(case["row"], case["rows"]) == case["read"]


if __name__ == "__main__":
    for each in CASES:
        each["read"] = decision(each["row"], each["rows"])
    lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in CASES]
    FILE.write_text("".join(lines), encoding="utf-8")
