"""The columns of a saved report: plain Arrow types under flat names, the same in every file.

Of a sample its fields; of each score S what measures read (`S_first`, `S_relevant`, …) and, as
JSON, what only a reader of that row asks for (`S_details`). What is trivial is null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fullrecall.errors import ReportError
from fullrecall.findings import Finding, Step, Target
from fullrecall.records import plain_method, plain_result, plain_sample
from fullrecall.report.signature import KIND
from fullrecall.result import Method, Result, Status
from fullrecall.sample import Sample
from fullrecall.table.found import FoundColumns, Steps
from fullrecall.table.ids import IdSamples
from fullrecall.table.lists import Lists, narrow, offsets_of
from fullrecall.table.part import CODES, SCORED, UNSCORED, MemoryPart, Part, ScoreColumns

VERSION = 1

HEAD, ROW, SAMPLE = "fullrecall", "row", "sample"
"""What every row says of its report; the row's number from 0; a sample that no column can hold."""

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
"""Columns of JSON with the field of a sample that each holds.

`references` has the reference IDs where some are graded or alternatives of each other.
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
"""What follows a score's name in the names of its columns."""

SAMPLE_COLUMNS: dict[str, pa.DataType] = {
    HEAD: pa.string(),
    ROW: pa.int64(),
    **dict.fromkeys(_TEXTS, pa.string()),
    **dict.fromkeys(LISTS, pa.list_(pa.string())),
    **dict.fromkeys(_JSON, pa.string()),
    "forbidden_ids": pa.list_(pa.string()),
    "answerable": pa.bool_(),
    SAMPLE: pa.string(),
}

_FLAGS = ("forbidden_ids", "answerable")

COLD = (*_TEXTS, *LISTS, *_JSON, *_FLAGS, SAMPLE)
"""The columns from which a sample is made again."""

Default = Callable[[Any], Any] | None


def schema(methods: Sequence[Method]) -> pa.Schema:
    """Return the columns of a report of these scores."""
    fields = list(SAMPLE_COLUMNS.items())
    for method in methods:
        fields += [(f"{method.name}{end}", kind) for end, kind in SCORE_COLUMNS.items()]
    return pa.schema(fields)


def head(methods: Sequence[Method]) -> str:
    """Return what every row says of its report."""
    content = {
        "kind": KIND,
        "version": VERSION,
        "methods": [plain_method(method) for method in methods],
    }
    return json.dumps(content)


def arrow_table(
    part: Part, methods: Sequence[Method], rows: Iterable[int | None], default: Default = None
) -> pa.Table:
    """Return the columns of a part whose rows have these numbers, None for unknown ones.

    Raises `ReportError` for metadata that JSON cannot hold, unless `default` makes plain values.
    """
    columns = {
        HEAD: pa.repeat(head(methods), len(part)),
        ROW: pa.array(list(rows), pa.int64()),
        **_sample_columns(part, default),
    }
    for score, method in enumerate(methods):
        ours = score_cells(part, score, method)
        columns |= {f"{method.name}{end}": values for end, values in ours.items()}
    return filled(columns, schema(methods), len(part))


def filled(columns: Mapping[str, Any], every: pa.Schema, rows: int) -> pa.Table:
    """Return columns as a table of a schema, null where there are none."""
    empty = {field.name: pa.nulls(rows, field.type) for field in every}
    return pa.table({**empty, **columns}, schema=every)


def sample_of(cells: dict[str, Any], own: Sequence[str] = ()) -> Sample:
    """Return the sample of a row; the user's `own` columns are among its metadata."""
    if cells.get(SAMPLE) is not None:
        return Sample(**json.loads(cells[SAMPLE]))
    fields = {name: cells.get(name) for name in (*_TEXTS, *LISTS, *_FLAGS)}
    for column, name in _JSON.items():
        if cells.get(column) is not None:
            fields[name] = json.loads(cells[column])
    retrieval = fields.get("retrieval")
    recorded = isinstance(retrieval, dict) and retrieval.get("contexts") is not None
    if recorded or fields.get("retrieved_contexts") is not None:
        fields["retrieved_context_ids"] = None
    extra = {name: cells[name] for name in own if cells.get(name) is not None}
    if extra:
        fields["metadata"] = {**extra, **(fields.get("metadata") or {})}
    return Sample(**{name: value for name, value in fields.items() if value is not None})


