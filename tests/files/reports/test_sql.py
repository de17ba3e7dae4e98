"""Other programs compute a measure of the file in one line of SQL, as the documentation says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.files.reports import made

from fullrecall import IdRecall
from fullrecall.measures import Recall

DOCS = Path(__file__).parents[3] / "docs" / "scale.md"


def documented() -> str:
    """Return the line of SQL in the documentation."""
    (line,) = re.findall(r"^```sql\n(.*)\n```$", DOCS.read_text("utf-8"), re.MULTILINE)
    assert "json" not in line.lower()
    return str(line)


@pytest.mark.parametrize("program", ["duckdb", "polars"])
def test_recall_at_5_in_one_line(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Undefined and unscored samples are left out, as they are in the mean of the report."""
    engine = pytest.importorskip(program)
    report = made.report(500, by=(IdRecall(),))
    report.save(tmp_path / "report.parquet")
    monkeypatch.chdir(tmp_path)
    values = report.values(Recall @ 5)
    mean = np.nanmean(values)
    if program == "duckdb":
        ((got,),) = engine.sql(documented()).fetchall()
    else:
        got = engine.sql(documented(), eager=True).item()
    assert got == pytest.approx(mean, abs=1e-12)
