"""Rows that are in memory: lists of dicts, data frames of any library, Hugging Face, ragas."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from fullrecall.dataframes import frame_rows, is_frame
from fullrecall.errors import InputError
from fullrecall.hits import IdKey
from fullrecall.identifiers import shown
from fullrecall.read.formats import rows_within
from fullrecall.read.rows import Columns, Rename, to_samples
from fullrecall.sample import Sample


def from_rows(
    rows: Iterable[Any], *, rename: Rename | None = None, id_key: IdKey | None = None
) -> Iterator[Sample]:
    """Return the samples of any iterable of rows, one at a time.

    `rows` is a list (or generator) of mappings or of `Sample`s, a data frame or table of any
    library that narwhals reads (pandas, polars, pyarrow, DuckDB, Dask, PySpark, …; lazy ones are
    collected), a Hugging Face `Dataset` or `IterableDataset`, a ragas `EvaluationDataset` or
    `Testset`, or LlamaIndex's `EmbeddingQAFinetuneDataset` or `LabelledRagDataset`. Columns bear
    the names that `Sample` takes, or get them by `rename={"theirs": "ours", "junk": None}`. Usual
    names are known in any case, and rows of LangSmith, HotpotQA, SQuAD and deepeval by their
    columns. `id_key` is where a retrieved context has its ID: a dotted path ("metadata.source") or
    a function of it. None, NaN, NA and NaT cells are not given. Raises
    `InputError` with the row's number (from 1).
    """
    framed = is_frame(rows)
    columns = Columns(rename, id_key=id_key, lists_are_texts=framed)
    cell = without_gaps if _is_hugging_face(rows) or framed else _unwrapped
    labeled = None if framed else rows_within(rows)
    samples = to_samples(labeled or enumerate(rows_of(rows), start=1), columns, cell=cell)
    return _explained(samples) if _package(rows) == "dask" else samples


def _check_rows(rows: object) -> None:
    if isinstance(rows, (str, bytes, os.PathLike)):
        raise InputError(f"expected rows, got {shown(rows)}: read(path) reads a file")
    if isinstance(rows, Mapping):
        raise InputError(_mapping_problem(rows))
    if not isinstance(rows, Iterable) and not hasattr(rows, "samples"):
        raise InputError(f"expected an iterable of rows, got {type(rows).__name__} {shown(rows)}")


def without_gaps(value: object) -> object:
    """Return a columnar cell's value without the keys that its row never had.

    Arrow stores a mapping as a struct of every key that *any* row has: a row's `{"d1": 3}` comes
    back as `{"d1": 3, "d2": None}`.
    """
    value = _unwrapped(value)
    if isinstance(value, Mapping):
        return {key: without_gaps(content) for key, content in value.items() if content is not None}
    if not isinstance(value, list) or _is_flat(value):
        return value
    holds = any(isinstance(item, (Mapping, list)) for item in value)
    return [without_gaps(item) for item in value] if holds else value


def _unwrapped(value: object) -> object:
    """Return arrays, tensors, NumPy scalars and rows of Spark, also in lists, as plain values."""
    convert = getattr(value, "tolist", None)
    if convert is not None:
        value = convert()
    # Not `isinstance`: a named tuple, such as a Reference, is one value.
    if type(value) not in (list, tuple):
        as_dict = getattr(value, "asDict", None)  # a Row of Spark, which is a tuple
        return value if as_dict is None else as_dict(recursive=True)
    items = cast("list[object]", value)
    return items if _is_flat(items) else [_unwrapped(item) for item in items]


_FLAT = frozenset({str, int, float, bool, type(None)})


def _is_flat(items: Iterable[object]) -> bool:
    """Return whether all items are plain values, none of which holds others."""
    return _FLAT.issuperset(map(type, items))


def rows_of(rows: Any) -> Iterator[object]:
    """Return an iterator over the rows of whatever `from_rows` takes.

    Raises `InputError` for what is no iterable of rows.
    """
    if is_frame(rows):
        return frame_rows(rows)
    _check_rows(rows)
    if hasattr(rows, "to_evaluation_dataset"):  # a ragas Testset wraps each of its samples
        rows = rows.to_evaluation_dataset()
    if hasattr(rows, "samples"):
        rows = rows.samples
    if _is_hugging_face(rows):
        rows = _unformatted(rows)
    return iter(rows)


def _is_hugging_face(rows: object) -> bool:
    return _package(rows) == "datasets"


def _package(value: object) -> str:
    return type(value).__module__.partition(".")[0]


def _explained(samples: Iterator[Sample]) -> Iterator[Sample]:
    """Yield the samples of a Dask frame, which by default turns lists into texts."""
    try:
        yield from samples
    except InputError as error:
        if "expected a JSON array" not in error.problem:
            raise
        raise InputError(
            f"{error.problem}; Dask turns lists into texts unless "
            "dask.config.set({'dataframe.convert-string': False}) is called before the frame is "
            "made",
            line=error.line,
            field=error.field,
        ) from None


def _unformatted(dataset: Any) -> Any:
    """Return a data set that gives dicts, where it was told to give tables, frames or tensors.

    A transform of the user's own (`"custom"`) may make the very columns that are read: it stays.
    """
    form = getattr(dataset, "format", None)
    if isinstance(form, Mapping) and form.get("type") not in (None, "custom"):
        return dataset.with_format(None)
    return dataset


def _mapping_problem(rows: Mapping[Any, Any]) -> str:
    if rows and all(_is_hugging_face(part) for part in rows.values()):
        return f"expected rows, got the splits {', '.join(map(repr, rows))}: choose one, d[split]"
    return (
        f"expected rows, got one mapping {shown(dict(rows))}: wrap one row in a list; for columns "
        "pass a data frame of them"
    )