def derived(method: Method, sample: Sample, columns: ScoreColumns, row: int, note: str) -> Result:
    """Return a result that has no details: its targets are the sample's reference IDs."""
    outcomes = columns.outcomes
    status = tuple(Status)[int(columns.status[row])]
    ranks = tuple(outcomes.ranks.of_row(row)) if outcomes.ranks is not None else ()
    start, end = outcomes.first.offsets[row : row + 2].tolist()
    references = [each for each in sample.reference_context_ids or () if each.grade > 0]
    findings = []
    for target, (members, grade) in zip(range(start, end), references, strict=False):
        positions = tuple(outcomes.supporting.of_row(target))
        first = int(outcomes.first.values[target])
        steps = (Step(first, 1.0),) if first else ()
        findings.append(Finding(Target(members, grade), steps, positions))
    united = ranks if sample.ranks is not None else None
    return Result(method, status, tuple(findings), int(outcomes.retrieved[row]), note, ranks=united)


def _sample_columns(part: Part, default: Default) -> dict[str, Any]:
    if isinstance(part, MemoryPart):
        ids = IdSamples.of(part.kept_samples)
        if ids is not None:
            with suppress(UnicodeEncodeError):
                return _id_samples(ids)
    columns: dict[str, list[Any]] = {name: [] for name in COLD}
    for sample in part.samples():
        content = plain_sample(sample, default=default)
        cells = _cells(sample, content)
        for name, values in columns.items():
            values.append(cells.get(name))
    return columns


def _cells(sample: Sample, content: dict[str, Any]) -> dict[str, Any]:
    cells: dict[str, Any] = {name: content.get(name) for name in _TEXTS}
    cells["forbidden_ids"] = sample.forbidden_ids
    cells["retrieved_context_ids"] = sample.retrieved_context_ids
    references = sample.reference_context_ids
    if references is not None:
        cells["reference_context_ids"] = [name for each in references for name in each.any_of]
    for column, name in _JSON.items():
        if name in content and (column != "references" or not _is_plain(content[name])):
            cells[column] = json.dumps(content[name], ensure_ascii=False, allow_nan=False)
    if all(map(_is_text, cells.values())):
        return {**cells, "answerable": sample.answerable}
    return {
        "answerable": sample.answerable,
        **{name: _readable(value) for name, value in cells.items() if name not in _JSON},
        SAMPLE: json.dumps(content, allow_nan=False),
    }


def _is_plain(references: Any) -> bool:
    """Whether references are a list of IDs."""
    return isinstance(references, list) and all(isinstance(each, str) for each in references)


