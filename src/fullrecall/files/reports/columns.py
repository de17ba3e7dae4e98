"""The columns of a saved report: plain Arrow types under flat names, the same in every file.

A sample has a column for each field. Each score S has columns for the measures (`S_first`,
`S_relevant`, …). For a row whose result does not follow from the other columns, the JSON column
`S_details` has the whole result. Values that other columns imply are null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fullrecall._util.dataframes import encodable
from fullrecall.files.reports.plain import as_line, head_of
from fullrecall.files.reports.records import Default, as_kept, plain_result, plain_sample
from fullrecall.measures.found import SCORED, FoundColumns
from fullrecall.measures.lists import count_sums
from fullrecall.samples.references import plain_references
from fullrecall.samples.sample import Sample
from fullrecall.scorers.arrow_ids import ArrowIds
from fullrecall.scorers.id_lists import IdLists
from fullrecall.scorers.id_samples import IdSamples
from fullrecall.scorers.result import Method, Status
from fullrecall.table.part import MemoryPart, Part, result_of

VERSION = 2

HEAD, ROW = "fullrecall", "row"
"""The names of two columns: the head of the report and the number of the row, from 0.

The head is the JSON of the format's version and the methods, the same in every row.
"""

_TEXTS = ("id", "group", "user_input", "reference", "response")
LISTS = ("retrieved_context_ids", "reference_context_ids")
_JSON = {
    "contexts": "retrieved_contexts",
    "retrieval": "retrieval",
    "reference_contexts": "reference_contexts",
    "reference_claims": "reference_claims",
    "reference_entities": "reference_entities",
    "superseded": "superseded",
    "forbidden_contexts": "forbidden_contexts",
    "references": "reference_context_ids",
    "metadata": "metadata",
}
"""The columns of JSON, each with the field of a sample that it holds.

`references` is filled only for samples with reference IDs that are graded or alternatives of each
other.
"""

_STEP = pa.struct([("position", pa.int32()), ("credit", pa.float64())])

SCORE_COLUMNS: dict[str, pa.DataType] = {
    "": pa.float64(),
    "_status": pa.string(),
    "_reason": pa.string(),
    "_retrieved": pa.int32(),
    "_first": pa.list_(pa.int32()),
    "_relevant": pa.list_(pa.int32()),
    "_position": pa.list_(pa.int32()),
    "_ranks": pa.list_(pa.int32()),
    "_grade": pa.list_(pa.float64()),
    "_size": pa.list_(pa.float64()),
    "_support": pa.list_(pa.list_(pa.int32())),
    "_steps": pa.list_(pa.list_(_STEP)),
    "_verdict": pa.list_(pa.string()),
    "_details": pa.string(),
}
"""The endings of a score's columns, which follow its name, with the type of each column."""

SAMPLE_COLUMNS: dict[str, pa.DataType] = {
    HEAD: pa.string(),
    ROW: pa.int64(),
    **dict.fromkeys(_TEXTS, pa.string()),
    **dict.fromkeys(LISTS, pa.list_(pa.string())),
    **dict.fromkeys(_JSON, pa.string()),
    "forbidden_ids": pa.list_(pa.string()),
    "answerable": pa.bool_(),
    "judged": pa.bool_(),
}

_FLAGS = ("forbidden_ids", "answerable", "judged")

COLD = (*_TEXTS, *LISTS, *_JSON, *_FLAGS)
"""The columns from which a sample is read."""

ESCAPED = frozenset({*_TEXTS, *LISTS, "forbidden_ids"})
"""The columns of a sample whose texts `_escaped` escapes; the columns of JSON have JSON's escapes.
"""

_ESCAPE = r"ud[89a-f][0-9a-f]{2}"
_TO_DOUBLE = re.compile(rf"(?<!\\)\\++(?={_ESCAPE}|[\ud800-\udfff])")
_TO_READ = re.compile(rf"(?<!\\)(\\++)({_ESCAPE})")


def schema(methods: Sequence[Method]) -> pa.Schema:
    """Return the Arrow schema of a report: the columns of samples, then those of each score."""
    fields = list(SAMPLE_COLUMNS.items())
    for method in methods:
        fields += [(f"{method.name}{end}", kind) for end, kind in SCORE_COLUMNS.items()]
    return pa.schema(fields)


