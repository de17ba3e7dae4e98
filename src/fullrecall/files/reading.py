"""`read`: files of samples by what their name says, and by what their first row is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

from fullrecall._util.naming import parameter
from fullrecall.errors import InputError, ParameterError
from fullrecall.files.beir import is_beir, read_beir
from fullrecall.files.containers import KINDS, FileRows, kind_of, rows_of_file
from fullrecall.files.frames import without_gaps
from fullrecall.files.reports.signature import is_report
from fullrecall.files.rows import ColumnRenaming, Rename, in_file, to_samples
from fullrecall.files.text_files import STANDARD_INPUT, FilePath, existing_file
from fullrecall.observe.sources import is_span_row
from fullrecall.samples.hits import IdKey
from fullrecall.samples.sample import Sample


def read(
    path: FilePath,
    *,
    format: str | None = None,  # noqa: A002 - what it is; nothing here formats
    rename: Rename | None = None,
    id_key: IdKey | None = None,
) -> Iterator[Sample]:
    """Return the samples of a file, one at a time.

    The file's name ends in `.jsonl`, `.ndjson`, `.json`, `.csv`, `.tsv` or `.parquet`, all but the
    last also with `.gz`; `format` is one of them without the dot and overrides. JSON is an array,
    or one object a line. Rows of ragas, LangSmith and deepeval are
    known by their columns. A cell of CSV that holds a list is JSON, a list as Python prints it, or
    IDs separated by one of `;`, `|`, a comma or a line break; an empty one is not given. Text is
    UTF-8, or UTF-16 with a byte order mark, as Excel's "Unicode text" is.

    A folder is BEIR's: `queries.jsonl` and `qrels` (`format="dev"` names another split than
    "test"). `id_key` is where a retrieved context has its ID: a dotted path or a function of it.
    `rename` maps the file's columns to fields (`{"their_column": "our_field", "junk": None}`;
    None leaves the column out).
    Spans (OTLP JSON, Phoenix, MLflow) are known by the first row and read as `from_spans` does.
    Of a saved report, a file or a directory, the samples are read. The path `-` is standard input,
    as JSON Lines unless `format` says otherwise.

    Raises `InputError`, with the file, the line and the field, where the file cannot be read,
    after all samples before it; `ReportError` for a report that cannot be, `ParameterError` for an
    unknown format, and `MissingExtraError` for Parquet without pyarrow.
    """
    name = os.fsdecode(path)
    if Path(name).is_dir() and is_beir(Path(name)):
        return in_file(name, read_beir(Path(name), format or "test"))
    if format is not None and format not in KINDS:
        raise ParameterError(f"must be one of {', '.join(KINDS)}, got {format!r}", "format")
    if format is None and is_report(name):
        _check_columns(ColumnRenaming(rename), "is a saved report")
        from fullrecall.files.reports.saved import open_report
        from fullrecall.stats.evaluation import Evaluation

        return (row.sample for row in open_report(name, Evaluation))
    name = existing_file(path)
    kind = format or ("jsonl" if name == STANDARD_INPUT else kind_of(name))
    if kind is None:
        raise InputError(
            f"the name does not show the format: pass {parameter('format')}, one of "
            f"{', '.join(KINDS)} (TREC's pair of files is read with read_trec(qrels, run), on the "
            "command line with --run)",
            path=name,
        )
    columns = ColumnRenaming(rename, id_key=id_key, lists_are_texts=kind in ("csv", "tsv"))
    return in_file(name, _samples(rows_of_file(name, kind, columns), kind, columns))


def _check_columns(columns: ColumnRenaming, holds: str) -> None:
    if columns.is_renamed:
        raise ParameterError(f"is for files of samples, and this one {holds}", "rename")


def _samples(rows: FileRows, kind: str, columns: ColumnRenaming) -> Iterator[Sample]:
    """Yield the samples of rows, or of spans."""
    with closing(rows):
        first = next(rows, None)
        if first is None:
            return
        if kind not in ("csv", "tsv") and is_span_row(first[1]):
            _check_columns(columns, "holds spans")
            from fullrecall.files.traces import samples_of_spans
            from fullrecall.observe.trace import TraceReading

            yield from samples_of_spans(chain([first], rows), TraceReading(id_key=columns.id_key))
            return
        cell = without_gaps if kind == "parquet" else None
        yield from to_samples(chain([first], rows), columns, cell=cell)
