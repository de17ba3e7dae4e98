"""Reports and comparisons as columns and rows: of data frames, and of CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from fullrecall.dataframes import Backend, Cells, frame_of
from fullrecall.measures import as_measures
from fullrecall.results.pairs import change, side_by_side, turned
from fullrecall.results.summary import default_measures

if TYPE_CHECKING:
    from fullrecall.findings import Finding
    from fullrecall.measures import Measure
    from fullrecall.report.report import Report
    from fullrecall.result import Method, Result
    from fullrecall.results.comparison import Comparison, ScoreComparison
    from fullrecall.table.row import Row


Columns: TypeAlias = dict[str, Cells]
"""Names of columns, in order, with what they hold."""

Rows: TypeAlias = Iterator[list[Any]]


def scores(report: Report, measures: Sequence[Measure]) -> tuple[Columns, Rows]:
    """Return one row per sample; see `Report.to_frame`."""
    read = measures_of(report.methods, measures)
    columns = _sample_columns()
    for method, labels in zip(report.methods, read, strict=True):
        columns |= dict.fromkeys(labels, float)
        columns |= dict.fromkeys((f"{method.name}_status", f"{method.name}_reason"), str)

    def rows() -> Rows:
        for row in report.rows:
            cells = _sample_cells(row)
            for result, labels in zip(row.results, read, strict=True):
                cells |= {label: result[measure] for label, measure in labels.items()}
                cells[f"{result.method.name}_status"] = str(result.status)
                cells[f"{result.method.name}_reason"] = result.reason
            yield [cells.get(name) for name in columns]

    return columns, rows()


def changes(comparison: Comparison) -> tuple[Columns, Rows]:
    """Return one row per sample, the pairs first; see `Comparison.to_frame`."""
    columns = _sample_columns()
    for score in comparison:
        for measure in score:
            label = score.method.label(measure)
            columns |= {f"{label}_{what}": float for what in ("before", "after", "change")}
        columns |= {f"{score.name}_{what}": str for what in ("pairing", "gained", "lost")}

    def rows() -> Rows:
        for before, after in comparison.rows:
            row = before or after
            assert row is not None  # noqa: S101 - a sample stands in one of them
            cells = _sample_cells(row)
            for score in comparison:
                position, other = comparison.score_indices[score.name]
                cells |= _score_cells(
                    score,
                    None if before is None else before.results[position],
                    None if after is None else after.results[other],
                )
            yield [cells.get(name) for name in columns]

    return columns, rows()


def _score_cells(
    score: ScoreComparison, before: Result | None, after: Result | None
) -> dict[str, Any]:
    """Return the cells of one score of one sample."""
    gap, old, new = side_by_side(before, after)
    cells: dict[str, Any] = {f"{score.name}_pairing": gap or "compared"}
    for measure in score:
        label = score.method.label(measure)
        first = None if old is None else old[measure]
        last = None if new is None else new[measure]
        cells[f"{label}_before"], cells[f"{label}_after"] = first, last
        if gap is None and first is not None and last is not None:
            cells[f"{label}_change"] = change(first, last)
    if gap is None and old is not None and new is not None:
        for what, labels in zip(("gained", "lost"), turned(old, new), strict=True):
            cells[f"{score.name}_{what}"] = json.dumps(labels) if labels else None
    return cells


def _sample_columns() -> Columns:
    return dict.fromkeys(("sample", "user_input", "group"), str)


def _sample_cells(row: Row) -> dict[str, Any]:
    return {"sample": row.label, "user_input": row.sample.user_input, "group": row.sample.group}


def _verified(finding: Finding) -> bool | None:
    """Return whether all quotes were found; None where there is none to look for."""
    quoted = [item.verified for item in finding.evidence if item.verified is not None]
    return all(quoted) if quoted else None


_FINDINGS: Mapping[str, tuple[Cells, Callable[[Finding], Any]]] = {
    "target": (str, lambda finding: finding.target.label),
    "found": (bool, lambda finding: finding.found_at()),
    "rank": (int, lambda finding: finding.rank),
    "credit": (float, lambda finding: finding.credit_at()),
    "grade": (float, lambda finding: finding.target.grade),
    "size": (float, lambda finding: finding.target.size),
    "ranks": ("ranks", lambda finding: list(finding.ranks)),
    "verdict": (str, lambda finding: finding.verdict or None),
    "agreement": (float, lambda finding: finding.agreement),
    "verified": (bool, _verified),
}
"""What stands of a finding in each column."""


def findings(report: Report, backend: Backend) -> Any:
    """Return one row per target; see `Report.findings_to_frame`."""
    columns: Columns = {"sample": str, "score": str}
    columns |= {name: kind for name, (kind, _) in _FINDINGS.items()}
    columns["problem"] = str
    rows: list[dict[str, Any]] = []
    problems: list[dict[str, Any]] = []
    for row in report.rows:
        for result in row.results:
            names = {"sample": row.label, "score": result.method.name}
            rows += [
                names | {name: value(finding) for name, (_, value) in _FINDINGS.items()}
                for finding in result.findings
            ]
            problems += [
                {**names, "target": target, "ranks": [], "problem": problem}
                for target, problem in result.unmeasured
            ]
    cells = ([row.get(name) for name in columns] for row in (*rows, *problems))
    return frame_of(columns, cells, backend, "Report.findings_to_frame()")


def measures_of(methods: Sequence[Method], measures: Sequence[Measure]) -> list[dict[str, Measure]]:
    """Return the measures of each score by their columns: by default all, then each k."""
    requested = as_measures(measures)
    read = []
    for method in methods:
        *cut, whole = default_measures(method)
        read.append({method.label(measure): measure for measure in requested or (whole, *cut)})
    return read
