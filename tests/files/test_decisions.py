"""How rows of many shapes are read: the paths of the fields and the last sample, or the doubts.

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


def decided(case: dict[str, Any]) -> dict[str, Any]:
    """Return a case as its rows are read now; their numbers take the place of `{n}`."""
    text, count = json.dumps(case["row"]), case["rows"]
    samples = from_rows([json.loads(text.replace("{n}", str(n))) for n in range(1, count + 1)])
    outcome: dict[str, Any] = {"row": case["row"], "rows": count}
    try:
        *_, last = samples
        outcome["sample"] = json.loads(json.dumps(last.to_dict()))
    except InputError as error:
        lines = str(error).splitlines()
        outcome["error"] = [line for line in lines if "=?" in line] or lines
    return outcome if samples.plan is None else {**outcome, "plan": dict(samples.plan.fields)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: ", ".join(case["row"]))
def test_rows_are_read_as_they_were(case: dict[str, Any]) -> None:
    """A change of the rules changes the reading of no file by chance."""
    assert decided(case) == case


if __name__ == "__main__":
    made = [json.dumps(decided(case), ensure_ascii=False) + "\n" for case in CASES]
    FILE.write_text("".join(made), encoding="utf-8")
