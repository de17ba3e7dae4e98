"""Several threads read one report: no thread gets the last value of another thread."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import pytest

from fullrecall import IdRecall, Report, evaluate
from fullrecall.files.reports import parquet
from fullrecall.measures import RR, Recall

T = TypeVar("T")


LOOKED_UP = {("_cells", "row_groups.py"), ("_outcomes", "table.py")}
"""The functions that cache the value looked up last."""


def interleaved(function: Callable[[], T], other: Callable[[], object]) -> T:
    """Call a function, and `other` at each line that fills a cache, as another thread would."""
    is_inside = False

    def at_line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal is_inside
        if event == "line" and not is_inside:
            is_inside = True
            try:
                other()
            finally:
                is_inside = False
        return at_line

    def at_call(frame: FrameType, _: str, __: Any) -> Any:
        code = frame.f_code
        return at_line if (code.co_name, Path(code.co_filename).name) in LOOKED_UP else None

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        return function()
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("name", ["memory", "r.parquet"])
def test_what_another_thread_reads_changes_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row, its result, and a measure are right while another row and part are read."""
    monkeypatch.setattr(parquet, "GROUP_ROWS", 100)
    rows = [
        {
            "id": f"q{n}",
            "user_input": f"what is {n}?",
            "reference_context_ids": [f"d{n}", "d0"],
            "retrieved_context_ids": [f"d{n % 40}", "d7"],
        }
        for n in range(300)
    ]
    expected = evaluate(rows, IdRecall(), progress=False)
    report = expected
    if name != "memory":
        expected.save(tmp_path / name)
        report = Report.open(tmp_path / name)

    depths = count(1)

    def elsewhere() -> None:
        report.rows[299].results[0].score  # noqa: B018 - it is read
        report.rows[299].results[0][RR @ next(depths)]  # No cache has this value yet.

    for row in (3, 150):
        read = interleaved(lambda row=row: report.rows[row], elsewhere)  # type: ignore[misc]
        assert (read.sample.id, read.sample.user_input) == (f"q{row}", f"what is {row}?")
        score = interleaved(lambda read=read: read.results[0].score, elsewhere)  # type: ignore[misc]
        assert score == expected.rows[row].results[0].score
    measured = interleaved(lambda: report.table.values(0, Recall @ 1).tolist(), elsewhere)
    assert measured == expected.values(Recall @ 1).tolist()