def head(methods: Sequence[Method]) -> str:
    """Return the head of a report, which every row has: JSON of its version and methods."""
    return json.dumps(head_of(methods, VERSION))


def arrow_table(
    part: Part, methods: Sequence[Method], rows: Iterable[int | None], default: Default = None
) -> pa.Table:
    """Return a part as an Arrow table; `rows` has the number of each row, None if unknown.

    Raises `ReportError` for metadata that JSON would change or cannot hold, unless `default`
    converts it to plain values.
    """
    columns = {
        HEAD: pa.repeat(head(methods), len(part)),
        ROW: pa.array(list(rows), pa.int64()),
        **_sample_columns(part, default),
    }
    for score, method in enumerate(methods):
        cells = score_cells(part, score, method)
        columns |= {f"{method.name}{end}": values for end, values in cells.items()}
    every = schema(methods)
    empty = {field.name: pa.nulls(len(part), field.type) for field in every}
    return pa.table({**empty, **columns}, schema=every)


def sample_of(cells: dict[str, Any], user_columns: Sequence[str] = ()) -> Sample:
    """Return the sample in a row's cells; the values of `user_columns` become its metadata."""
    fields = {name: cells.get(name) for name in (*_TEXTS, *LISTS, *_FLAGS)}
    for column, name in _JSON.items():
        if cells.get(column) is not None:
            fields[name] = json.loads(cells[column])
    # The sample's own metadata takes precedence over an engine's column with the same name.
    extra = {name: cells[name] for name in user_columns if cells.get(name) is not None}
    if extra:
        fields["metadata"] = {**extra, **(fields.get("metadata") or {})}
    return Sample(**{name: value for name, value in fields.items() if value is not None})


def _sample_columns(part: Part, default: Default) -> dict[str, Any]:
    if isinstance(part, MemoryPart):
        ids = IdSamples.of(part.kept_samples)
        if ids is not None:
            return _with_odd(_id_samples(ids, default), ids, default)
    return _cells_of(part.samples(), default)


def _with_odd(columns: dict[str, Any], samples: IdSamples, default: Default) -> dict[str, Any]:
    """Return the columns; each row in `samples.odd` gets the cells of its own `Sample`."""
    if not samples.odd:
        return columns
    order = np.arange(len(samples))
    order[list(samples.odd)] = len(samples) + np.arange(len(samples.odd))
    odd = _cells_of(samples.odd.values(), default)
    empty = {name: pa.nulls(len(samples), kind.type) for name, kind in odd.items()}
    whole = {**empty, **columns}
    return {name: pa.concat_arrays([whole[name], odd[name]]).take(order) for name in odd}


def _cells_of(samples: Iterable[Sample], default: Default) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {name: [] for name in COLD}
    for sample in samples:
        cells = _cells(sample, plain_sample(sample, default=default))
        for name, values in columns.items():
            values.append(cells.get(name))
    return {name: _array(values, name) for name, values in columns.items()}


def _cells(sample: Sample, content: dict[str, Any]) -> dict[str, Any]:
    cells: dict[str, Any] = {name: content.get(name) for name in (*_TEXTS, *_FLAGS)}
    cells["retrieved_context_ids"] = sample.retrieved_context_ids
    references = sample.reference_context_ids
    if references is not None:
        cells["reference_context_ids"] = [name for each in references for name in each.any_of]
    for column, name in _JSON.items():
        if name in content and (column != "references" or not _is_plain(content[name])):
            cells[column] = as_line(content[name])
    return cells


def _is_plain(references: Any) -> bool:
    """Return whether references are a list of strings: IDs without grades and alternatives."""
    return isinstance(references, list) and all(isinstance(each, str) for each in references)


def _array(values: Sequence[Any], name: str) -> Any:
    """Return a column of samples as an Arrow array."""
    kind = SAMPLE_COLUMNS[name]
    if name not in ESCAPED:
        return pa.array(values, kind)
    try:
        array = pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array(_escaped(values), kind)
    return pa.array(_escaped(values), kind) if _may_have_escapes(array) else array


