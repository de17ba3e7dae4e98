"""A report as JSON and as CSV, for other programs; `file` writes what `Report.load` reads."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullrecall.report import frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullrecall.measures import Measure
    from fullrecall.report.report import Report

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a spreadsheet may take for the start of a formula."""


def as_json(report: Report, measures: Sequence[Measure] = ()) -> str:
    """Return one JSON object; see `Report.to_json`."""
    read = frames.measures_of(report.methods, measures)
    plain = {
        "kind": "fullrecall scores",
        "summary": report.summary(*measures).to_dict(),
        "samples": [
            {
                "sample": row.label,
                "user_input": row.sample.user_input,
                "group": row.sample.group,
                "scores": {
                    result.method.name: {
                        "status": str(result.status),
                        "score": result.score,
                        "measures": {one.name: result[one] for one in labels.values()},
                        "retrieved": result.retrieved,
                        "missed": list(result.missed),
                        "reason": result.reason,
                    }
                    for result, labels in zip(row.results, read, strict=True)
                },
            }
            for row in report.rows
        ],
    }
    # Escaped: half an emoji is legal in JSON's input, and no UTF-8.
    return json.dumps(plain, indent=1) + "\n"


def as_csv(report: Report, measures: Sequence[Measure] = ()) -> str:
    """Return a head and one line for each sample; see `Report.to_csv`."""
    columns = frames.score_columns(report.methods, measures)
    text = StringIO()
    writer = csv.writer(text)  # CRLF, as RFC 4180 has it: it also gets a lone CR quoted
    writer.writerow(map(cell, columns))
    for row in frames.score_rows(report, measures):
        writer.writerow(cell(row.get(name)) for name in columns)
    return text.getvalue()


def written(text: str, path: str | Path | None) -> str:
    """Return `text`, and write it to `path` if there is one; the file that is there is replaced."""
    if path is not None:
        part = Path(f"{path}.part")
        try:
            part.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    return text


def cell(value: Any) -> Any:
    """Return a value for a cell: a text that a spreadsheet would run gets an apostrophe."""
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
