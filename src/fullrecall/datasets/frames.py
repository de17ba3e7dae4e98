"""Rows that are in memory: lists of dicts, Hugging Face, pandas and ragas objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from fullrecall.datasets.rows import Columns, Rename, to_samples
from fullrecall.errors import InputError
from fullrecall.identifiers import shown
from fullrecall.sample import Sample


def from_rows(rows: Iterable[Any], *, rename: Rename | None = None) -> Iterator[Sample]:
    """Return the samples of any iterable of rows, one at a time.

    `rows` is a list (or generator) of mappings or of `Sample`s, a Hugging Face `Dataset` or
    `IterableDataset`, a pandas `DataFrame`, or a ragas `EvaluationDataset` or `Testset`. Columns
    bear the names that `Sample` takes, or get them by `rename={"theirs": "ours", "junk": None}`.
    None, NaN, NA and NaT cells are not given. Raises `InputError` with the row's number (from 1).
    """
    columns = Columns(rename)
    _check_rows(rows)
    cell = without_gaps if _is_hugging_face(rows) or _is_frame(rows) else _plain
    return to_samples(enumerate(_rows(rows), start=1), columns, cell=cell)


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
    value = _plain(value)
    if isinstance(value, Mapping):
        return {key: without_gaps(held) for key, held in value.items() if held is not None}
    if isinstance(value, list) and any(isinstance(item, (Mapping, list)) for item in value):
        return [without_gaps(item) for item in value]
    return value


def _plain(value: object) -> object:
    """Return arrays, tensors, NumPy scalars and rows of Spark, also in lists, as plain values."""
    convert = getattr(value, "tolist", None)
    if convert is not None:
        value = convert()
    # Not `isinstance`: a named tuple, such as a Reference, is one value.
    if type(value) not in (list, tuple):
        as_dict = getattr(value, "asDict", None)  # a Row of Spark, which is a tuple
        return value if as_dict is None else as_dict(recursive=True)
    items = cast("list[object]", value)
    return items if all(type(item) is str for item in items) else [_plain(item) for item in items]


def _rows(rows: Any) -> Iterator[object]:
    if hasattr(rows, "to_evaluation_dataset"):  # a ragas Testset wraps each of its samples
        rows = rows.to_evaluation_dataset()
    if hasattr(rows, "samples"):
        rows = rows.samples
    if _is_frame(rows):
        return _frame_rows(rows)
    if _is_hugging_face(rows):
        rows = _unformatted(rows)
    return iter(rows)


def _frame_rows(frame: Any) -> Iterator[dict[Any, object]]:
    names = list(frame.columns)
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(f"the frame has two columns {min(twice, key=str)!r}: drop one")
    # Not `to_dict("records")`: it builds every row before the first is scored.
    for values in frame.itertuples(index=False, name=None):
        yield dict(zip(names, values, strict=True))


def _is_hugging_face(rows: object) -> bool:
    return type(rows).__module__.partition(".")[0] == "datasets"


def _unformatted(dataset: Any) -> Any:
    """Return a data set that gives dicts, where it was told to give tables, frames or tensors.

    A transform of the user's own (`"custom"`) may make the very columns that are read: it stays.
    """
    form = getattr(dataset, "format", None)
    if isinstance(form, Mapping) and form.get("type") not in (None, "custom"):
        return dataset.with_format(None)
    return dataset


def _is_frame(rows: object) -> bool:
    return hasattr(rows, "itertuples") and hasattr(rows, "columns")


def _mapping_problem(rows: Mapping[Any, Any]) -> str:
    if rows and all(_is_hugging_face(part) for part in rows.values()):
        return f"expected rows, got the splits {', '.join(map(repr, rows))}: choose one, d[split]"
    return (
        f"expected rows, got one mapping {shown(dict(rows))}: wrap one row in a list; for columns "
        "pass pandas.DataFrame(columns)"
    )
