"""`read`: files of samples by what their name says, and by what their first row is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Any

from fullrecall.errors import InputError, ParameterError
from fullrecall.hits import IdKey
from fullrecall.read.beir import is_beir, is_judgment, read_beir, read_qrels, samples_of_judgments
from fullrecall.read.containers import KINDS, Rows, kind_of, rows_of_file
from fullrecall.read.formats import rows_within
from fullrecall.read.frames import without_gaps
from fullrecall.read.rows import FIELDS, Columns, Rename, in_file, to_samples
from fullrecall.read.text_files import STANDARD_INPUT, FilePath, existing_file
from fullrecall.read.trec import is_qrels
from fullrecall.report.signature import is_report
from fullrecall.sample import Sample
from fullrecall.traces.sources import is_span_row

_SPANS = "spans"
"""The format of a file of spans, which by default is known by its first row."""


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
    one object a line, or one of LlamaIndex's data sets or SQuAD's. Rows of ragas, LangSmith,
    deepeval, HotpotQA and SQuAD are known by their columns. A cell of CSV that holds a list is
    JSON, a list as Python prints it, if no item can be lost, or IDs separated by one of `;`, `|`,
    a comma or a line break; an empty one is not given. Text is UTF-8, or has a byte order mark.

    A folder is BEIR's or MTEB's: `queries` and `qrels` (`format="test"` names another split).
    Qrels alone are known by BEIR's header, else read by `format="trec"`. `id_key` is where a
    retrieved context has its ID: a dotted path or a function of it. `rename` maps the file's
    columns to fields (`{"their_column": "our_field", "junk": None}`; None leaves the column out).
    Spans (OTLP JSON, Phoenix, MLflow) are read as `read_spans` does, known by the first row or by
    `format="spans"`. Of a saved report, a file or a directory, the samples are read. The path `-`
    is standard input, as JSON Lines unless `format` says otherwise.

    Raises `InputError`, with the file, the line and the field, where the file cannot be read,
    after all samples before it; `ReportError` for a report that cannot be, `ParameterError` for an
    unknown format, and `MissingExtraError` for Parquet without pyarrow.
    """
    name = os.fsdecode(path)
    if format == "trec":
        return in_file(name, read_qrels(name))
    if Path(name).is_dir() and is_beir(Path(name)):
        return in_file(name, read_beir(Path(name), format or "test"))
    if format is not None and format not in (*KINDS, _SPANS):
        formats = ", ".join((*KINDS, _SPANS))
        raise ParameterError(f"format must be one of {formats}, got {format!r}")
    if format is None and is_report(name):
        _check_columns(Columns(rename), "is a saved report")
        from fullrecall.report import Report

        return (row.sample for row in Report.open(name))
    name = existing_file(path)
    if format == _SPANS:
        _check_columns(Columns(rename), "holds spans")
        from fullrecall.read.traces import read_spans

        return read_spans(name, id_key=id_key)
    kind = format or ("jsonl" if name == STANDARD_INPUT else kind_of(name))
    if kind is None:
        raise InputError(
            f"the name does not show the format: pass format=, one of {', '.join(KINDS)} "
            "(TREC's pair of files is read with read_trec(qrels, run))",
            path=name,
        )
    if kind == "tsv" and is_qrels(name):
        return in_file(name, read_qrels(name))
    columns = Columns(rename, id_key=id_key, lists_are_texts=kind in ("csv", "tsv"))
    return in_file(name, _samples(rows_of_file(name, kind, columns), kind, columns))


def _check_columns(columns: Columns, holds: str) -> None:
    if columns.is_renamed:
        raise ParameterError(f"rename is for files of samples, and this one {holds}")


def _samples(rows: Rows, kind: str, columns: Columns) -> Iterator[Sample]:
    """Yield the samples of rows, of the data set that is the only row, or of spans."""
    with closing(rows):
        first = next(rows, None)
        if first is None:
            return
        _, row = first
        if kind not in ("csv", "tsv") and is_span_row(row):
            _check_columns(columns, "holds spans")
            from fullrecall.read.traces import samples_of_spans
            from fullrecall.traces.trace import Reading

            yield from samples_of_spans(chain([first], rows), Reading(id_key=columns.id_key))
            return
        if is_judgment(row):
            yield from samples_of_judgments(chain([first], rows))
            return
        inner = rows_within(row)
        columnar = inner is None and kind == "json" and _is_by_columns(row)
        # Where other rows follow, a row that looks like a whole data set is one of them.
        more = list(islice(rows, 1)) if inner is not None or columnar else []
        if columnar and not more:
            raise InputError(_BY_COLUMNS)
        listed = chain([first], more, rows) if inner is None or more else inner
        cell = without_gaps if kind == "parquet" else None
        yield from to_samples(listed, columns, cell=cell)


_BY_COLUMNS = (
    "it is written by columns; expected one object for each sample. In pandas, "
    "read_json(path).to_json(path, orient='records') turns it round; in Python, "
    "[dict(zip(columns, row)) for row in zip(*columns.values())]"
)


_MAPPINGS = frozenset({"metadata", "retrieval", "superseded", "reference_context_ids"})
"""The fields that may be an object in a single sample."""


def _is_by_columns(row: Mapping[Any, Any]) -> bool:
    """Whether each field holds a whole column: as pandas writes it, or as a dict of lists."""
    values = list(row.values())
    if not values or not row.keys() <= FIELDS.keys():
        return False
    if all(isinstance(value, dict) for value in values):
        return not {FIELDS[name] for name in row} <= _MAPPINGS
    lengths = {len(value) if isinstance(value, list) else -1 for value in values}
    # Of a single sample, IDs and contexts are lists too, but its texts are not.
    return len(lengths) == 1 and any(
        FIELDS[name] in ("id", "user_input", "reference", "response") and isinstance(value, list)
        for name, value in row.items()
    )
