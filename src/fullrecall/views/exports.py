"""Reports and comparisons as JSON and CSV; `file` writes what `Report.load` reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullrecall.counts import counted
from fullrecall.views import frames, spreadsheet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fullrecall.measures import Measure
    from fullrecall.report.report import Report


def as_json(content: Mapping[str, Any], kind: str) -> str:
    """Return one JSON object, which says of what kind it is."""
    # Escaped: half an emoji is legal in JSON's input, and no UTF-8.
    return json.dumps({"kind": f"fullrecall {kind}", **content}, indent=1) + "\n"


def scores_as_json(report: Report, measures: Sequence[Measure] = ()) -> str:
    """Return one JSON object; see `Report.to_json`."""
    read = frames.measures_of(report.methods, measures)
    samples = [
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
    ]
    content = {"summary": report.summary(*measures).to_dict(), "samples": samples}
    return as_json(content, "scores")


def as_csv(table: tuple[frames.Columns, frames.Rows], delimiter: str) -> str:
    """Return a head and one line for each row; see `Report.to_csv`."""
    columns, rows = table
    return spreadsheet.table([list(columns), *rows], delimiter)


class Text(str):
    """What was written to a file: as a cell's last value it does not show all of itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'character')}, written to a file>"


def kept(text: str, path: str | Path | None) -> str:
    """Return a text that was written to `path`, if there is one."""
    return text if path is None else Text(text)


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
