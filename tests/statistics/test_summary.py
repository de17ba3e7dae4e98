"""What a summary says of how sure it is: intervals, groups, coverage, bounds."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from fullrecall import IdRecall, Report, Sample, evaluate
from fullrecall.report.statistics import mean_interval
from fullrecall.report.totals import spread_of


def report_of(found: list[bool | None], group: int | None = None) -> Report:
    """Return a report of samples that found their one target at rank 2, or not; None: unscored."""
    rows = [
        Sample(
            retrieved_ids=None if hit is None else ["x", "a" if hit else "y"],
            expected_ids=["a"],
            group=None if group is None else n // group,
        )
        for n, hit in enumerate(found)
    ]
    return evaluate(rows, IdRecall(ks=(1, 2)), progress=False)


FOUND: list[bool | None] = [True, True, False, True, None, True, False, True, True, None]


def test_intervals_are_those_of_the_values() -> None:
    """The interval of the mean and of each k is `mean_interval` of the scores."""
    score = report_of(FOUND).summary()["id_recall"]
    values = [float(hit) for hit in FOUND if hit is not None]
    assert score.interval == mean_interval(spread_of(values))
    assert score.at_intervals == {
        1: mean_interval(spread_of([0.0] * 8)),
        2: score.interval,
    }
    assert score.groups == 8


def test_samples_of_a_group_are_one() -> None:
    """Five groups of two are five: the interval is wider than that of ten."""
    found: list[bool | None] = [True, True, False, False, True, True, True, True, False, False]
    alone, together = (report_of(found, group).summary()["id_recall"] for group in (None, 2))
    assert (alone.groups, together.groups) == (10, 5)
    assert alone.interval is not None
    assert together.interval is not None
    assert together.interval.low < alone.interval.low
    assert together.interval.high > alone.interval.high
    assert re.search(r"^  in groups +5$", str(report_of(found, 2).summary()), re.MULTILINE)


def test_bounds_on_what_is_unscored() -> None:
    """The mean if all unscored were 0, and if all were 1, beside the coverage."""
    score = report_of(FOUND).summary()["id_recall"]
    assert score.bounds == pytest.approx((6 / 10, 8 / 10))
    assert score.coverage == 0.8
    assert "would be 0.600 if what is unscored were all 0, and 0.800 if all 1" in str(
        report_of(FOUND).summary()
    )


def test_bounds_where_all_or_nothing_is_scored() -> None:
    """All scored: the mean itself. Nothing scored: anything. No sample: nothing to say."""
    assert report_of([True, False]).summary()["id_recall"].bounds == (0.5, 0.5)
    assert report_of([None, None]).summary()["id_recall"].bounds == (0.0, 1.0)
    assert report_of([]).summary()["id_recall"].bounds is None
    assert report_of([]).summary()["id_recall"].coverage is None


def test_one_sample_has_no_interval() -> None:
    """It is a dash in the table and null in JSON, and nothing advises to install SciPy."""
    summary = report_of([True]).summary()
    assert summary["id_recall"].interval is None
    assert json.loads(json.dumps(summary.to_dict()))["scores"][0]["interval"] is None
    assert "SciPy" not in str(summary)


def test_the_table_and_the_json_have_the_intervals() -> None:
    """Below each mean its interval; in JSON with both ends and the confidence."""
    summary = report_of(FOUND).summary()
    interval = summary["id_recall"].interval
    shown = f"{interval.low:.3f}–{interval.high:.3f}".replace("0.", ".")
    assert re.search(rf"^  @2 +0\.750\n    95% +{re.escape(shown)}$", str(summary), re.MULTILINE)
    plain = json.loads(json.dumps(summary.to_dict()))["scores"][0]
    assert plain["interval"] == {"low": interval.low, "high": interval.high, "confidence": 0.95}
    assert plain["at_intervals"]["2"] == plain["interval"]


def test_means_alone_load_no_scipy() -> None:
    """Who reads the means pays for no statistics."""
    code = (
        "import sys; from fullrecall import *; "
        "r = evaluate([Sample(retrieved_ids=['a'], expected_ids=['a'])] * 3, IdRecall(), "
        "progress=False); assert r.summary()[0].mean == 1.0; "
        "print([m for m in ('numpy', 'scipy') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_few_samples_are_named_as_few() -> None:
    """Below 30 independent samples the summary says how much none of them may show."""
    many, few = report_of([True, False] * 15), report_of([True, False] * 15, 2)
    assert "are few" not in str(many.summary())
    text = " ".join(str(few.summary()).split())
    assert (
        "15 independent samples in id_recall are few: what is so in up to 18% of all questions "
        "may not show in them, nor in the intervals"
    ) in text
    assert "15 independent samples are few" in few.to_html()
    assert "independent samples are few" not in many.to_html()
    assert "are few" not in str(report_of([True]).summary())  # no interval, nothing to doubt