def _is_text(value: Any) -> bool:
    """Whether UTF-8 holds a text, or all of a list; half an emoji is legal in JSON."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_text, value))
    try:
        return value is None or bool(value.encode()) or True
    except UnicodeEncodeError:
        return False


def _readable(value: Any) -> Any:
    """Return a text, or a list of some, with ? for what UTF-8 cannot hold."""
    if isinstance(value, (list, tuple)):
        return [_readable(each) for each in value]
    return None if value is None else value.encode(errors="replace").decode()


def _id_samples(samples: IdSamples) -> dict[str, Any]:
    """Return the columns of samples that are columns already; `UnicodeEncodeError` for no UTF-8."""
    columns: dict[str, Any] = {"id": pa.array(samples.ids, pa.string())}
    for name, lists in zip(LISTS, (samples.retrieved, samples.references), strict=True):
        columns[name] = _list_array(pa.array(lists.names, pa.string()), lists.offsets)
    if samples.questions:
        columns["user_input"] = pa.array(samples.questions, pa.string())
    if samples.groups:
        columns["group"] = pa.array(samples.groups, pa.string())
    return columns


def _list_array(values: Any, offsets: Any, missing: Any = None) -> Any:
    """Return lists as an Arrow array; `missing` says which are null."""
    bounds = pa.array(offsets, pa.int32())
    mask = None if missing is None or not missing.any() else pa.array(missing)
    kind = pa.string() if isinstance(values, list) else None
    return pa.ListArray.from_arrays(bounds, pa.array(values, kind), mask=mask)


def score_cells(part: Part, score: int, method: Method) -> dict[str, Any]:
    """Return the columns of a score that are not null, by what follows its name in theirs."""
    columns = part.columns(score)
    outcomes, unscored = columns.outcomes, columns.status != SCORED
    values = method.headline.values(outcomes, lambda row: part.result(row, score).ranked)
    values[unscored] = np.nan
    relevant = outcomes.relevant
    ranks = outcomes.rank_of(relevant.rows, relevant.values).astype(np.int32)
    statuses = pa.array([str(status) for status in Status])
    return {
        "": pa.array(values, from_pandas=True),
        "_status": statuses.take(pa.array(columns.status, pa.int8())),
        "_retrieved": pa.array(outcomes.retrieved.astype(np.int32)),
        "_first": _list_array(_first_ranks(outcomes), outcomes.first.offsets, unscored),
        "_relevant": _list_array(ranks, relevant.offsets, unscored),
        **_uncommon(outcomes, unscored),
        **_cold(part, score, method, columns, values),
    }


def _first_ranks(outcomes: FoundColumns) -> Any:
    """Return the rank at which each target is found in full, 0 if never."""
    positions = outcomes.first.values
    if outcomes.ranks is None:
        return positions.astype(np.int32, copy=False)
    ranks = np.zeros(len(positions), np.int32)
    hits = np.flatnonzero(positions > 0)
    ranks[hits] = outcomes.rank_of(outcomes.row_of_target[hits], positions[hits])
    return ranks


def _uncommon(outcomes: FoundColumns, unscored: Any) -> dict[str, Any]:
    """Return the columns of what is not trivial."""
    cells: dict[str, Any] = {}
    offsets = outcomes.first.offsets
    if outcomes.ranks is not None:
        cells["_position"] = _list_array(outcomes.first.values.astype(np.int32), offsets, unscored)
        cells["_ranks"] = _list_array(
            outcomes.ranks.values.astype(np.int32), outcomes.ranks.offsets
        )
    for name, weights in (("_grade", outcomes.grade), ("_size", outcomes.size)):
        if weights is not None:
            cells[name] = _list_array(weights, offsets, unscored)
    if outcomes.supports is not None and not outcomes.supports_follow:
        positions = outcomes.supporting
        inner = _list_array(positions.values.astype(np.int32), positions.offsets)
        cells["_support"] = _list_array(inner, offsets, unscored)
    if outcomes.steps is not None:
        steps = outcomes.steps
        pairs = pa.StructArray.from_arrays(
            [pa.array(steps.positions.values.astype(np.int32)), pa.array(steps.credits)],
            fields=list(_STEP),
        )
        inner = _list_array(pairs, steps.positions.offsets)
        cells["_steps"] = _list_array(inner, offsets, unscored)
    return cells


def _cold(
    part: Part, score: int, method: Method, columns: ScoreColumns, values: Any
) -> dict[str, Any]:
    """Return why a row has no score, what judges said of its targets, and all that is left."""
    rows: Iterable[int] = range(len(part))
    if isinstance(part, MemoryPart) and part.follows(score):
        rows = np.flatnonzero(columns.status != SCORED).tolist()
        if not rows:
            return {}
    reasons: list[str | None] = [None] * len(part)
    verdicts: list[Any] = [None] * len(part)
    details: list[str | None] = [None] * len(part)
    for row in rows:
        result = part.result(row, score)
        reasons[row] = _readable(result.note) or None
        if result.is_judged:
            verdicts[row] = [_readable(each.verdict) for each in result.findings]
            verdicts[row] += ["unmeasured"] * len(result.unmeasured)
        if derived(method, part.sample(row), columns, row, reasons[row] or "") != result:
            content = plain_result(result, None if np.isnan(values[row]) else float(values[row]))
            details[row] = json.dumps(content, allow_nan=False)
    return {"_reason": reasons, "_verdict": verdicts, "_details": details}


class Source(Protocol):
    """Columns of some rows."""

    def column(self, name: str) -> Any:
        """Return a column as one Arrow array; None where it is null throughout."""
        ...

    def encoded(self, name: str) -> Any:
        """Return a column of texts as a dictionary and indices; None where it is null."""
        ...

    def is_null(self, name: str) -> bool:
        """Whether a column is null throughout, by its statistics alone."""
        ...


def score_columns(source: Source, name: str, rows: int) -> ScoreColumns:
    """Return what measures read of a score; what supports targets is read when it is asked for.

    Raises `ReportError` for what no run can give.
    """
    read = source.column
    status = np.full(rows, UNSCORED, np.int8)  # null where a batch failed
    codes = source.encoded(f"{name}_status")
    if codes is not None:
        numbers = {str(each): number for each, number in CODES.items()}
        if not numbers.keys() >= set(codes.dictionary.to_pylist()):
            raise ReportError(f"{name}_status must be one of {', '.join(Status)}")
        status_codes = [numbers[each] for each in codes.dictionary.to_pylist()]
        status[:] = np.array([*status_codes, UNSCORED], np.int8)[
            _filled(codes.indices, len(status_codes))
        ]
    ranks = read(f"{name}_ranks")
    first = _lists(read(f"{name}_first" if ranks is None else f"{name}_position"), rows)
    retrieved = read(f"{name}_retrieved")
    steps = read(f"{name}_steps")
    outcomes = FoundColumns(
        np.zeros(rows, np.int32) if retrieved is None else narrow(_filled(retrieved, 0)),
        first,
        None if source.is_null(f"{name}_support") else partial(_support, source, name),
        None if steps is None else _steps(steps),
        _weights(read(f"{name}_grade")),
        _weights(read(f"{name}_size")),
        None if ranks is None else _lists(ranks, rows),
    )
    _check(replace(outcomes), status, name)  # what it works out is not kept
    if ranks is not None:
        saved_ranks = _lists(read(f"{name}_first"), rows).values
        if not np.array_equal(saved_ranks, _first_ranks(outcomes)):
            raise ReportError(f"{name}_first must have the ranks of {name}_position")
    return ScoreColumns(status, outcomes)


def _support(source: Source, name: str) -> Lists:
    """Return the positions that support each target."""
    targets = source.column(f"{name}_support").flatten()
    return _lists(targets, len(targets))


def _steps(column: Any) -> Steps:
    targets = column.flatten()
    pairs = targets.flatten()
    offsets = offsets_of(list_lengths(targets))
    positions, credits_ = (as_numbers(pairs.field(name)) for name in ("position", "credit"))
    return Steps(Lists(positions, offsets), credits_)


def _check(outcomes: FoundColumns, status: Any, name: str) -> None:
    """Raise `ReportError` for positions beyond what was retrieved, and lists that do not fit."""
    positions, targets = outcomes.first.values, len(outcomes.first.values)
    if len(positions) and (
        positions.min() < 0 or (positions > outcomes.retrieved[outcomes.row_of_target]).any()
    ):
        raise ReportError(f"{name}_first must have ranks from 0 to {name}_retrieved")
    if ((outcomes.targets == 0) & (status == SCORED)).any():
        raise ReportError(f"{name}_first must have a rank for each target of a scored row")
    for end, weights in (("grade", outcomes.grade), ("size", outcomes.size)):
        if weights is not None and (len(weights) != targets or not (weights > 0).all()):
            raise ReportError(f"{name}_{end} must have a number above 0 for each target")
    if outcomes.ranks is not None and (outcomes.ranks.counts > outcomes.retrieved).any():
        raise ReportError(f"{name}_ranks must have a rank for each context")
    if outcomes.steps is not None:
        credits_ = outcomes.steps.credits
        if len(outcomes.steps.positions.offsets) != targets + 1 or not (
            ((credits_ > 0) & (credits_ <= 1)).all()
        ):
            raise ReportError(f"{name}_steps must have credits above 0 and at most 1")


def list_lengths(column: Any) -> Any:
    """Return the length of each list of an Arrow array, 0 for null."""
    counts = np.diff(as_numbers(column.offsets).astype(np.int64))
    return np.where(np.asarray(column.is_null()), 0, counts) if column.null_count else counts


def _lists(column: Any, rows: int) -> Lists:
    """Return an Arrow array of lists of numbers; null is empty."""
    if column is None:
        return Lists(np.zeros(0, np.int32), np.zeros(rows + 1, np.int64))
    return Lists(as_numbers(column.flatten()), offsets_of(list_lengths(column)))


def _weights(column: Any) -> Any:
    return None if column is None else as_numbers(column.flatten())


def as_numbers(column: Any) -> Any:
    """Return an Arrow array of numbers as NumPy's, without a copy; `ArrowInvalid` for a null.

    By DLPack: `to_numpy` imports pandas, which takes a third of a second.
    """
    if column.null_count:
        raise pa.ArrowInvalid("a number is null")
    return np.from_dlpack(column)


def _filled(column: Any, value: int) -> Any:
    """Return an Arrow array of numbers, with a value where there is none."""
    return as_numbers(pc.fill_null(column, value) if column.null_count else column)
