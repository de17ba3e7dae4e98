"""The scores of an evaluation as columns of a frame, and as numbers by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any, TypeAlias

from fullrecall._util.dataframes import Cells
from fullrecall.measures import Measure, as_measures
from fullrecall.stats.estimates import ScoreSummary, default_measures
from fullrecall.stats.summary import Summary
from fullrecall.table.table import Table

_OTHER = re.compile(r"[^\w.\-]+")


def metrics(summary: Summary) -> dict[str, float]:
    """Return a summary's numbers by name; names have letters, digits, `_`, `-`, `.` and one `/`.

    See `Report.metrics`. Each score's names begin with its own name and `/`. MLflow stores names as
    file paths, so a metric could not have the score's own name, which is the folder's name.
    """
    values: dict[str, float] = {"samples": float(summary.samples)}
    for score in summary:
        for name, value in _numbers(score).items():
            key = f"{_cleaned(score.name)}/{name}"
            while key in values:  # Names may differ only in characters that were replaced.
                key += "_2"
            if value is not None and isfinite(value):
                values[key] = float(value)
    return values


def _numbers(score: ScoreSummary) -> dict[str, float | None]:
    numbers: dict[str, float | None] = {
        "n_scored": score.scored,
        "n_undefined": score.undefined,
        "n_unscored": score.unscored,
        "n_unjudged": score.unjudged,
        "unverified": score.unverified,
    }
    for measure, estimate in score.items():
        low, high, *_ = estimate.interval or (None, None)
        name = _cleaned(measure.name.replace("@", "_at_"))
        numbers |= {name: estimate.mean, f"{name}_low": low, f"{name}_high": high}
    return numbers


def _cleaned(name: str) -> str:
    return re.sub("__+", "_", _OTHER.sub("_", name)).strip("_.")


Columns: TypeAlias = dict[str, Cells]
"""The columns' names, in order, each with the type of its values."""


def scores_of(table: Table, measures: Sequence[Measure]) -> tuple[Columns, Iterator[list[Any]]]:
    """Return the columns of scores, and one row per sample; see `Report.to_frame`."""
    requested = as_measures(measures)
    by_column = []
    for method in table.methods:
        *cut, whole = default_measures(method)
        by_column.append({method.label(each): each for each in requested or (whole, *cut)})
    columns: Columns = dict.fromkeys(("sample", "user_input", "group"), str)
    for method, labels in zip(table.methods, by_column, strict=True):
        columns |= dict.fromkeys(labels, float)
        columns |= dict.fromkeys((f"{method.name}_status", f"{method.name}_reason"), str)

    def rows() -> Iterator[list[Any]]:
        for row in table:
            cells: dict[str, Any] = {"sample": row.label, "user_input": row.sample.user_input}
            cells["group"] = row.sample.group
            for result, labels in zip(row.results, by_column, strict=True):
                cells |= {label: result[measure] for label, measure in labels.items()}
                cells[f"{result.method.name}_status"] = str(result.status)
                cells[f"{result.method.name}_reason"] = result.reason
            yield [cells.get(name) for name in columns]

    return columns, rows()
