"""Reports as columns and rows: of data frames, and of CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from fullrecall.dataframes import Cells
from fullrecall.measures import as_measures
from fullrecall.results.summary import default_measures

if TYPE_CHECKING:
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


def measures_of(methods: Sequence[Method], measures: Sequence[Measure]) -> list[dict[str, Measure]]:
    """Return the measures of each score by their columns: by default all, then each k."""
    requested = as_measures(measures)
    read = []
    for method in methods:
        *cut, whole = default_measures(method)
        read.append({method.label(measure): measure for measure in requested or (whole, *cut)})
    return read
