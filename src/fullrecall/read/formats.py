"""Files of samples by their format: what their name says, and how they begin."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from fullrecall.errors import InputError, ParameterError
from fullrecall.hits import IdKey
from fullrecall.read.beir import is_beir, read_beir, read_qrels
from fullrecall.read.rows import Rename, in_file
from fullrecall.read.strict_json import parsed
from fullrecall.read.text_files import (
    STANDARD_INPUT,
    FilePath,
    existing_file,
    first_line,
    whole_text,
)
from fullrecall.report.signature import is_report
from fullrecall.sample import Sample
from fullrecall.traces.sources import RESOURCE_SPANS, is_span_row


class _Reader(Protocol):
    def __call__(
        self, path: FilePath, /, *, rename: Rename | None = None, id_key: IdKey | None = None
    ) -> Iterator[Sample]: ...


_READERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "jsonl": ("json_lines", "read_jsonl", {}),
    "ndjson": ("json_lines", "read_jsonl", {}),
    "json": ("json_files", "read_json", {}),
    "csv": ("csv_files", "read_csv", {}),
    "tsv": ("csv_files", "read_csv", {"delimiter": "\t"}),
    "parquet": ("parquet", "read_parquet", {}),
}
"""The reader of each format, by its module, which is loaded when it is used, and its options."""

_SPANS = "spans"
"""The format of a file of spans, which by default is known by how the file begins."""


def read(
    path: FilePath,
    *,
    format: str | None = None,  # noqa: A002 - what it is; nothing here formats
    rename: Rename | None = None,
    id_key: IdKey | None = None,
) -> Iterator[Sample]:
    """Return the samples of a file, by the reader that its name's ending asks for.

    The endings are `.jsonl`, `.ndjson`, `.json`, `.csv`, `.tsv` and `.parquet`, all but the last
    also with `.gz`; `format` is one of them without the dot and overrides. A `.json` file holds
    an array of rows, one of LlamaIndex's data sets, or SQuAD. Rows of ragas, LangSmith, deepeval,
    HotpotQA and SQuAD are known by their columns. A folder is BEIR's or MTEB's: `queries` and
    `qrels` (`format="test"` names another split). `format="trec"` reads qrels alone. `id_key` is
    where a retrieved context has its ID: a dotted path or a function of it. `rename` maps the
    file's columns to fields (`{"their_column": "our_field", "junk": None}`; None leaves the column
    out). A file of spans (OTLP JSON, Phoenix, MLflow) is read as `read_spans` does, known by how
    it begins or by `format="spans"`. Of a saved report, a file or a directory, the samples are
    read. The path `-` is standard input, as JSON Lines unless `format` says otherwise.

    Raises `InputError` where the file cannot be read, `ReportError` for a report that cannot be,
    and `ParameterError` for an unknown format.
    """
    judged = _judged(os.fsdecode(path), format)
    if judged is not None:
        return judged
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
    if ending == _SPANS or (unnamed and _holds_spans(name, ending)):
        if rename:
            raise ParameterError("rename is for files of samples, and this one holds spans")
        from fullrecall.read.traces import read_spans

        return read_spans(name, id_key=id_key)
    return _reader(ending)(name, rename=rename, id_key=id_key)


def _judged(path: str, form: str | None) -> Iterator[Sample] | None:
    """Return the questions of a folder of BEIR's, or of qrels; None for any other file."""
    if form == "trec":
        return in_file(path, read_qrels(path))
    if Path(path).is_dir() and is_beir(Path(path)):
        return in_file(path, read_beir(Path(path), form or "test"))
    return None


def _reader(ending: str) -> _Reader:
    module, name, options = _READERS[ending]
    reader: _Reader = getattr(import_module(f"fullrecall.read.{module}"), name)
    return partial(reader, **options)


def _holds_spans(path: str, ending: str) -> bool:
    """Return whether a file holds spans and no samples, going by how it begins."""
    if not Path(path).is_file():
        return False  # a pipe is read once: what is looked at is gone
    if ending == "parquet":
        from fullrecall.read.parquet import parquet_columns

        return {"context.trace_id", "context.span_id"} <= set(parquet_columns(path))
    if ending not in ("json", "jsonl", "ndjson"):
        return False
    try:
        begun = first_line(path).strip()
        if begun == "{":  # indented over several lines
            return f'"{RESOURCE_SPANS}"' in whole_text(path)[:1000]
        row = parsed(begun)
    except InputError:
        return False  # its reader says what is wrong
    return is_span_row(row[0] if isinstance(row, list) and row else row)
