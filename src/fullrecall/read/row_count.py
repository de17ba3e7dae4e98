"""How many rows a file of samples holds, as far as that is told faster than by reading them."""

from __future__ import annotations

import csv
from pathlib import Path

from fullrecall.read.text_files import FilePath
from fullrecall.report.signature import is_report

_CHUNK = 1 << 20


def row_count(path: FilePath) -> int | None:
    """Return the number of rows of a file; None where only reading it tells.

    Lines of JSON that are not blank are counted, records of CSV, and what Parquet says of itself.
    A compressed file, an array of JSON, spans, a report and standard input say nothing. Never
    raises: what is wrong with the file is for its reader to say.
    """
    path = Path(path)
    kind = path.suffix.lower()
    try:
        if not path.is_file():
            return None
        if is_report(path):
            return None
        if kind in (".jsonl", ".ndjson"):
            return _lines(path)
        if kind in (".csv", ".tsv"):
            return _records(path, "\t" if kind == ".tsv" else ",")
        if kind == ".parquet":
            import pyarrow.parquet as pq

            return int(pq.read_metadata(path).num_rows)
    except (OSError, ValueError, ImportError, csv.Error):
        pass
    return None


def _lines(path: Path) -> int:
    with path.open("rb", buffering=_CHUNK) as file:
        return sum(not line.isspace() for line in file)


def _records(path: Path, delimiter: str) -> int:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return max(0, sum(1 for record in csv.reader(file, delimiter=delimiter) if record) - 1)
