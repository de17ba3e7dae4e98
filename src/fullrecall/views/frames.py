"""Reports and comparisons as data frames, and as Arrow batches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from fullrecall.dataframes import Backend, Cells, encodable, frame_of
from fullrecall.extras import pyarrow
from fullrecall.measures import as_measures
from fullrecall.results.pairs import change, side_by_side, turned
from fullrecall.results.summary import default_measures

if TYPE_CHECKING:
    from fullrecall.findings import Finding
    from fullrecall.measures import Measure
    from fullrecall.report.report import Report
    from fullrecall.result import Method
    from fullrecall.results.comparison import Comparison


def scores(report: Report, measures: Sequence[Measure], backend: Backend) -> Any:
    """Return one row per sample; see `Report.to_frame`."""
    columns = _kinds(
        score_columns(report.methods, measures), numeric_columns(report.methods, measures)
    )
    rows = ([row.get(name) for name in columns] for row in score_rows(report, measures))
    return frame_of(columns, rows, backend, "Report.to_frame()")


def _kinds(columns: Sequence[str], numeric: Sequence[str]) -> dict[str, Cells]:
    """Return the columns with what they hold: numbers in those that are `numeric`, else text."""
    return {name: float if name in numeric else str for name in columns}


_BATCH = 10_000
"""Rows of a batch."""


def score_batches(report: Report, measures: Sequence[Measure]) -> Any:
    """Return a reader of one row per sample; see `Report.to_arrow`."""
    pa = pyarrow("Report.to_arrow()")
    numeric = numeric_columns(report.methods, measures)
    names = score_columns(report.methods, measures)
    types = [pa.float64() if name in numeric else pa.string() for name in names]
    schema = pa.schema([*zip(map(encodable, names), types, strict=True)])
    rows = score_rows(report, measures)

    def batches() -> Iterator[Any]:
        while some := list(islice(rows, _BATCH)):
            columns = [[encodable(row.get(name)) for row in some] for name in names]
            arrays = [pa.array(c, kind) for c, kind in zip(columns, types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def score_rows(report: Report, measures: Sequence[Measure] = ()) -> Iterator[dict[str, Any]]:
    """Yield each sample's cells by the names of `score_columns`."""
    read = measures_of(report.methods, measures)
    for row in report.rows:
        cells: dict[str, Any] = {
            "sample": row.label,
            "user_input": row.sample.user_input,
            "group": row.sample.group,
        }
        for result, labels in zip(row.results, read, strict=True):
            name = result.method.name
            cells |= {label: result[measure] for label, measure in labels.items()}
            cells[f"{name}_status"] = str(result.status)
            cells[f"{name}_reason"] = result.reason
        yield cells


def changes(comparison: Comparison, backend: Backend) -> Any:
    """Return one row per sample; see `Comparison.to_frame`."""
    numeric = [
        f"{label}_{what}" for labels in _labels(comparison) for label in labels for what in _VALUES
    ]
    columns = _kinds(change_columns(comparison), numeric)
    rows = ([row.get(name) for name in columns] for row in change_rows(comparison))
    return frame_of(columns, rows, backend, "Comparison.to_frame()")


def change_columns(comparison: Comparison) -> list[str]:
    """Return the names of a frame of changes, in order."""
    columns = ["sample", "user_input", "group"]
    for score, labels in zip(comparison, _labels(comparison), strict=True):
        columns += [f"{label}_{what}" for label in labels for what in _VALUES]
        columns += [f"{score.name}_{what}" for what in ("pairing", "gained", "lost")]
    return columns


def change_rows(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Yield each sample's cells by the names of `change_columns`: the pairs, then the others."""
    labels = _labels(comparison)
    for before, after in comparison.rows:
        row = before or after
        assert row is not None  # noqa: S101 - a sample stands in one of them
        cells: dict[str, Any] = {
            "sample": row.label,
            "user_input": row.sample.user_input,
            "group": row.sample.group,
        }
        for score, named in zip(comparison, labels, strict=True):
            position, other = comparison.score_indices[score.name]
            gap, old, new = side_by_side(
                None if before is None else before.results[position],
                None if after is None else after.results[other],
            )
            for label, measure in named.items():
                old_value = None if old is None else old[measure]
                new_value = None if new is None else new[measure]
                comparable = gap is None and old_value is not None and new_value is not None
                cells[f"{label}_before"], cells[f"{label}_after"] = old_value, new_value
                cells[f"{label}_change"] = (
                    change(old_value or 0.0, new_value or 0.0) if comparable else None
                )
            cells[f"{score.name}_pairing"] = gap or "compared"
            if gap is None and old is not None and new is not None:
                gained, lost = turned(old, new)
                cells[f"{score.name}_gained"] = json.dumps(gained) if gained else None
                cells[f"{score.name}_lost"] = json.dumps(lost) if lost else None
        yield cells


_VALUES = ("before", "after", "change")


def _labels(comparison: Comparison) -> list[dict[str, Measure]]:
    return [{score.method.label(measure): measure for measure in score} for score in comparison]


_FINDINGS: Mapping[str, Cells] = {
    "sample": str,
    "score": str,
    "target": str,
    "found": bool,
    "rank": int,
    "credit": float,
    "grade": float,
    "size": float,
    "ranks": "ranks",
    "verdict": str,
    "agreement": float,
    "judge": str,
    "verified": bool,
    "problem": str,
}


def findings(report: Report, backend: Backend) -> Any:
    """Return one row per target; see `Report.findings_to_frame`."""
    rows: list[tuple[Any, ...]] = [
        (
            row.label,
            result.method.name,
            finding.target.label,
            finding.found_at(),
            finding.rank,
            finding.credit_at(),
            finding.target.grade,
            finding.target.size,
            list(finding.ranks),
            finding.verdict or None,
            finding.agreement,
            finding.judge or None,
            _verified(finding),
            None,
        )
        for row in report.rows
        for result in row.results
        for finding in result.findings
    ]
    nothing = (None,) * 5
    rows += [
        (row.label, result.method.name, target, *nothing, [], None, None, None, None, problem)
        for row in report.rows
        for result in row.results
        for target, problem in result.unmeasured
    ]
    return frame_of(_FINDINGS, rows, backend, "Report.findings_to_frame()")


def _verified(finding: Finding) -> bool | None:
    """Return whether all quotes were found; None where there is none to look for."""
    quoted = [item.verified for item in finding.evidence if item.verified is not None]
    return all(quoted) if quoted else None


def measures_of(methods: Sequence[Method], measures: Sequence[Measure]) -> list[dict[str, Measure]]:
    """Return the measures of each score by their columns, in order; see `default_measures`."""
    requested = as_measures(measures)
    return [
        {method.label(measure): measure for measure in requested or _default(method)}
        for method in methods
    ]


def numeric_columns(methods: Sequence[Method], measures: Sequence[Measure] = ()) -> list[str]:
    """Return the names of the columns of a frame of scores that hold numbers."""
    return [label for labels in measures_of(methods, measures) for label in labels]


def score_columns(methods: Sequence[Method], measures: Sequence[Measure] = ()) -> list[str]:
    """Return the names of a frame of scores, in order."""
    columns = ["sample", "user_input", "group"]
    for method, labels in zip(methods, measures_of(methods, measures), strict=True):
        columns += [*labels, f"{method.name}_status", f"{method.name}_reason"]
    return list(dict.fromkeys(columns))


def _default(method: Method) -> list[Measure]:
    *cut, whole = default_measures(method)
    return [whole, *cut]
