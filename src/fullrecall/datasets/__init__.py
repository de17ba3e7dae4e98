"""Readers: files and other tools' objects as samples, one at a time.

`read` goes by a file's name; the others are for one format each. All return an iterator that
raises `InputError`, with the file, the line and the field, at the first thing that is no sample,
after every sample before it. Arguments and the file's existence are checked at the call itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

from fullrecall.datasets.contexts import read_contexts
from fullrecall.datasets.csv_files import read_csv
from fullrecall.datasets.deepeval import from_test_cases
from fullrecall.datasets.frames import from_rows
from fullrecall.datasets.json_files import read_json
from fullrecall.datasets.json_lines import read_jsonl, write_jsonl
from fullrecall.datasets.labels import read_labels
from fullrecall.datasets.llama_index import (
    from_embedding_qa,
    from_labelled_rag,
    read_embedding_qa,
    read_labelled_rag,
)
from fullrecall.datasets.parquet import read_parquet
from fullrecall.datasets.qrels_run import from_qrels_run
from fullrecall.datasets.rows import Rename
from fullrecall.datasets.text_files import STANDARD_INPUT, FilePath, existing_file
from fullrecall.datasets.traces import from_spans, holds_spans, read_spans, with_references
from fullrecall.datasets.trec import read_trec
from fullrecall.errors import InputError, ParameterError
from fullrecall.report.signature import is_report
from fullrecall.sample import Sample

__all__ = [
    "from_embedding_qa",
    "from_labelled_rag",
    "from_qrels_run",
    "from_rows",
    "from_spans",
    "from_test_cases",
    "read",
    "read_contexts",
    "read_csv",
    "read_embedding_qa",
    "read_jsonl",
    "read_labelled_rag",
    "read_labels",
    "read_parquet",
    "read_spans",
    "read_trec",
    "with_references",
    "write_jsonl",
]


class _Reader(Protocol):
    def __call__(self, path: FilePath, /, *, rename: Rename | None = None) -> Iterator[Sample]: ...


_READERS: dict[str, _Reader] = {
    "jsonl": read_jsonl,
    "ndjson": read_jsonl,
    "json": read_json,
    "csv": read_csv,
    "tsv": partial(read_csv, delimiter="\t"),
    "parquet": read_parquet,
}
_SPANS = "spans"
"""The format of a file of spans, which by default is known by how the file begins."""


def read(
    path: FilePath,
    *,
    format: str | None = None,  # noqa: A002 - what it is; nothing here formats
    rename: Rename | None = None,
) -> Iterator[Sample]:
    """Return the samples of a file, by the reader that its name's ending asks for.

    The endings are `.jsonl`, `.ndjson`, `.json`, `.csv`, `.tsv` and `.parquet`, all but the last
    also with `.gz`; `format` is one of them without the dot and overrides. A `.json` file holds
    an array of rows or one of LlamaIndex's data sets. `rename` maps the file's columns to fields
    (`{"their_column": "our_field", "junk": None}`; None leaves the column out). A file of spans
    (OTLP JSON, Phoenix, MLflow) is read as `read_spans` does, known by how it begins or by
    `format="spans"`. Of a saved report, a file or a directory, the samples are read. The path `-`
    is standard input, as JSON Lines unless `format` says otherwise.

    Raises `InputError` where the file cannot be read, `ReportError` for a report that cannot be,
    and `ParameterError` for an unknown format.
    """
    if format is not None and format not in (*_READERS, _SPANS):
        formats = ", ".join((*_READERS, _SPANS))
        raise ParameterError(f"format must be one of {formats}, got {format!r}")
    if format is None and is_report(os.fsdecode(path)):
        if rename:
            raise ParameterError("rename is for files of samples, and this one is a saved report")
        from fullrecall.report import Report

        return (row.sample for row in Report.open(os.fsdecode(path)))
    name = existing_file(path)
    if format is None and name == STANDARD_INPUT:
        ending = "jsonl"
    elif format is None:
        ending = Path(name.lower().removesuffix(".gz")).suffix.removeprefix(".")
        if ending not in _READERS or (ending == "parquet" and name.lower().endswith(".gz")):
            raise InputError(
                f"the name does not show the format: pass format=, one of {', '.join(_READERS)} "
                "(TREC's pair of files is read with read_trec(qrels, run))",
                path=name,
            )
    else:
        ending = format
    unnamed = format is None and name != STANDARD_INPUT
    if ending == _SPANS or (unnamed and holds_spans(name, ending)):
        if rename:
            raise ParameterError("rename is for files of samples, and this one holds spans")
        return read_spans(name)
    return _READERS[ending](name, rename=rename)