def _may_have_escapes(texts: Any) -> bool:
    """Return whether any text of an Arrow array, or of its lists, may contain an escape."""
    flat = texts if pa.types.is_string(texts.type) else pc.list_flatten(texts)
    return pc.any(pc.match_substring(flat, r"\ud")).as_py() is True


def values_of(column: Any) -> list[Any]:
    """Return the cells of a column of texts, or of lists of texts, as Python values."""
    cells: list[Any] = column.to_pylist()
    return unescaped(cells) if _may_have_escapes(column) else cells


def escaped_in(table: pa.Table) -> frozenset[str]:
    """Return the sample columns in which a text may contain an escape."""
    names = ESCAPED.intersection(table.column_names)
    return frozenset(name for name in names if _may_have_escapes(table[name]))


def rows_of(table: pa.Table, escaped: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rows of a table as Python values; unescape the columns in `escaped`."""
    rows: list[dict[str, Any]] = table.to_pylist()
    for name in escaped:
        for row in rows:
            row[name] = unescaped(row[name])
    return rows


def _escaped(value: Any) -> Any:
    r"""Return a text, or lists of texts, in a form that UTF-8 can encode and `unescaped` reads.

    JSON input may have a lone surrogate, which UTF-8 cannot encode: it becomes an escape such as
    `\ud800`. Backslashes before it, or before a text that looks like an escape, are doubled.
    """
    if isinstance(value, (list, tuple)):
        return [_escaped(each) for each in value]
    if not isinstance(value, str):
        return value
    return encodable(_TO_DOUBLE.sub(lambda backslashes: backslashes[0] * 2, value))


def unescaped(value: Any) -> Any:
    """Return a cell with the escapes in its text, or in its lists of texts, converted back."""
    if isinstance(value, str):
        return _TO_READ.sub(_read_escape, value) if r"\ud" in value else value
    return [unescaped(each) for each in value] if isinstance(value, list) else value


def _read_escape(match: re.Match[str]) -> str:
    backslashes, code = match.groups()
    text = chr(int(code[1:], 16)) if len(backslashes) % 2 else code
    return backslashes[: len(backslashes) // 2] + text


def _id_samples(samples: IdSamples, default: Default) -> dict[str, Any]:
    """Return the sample columns of `IdSamples`; `_with_odd` sets the rows in `odd` later."""
    columns = {
        name: _array(cells, name)
        for name, cells in samples.other_fields.items()
        if name != "metadata"
    }
    for name, lists in zip(LISTS, (samples.retrieved, samples.references), strict=True):
        columns[name] = _list_array(_names(lists), lists.offsets)
    if samples.grades is not None:
        plain = (plain_references(samples.references_of(row)) for row in range(len(samples)))
        lines = [None if _is_plain(each) else as_line(each) for each in plain]
        columns["references"] = pa.array(lines, pa.string())
    if "metadata" in samples.filled:
        kept = (
            cell and as_kept(cell, "sample.metadata", default) for cell in samples.cells("metadata")
        )
        lines = [as_line(cell) if cell else None for cell in kept]
        columns["metadata"] = pa.array(lines, pa.string())
    return columns


def _names(lists: IdLists | ArrowIds) -> Any:
    """Return all IDs of the lists as an Arrow array of texts."""
    array = lists.values.cast(pa.string()) if isinstance(lists, ArrowIds) else None
    return _array(lists.names, "id") if array is None or _may_have_escapes(array) else array


def _list_array(values: Any, offsets: Any, missing: Any = None) -> Any:
    """Return lists as an Arrow array; `missing` is true for each list that is null."""
    bounds = pa.array(offsets, pa.int32())
    mask = None if missing is None or not missing.any() else pa.array(missing)
    return pa.ListArray.from_arrays(bounds, pa.array(values), mask=mask)


def score_cells(part: Part, score: int, method: Method) -> dict[str, Any]:
    """Return the columns of a score by their endings; a column that is left out has only nulls."""
    outcomes = part.outcomes(score)
    unscored = outcomes.status != SCORED
    values = method.headline.values(outcomes)
    values[unscored] = np.nan
    relevant = outcomes.relevant
    ranks = outcomes.rank_of(relevant.rows, relevant.values).astype(np.int32)
    first = outcomes.rank_of(outcomes.row_of_target, outcomes.first.values)
    statuses = pa.array([str(status) for status in Status])
    return {
        "": pa.array(values, from_pandas=True),
        "_status": statuses.take(pa.array(outcomes.status, pa.int8())),
        "_retrieved": pa.array(outcomes.retrieved.astype(np.int32)),
        "_first": _list_array(first.astype(np.int32), outcomes.first.offsets, unscored),
        "_relevant": _list_array(ranks, relevant.offsets, unscored),
        **_uncommon(outcomes),
        **_cold(part, score, method, outcomes, values),
    }


def _uncommon(outcomes: FoundColumns) -> dict[str, Any]:
    """Return `_ranks`, and those columns of `FOLLOWING` that first positions do not determine."""
    ranks = outcomes.ranks
    cells = {} if ranks is None else {"_ranks": _list_array(ranks.values, ranks.offsets)}
    for end, name in FOLLOWING.items():
        if getattr(outcomes, name) is not None:
            cells[end] = _of_targets(outcomes, end)
    # In each row that has only weights of 1, set the weights to null. Otherwise the cells of a row
    # would depend on the rows that are written with it.
    for end in cells.keys() & _WEIGHTS:
        is_other = outcomes.weights(end[1:]) != 1
        is_plain = count_sums(is_other, outcomes.first.offsets) == 0
        cells[end] = pc.if_else(pa.array(is_plain), None, cells[end])
    if outcomes.supports_follow:
        cells.pop("_support", None)
    return cells


FOLLOWING = {
    "_position": "ranks",
    "_grade": "grade",
    "_size": "size",
    "_support": "supports",
    "_steps": "steps",
}
"""The columns that follow from the first positions if a field of `FoundColumns` is None.

Each is given with that field; see `FoundColumns.first`.
"""


_WEIGHTS = frozenset({"_grade", "_size"})
"""Columns that are null in a row if all of its targets have weight 1."""


def completed(column: Any, end: str, outcomes: FoundColumns) -> Any:
    """Fill the nulls of a column of `FOLLOWING` with the values that follow from first positions.

    The writer writes rows in batches. It leaves a column null in a batch if all values there follow
    from the first positions; the column may have values in other batches of the file. Returns None
    if `column` is None.
    """
    if column is None or not column.null_count:
        return column
    first = FoundColumns(outcomes.status, outcomes.retrieved, outcomes.first)
    return pc.coalesce(column, _of_targets(first, end))


def _of_targets(outcomes: FoundColumns, end: str) -> Any:
    """Return all values of a column of `FOLLOWING`, including those that a file leaves null."""
    column_type: Any = SCORE_COLUMNS[end]
    kind = column_type.value_type
    if end in _WEIGHTS:
        values: Any = outcomes.weights(end[1:])
    elif end == "_position":
        values = outcomes.first.values
    else:
        lists = outcomes.supporting if end == "_support" else outcomes.rising
        values = _list_array(pa.array(lists.values, kind.value_type), lists.offsets)
    unscored = outcomes.status != SCORED
    return _list_array(pa.array(values, kind), outcomes.first.offsets, unscored)


def _cold(
    part: Part, score: int, method: Method, outcomes: FoundColumns, values: Any
) -> dict[str, Any]:
    """Return the columns of reasons, verdicts, and details.

    Details are results as JSON, kept only if the other columns do not restore them.
    """
    rows: Iterable[int] = range(len(part))
    if isinstance(part, MemoryPart):
        rows = part.unusual(score)
    reasons: list[str | None] = [None] * len(part)
    verdicts: list[Any] = [None] * len(part)
    details: list[str | None] = [None] * len(part)
    for row in rows:
        result = part.result(row, score)
        reasons[row] = _escaped(result.note) or None
        if result.is_judged:
            verdicts[row] = [_escaped(each.verdict) for each in result.findings]
            verdicts[row] += ["unmeasured"] * len(result.unmeasured)
        # Keep details only if the other columns do not restore the result: most rows need no JSON.
        if result_of(method, part.sample(row), outcomes, row, result.note) != result:
            content = plain_result(result, None if np.isnan(values[row]) else float(values[row]))
            details[row] = json.dumps(content, allow_nan=False)
    return {"_reason": reasons, "_verdict": verdicts, "_details": details}
