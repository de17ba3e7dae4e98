"""Reports as columns and rows: of data frames, and of CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from fullrecall.dataframes import Backend, Cells, frame_of
from fullrecall.measures import as_measures
from fullrecall.results.summary import default_measures

if TYPE_CHECKING:
    from fullrecall.findings import Finding
    from fullrecall.measures import Measure
    from fullrecall.report.report import Report
    from fullrecall.result import Method


Columns: TypeAlias = dict[str, Cells]
"""Names of columns, in order, with what they hold."""

Rows: TypeAlias = Iterator[list[Any]]


def scores(report: Report, measures: Sequence[Measure]) -> tuple[Columns, Rows]:
    """Return one row per sample; see `Report.to_frame`."""
    read = measures_of(report.methods, measures)
    columns: Columns = dict.fromkeys(("sample", "user_input", "group"), str)
    for method, labels in zip(report.methods, read, strict=True):
        columns |= dict.fromkeys(labels, float)
        columns |= dict.fromkeys((f"{method.name}_status", f"{method.name}_reason"), str)

    def rows() -> Rows:
        for row in report.rows:
            sample = row.sample
            cells: dict[str, Any] = {"sample": row.label, "user_input": sample.user_input}
            cells["group"] = sample.group
            for result, labels in zip(row.results, read, strict=True):
                cells |= {label: result[measure] for label, measure in labels.items()}
                cells[f"{result.method.name}_status"] = str(result.status)
                cells[f"{result.method.name}_reason"] = result.reason
            yield [cells.get(name) for name in columns]

    return columns, rows()


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
