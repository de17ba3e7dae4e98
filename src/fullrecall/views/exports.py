"""Reports and comparisons as JSON and CSV; `file` writes what `Report.load` reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from fullrecall.counts import counted
from fullrecall.views import frames, spreadsheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fullrecall.measures import Measure
    from fullrecall.report.report import Report
    from fullrecall.results.comparison import Comparison


def as_json(report: Report, measures: Sequence[Measure] = ()) -> str:
    """Return one JSON object; see `Report.to_json`."""
    read = frames.measures_of(report.methods, measures)
    content = {
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
                        "measures": {measure.name: result[measure] for measure in labels.values()},
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
    return json.dumps(content, indent=1) + "\n"


def as_csv(report: Report, measures: Sequence[Measure] = (), delimiter: str = ",") -> str:
    """Return a head and one line for each sample; see `Report.to_csv`."""
    columns = frames.score_columns(report.methods, measures)
    rows = frames.score_rows(report, measures)
    return spreadsheet.table(
        [columns, *([row.get(name) for name in columns] for row in rows)], delimiter
    )


def comparison_as_json(comparison: Comparison) -> str:
    """Return one JSON object; see `Comparison.to_json`."""
    return json.dumps({"kind": "fullrecall comparison", **comparison.to_dict()}, indent=1) + "\n"


def comparison_as_csv(comparison: Comparison, delimiter: str = ",") -> str:
    """Return a head and one line for each sample; see `Comparison.to_csv`."""
    columns = frames.change_columns(comparison)
    rows = frames.change_rows(comparison)
    return spreadsheet.table(
        [columns, *([row.get(name) for name in columns] for row in rows)], delimiter
    )


class Text(str):
    """What was written to a file: as a cell's last value it shows where, and not all of itself."""

    __slots__ = ("path",)
    path: Path

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'character')}, written to {self.path}>"


def kept(text: str, path: str | Path | None) -> str:
    """Return a text that was written to `path`, if there is one."""
    if path is None:
        return text
    output = Text(text)
    output.path = Path(path)
    return output


def written(text: str, path: str | Path | None) -> str:
    """Return `text`, and write it to `path` if there is one; the file that is there is replaced."""
    if path is not None:
        part = Path(f"{path}.part")
        try:
            part.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    return kept(text, path)


def written_table(text: str, path: str | Path | None) -> str:
    """Return a table as CSV, and write it with a byte order mark to `path` if there is one."""
    if path is not None:
        written(f"{spreadsheet.BOM}{text}", path)
    return kept(text, path)
