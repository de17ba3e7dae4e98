"""A summary as the flat dict of numbers that experiment trackers take."""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fullrecall.results.summary import ScoreSummary, Summary

_OTHER = re.compile(r"[^\w.\-]+")


def metrics(summary: Summary) -> dict[str, float]:
    """Return the numbers of a summary by names of letters, digits, `_`, `-`, `.` and one `/`.

    See `Report.metrics`. A name is never the folder of another one: MLflow keeps both as files.
    """
    values: dict[str, float] = {"samples": float(summary.samples)}
    for score in summary:
        for name, value in _numbers(score).items():
            key = f"{_cleaned(score.name)}/{name}"
            while key in values:  # two scores may differ in forbidden characters alone
                key += "_2"
            if value is not None and isfinite(value):
                values[key] = float(value)
    return values


def _numbers(score: ScoreSummary) -> dict[str, float | None]:
    numbers: dict[str, float | None] = {}
    for measure, estimate in score.items():
        label = score.method.label(measure).removeprefix(score.name).lstrip(".")
        what, at, k = label.rpartition("@")
        name = _cleaned("_".join(part for part in (what, f"at_{k}" if at else k) if part)) or "all"
        numbers[name] = estimate.mean
        if estimate.interval is not None:
            numbers[f"{name}_low"] = estimate.interval.low
            numbers[f"{name}_high"] = estimate.interval.high
    return numbers | {
        "n_scored": score.scored,
        "n_undefined": score.undefined,
        "n_unscored": score.unscored,
        "unverified": score.unverified,
    }


def _cleaned(name: str) -> str:
    return re.sub("__+", "_", _OTHER.sub("_", name)).strip("_.")
