"""Read rows in memory: lists of dicts, data frames of any library, Hugging Face, ragas."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fullrecall._util.dataframes import frame_rows, is_flat, is_frame, plain_value
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files.plans import Given
from fullrecall.files.rows import FileSamples, PlannedRows, Rename, SampleChunk, T
from fullrecall.samples.id_keys import IdKey
from fullrecall.samples.sample import Sample


def from_rows(
    rows: Iterable[Any],
    *,
    fields: Mapping[str, str | None] | None = None,
    rename: Rename | None = None,
    id_key: IdKey | None = None,
) -> FileSamples:
    """Return the samples of any iterable of rows, one at a time.

    `rows` is one of these: a list or generator of mappings or of `Sample`s; a data frame or table
    of any library that narwhals reads (pandas, polars, pyarrow, DuckDB, Dask, PySpark, …), where a
    lazy frame is collected; a Hugging Face `Dataset` or `IterableDataset`; or a ragas
    `EvaluationDataset` or `Testset`. The columns, `fields`, `rename` and `id_key` are as in
    `fullrecall.read.read`. None, NaN, NA and NaT count as missing. Raises `InputError` with the
    row's number (from 1).
    """
    framed = is_frame(rows)
    cell = without_absent_keys if _is_hugging_face(rows) or framed else plain_value
    given = Given.of(None, fields, rename)
    planned = PlannedRows(given, id_key=id_key, cell=cell, file="rows", is_table=framed)
    numbered = enumerate(rows_of(rows), start=1)
    samples: Iterator[Sample] = planned.samples(numbered)
    chunks: Iterator[SampleChunk] = planned.chunks(numbered)
    if type(rows).__module__.startswith("dask."):
        samples, chunks = _explained(samples), _explained(chunks)
    return FileSamples(samples, planned, chunks)


def _explained(samples: Iterator[T]) -> Iterator[T]:
    """Yield samples of a Dask frame; in an error about a list, explain that Dask made it a text."""
    try:
        yield from samples
    except InputError as error:
        if "expected a JSON array" in error.problem:
            error.problem += (
                "; Dask turns lists into texts unless dask.config.set("
                "{'dataframe.convert-string': False}) is called before the frame is made"
            )
        raise


def without_absent_keys(value: object) -> object:
    """Return the value of an Arrow cell, without keys whose value is None.

    Arrow stores a mapping as a struct of every key that *any* row has: a row's `{"d1": 3}` comes
    back as `{"d1": 3, "d2": None}`.
    """
    return _filled(plain_value(value))


def _filled(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _filled(content) for key, content in value.items() if content is not None}
    return value if not isinstance(value, list) or is_flat(value) else list(map(_filled, value))


def rows_of(rows: Any) -> Iterator[object]:
    """Return an iterator over the rows of any value that `from_rows` takes.

    Raises `InputError` for a value that is not an iterable of rows.
    """
    if is_frame(rows):
        return frame_rows(rows)
    if isinstance(rows, (str, bytes, os.PathLike)):
        raise InputError(f"expected rows, got {shown(rows)}: read(path) reads a file")
    if isinstance(rows, Mapping):
        splits = rows and all(map(_is_hugging_face, rows.values()))
        got = f"splits {', '.join(map(repr, rows))}" if splits else f"one mapping {shown(rows)}"
        way_out = "choose one, d[split]" if splits else "wrap one row in a list"
        raise InputError(f"expected rows, got the {got}: {way_out}")
    if hasattr(rows, "to_evaluation_dataset"):  # a ragas Testset wraps each of its samples
        rows = rows.to_evaluation_dataset()
    if hasattr(rows, "samples"):
        rows = rows.samples
    if _is_hugging_face(rows):
        form = getattr(rows, "format", None)
        # A dataset's format may make it return tables, frames or tensors: reset the format. Keep a
        # transform that the user has set, since it may create the columns that are read.
        if isinstance(form, Mapping) and form.get("type") not in (None, "custom"):
            rows = rows.with_format(None)
    if not isinstance(rows, Iterable):
        raise InputError(f"expected an iterable of rows, got {type(rows).__name__} {shown(rows)}")
    return iter(rows)


def _is_hugging_face(rows: object) -> bool:
    return type(rows).__module__.partition(".")[0] == "datasets"
