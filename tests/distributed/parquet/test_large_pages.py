"""Pages and diagnoses of many samples say which of them they hold."""

from __future__ import annotations

import random
from importlib import import_module
from pathlib import Path

import pytest
from tests.distributed.parquet.made import again, run, samples, stored

from fullrecall import compare
from fullrecall.diagnosis import diagnose
from fullrecall.report import Comparisons
from fullrecall.table.row import Row
from fullrecall.views.page import census

pytest.importorskip("pyarrow", reason="needs the parquet extra")


def test_the_page_of_many_says_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of the samples are in it, the figures are of all; both forms give the same page."""
    report = run(samples(random.Random(3), 150, repeats=0, groups=0.2))
    opened = stored(report, tmp_path / "r.parquet")
    assert opened.to_html() == report.to_html()
    assert "The table below holds" not in report.to_html()
    for module in (census, import_module("fullrecall.views.page.page")):
        monkeypatch.setattr(module, "MOST_ROWS", 100)
    for name, most in {"WORST": 20, "DRAWN": 10, "UNSCORED": 3}.items():
        monkeypatch.setattr(census, name, most)
    page = opened.to_html()
    assert page == report.to_html()
    failing = {one.sample for one in report.missed()}
    assert f"of 150: the 20 lowest of the {len(failing):,} that miss something" in page
    assert "10 more of these, drawn at random, 3 of the" in page
    assert f'id="failing-samples">{len(failing):,}</b>' in page
    changed = run([again(random.Random(5), row.sample, other_targets=0) for row in report])
    said = compare(report, changed).to_html()
    assert said == compare(opened, stored(changed, tmp_path / "c.parquet")).to_html()
    assert "that changed most of the" in said
    turned = [
        any(result.missed for result in row.results) if scored(row) else None
        for row in (*report, *changed)
    ]
    both = list(zip(turned[:150], turned[150:], strict=True))
    assert f'id="newly-samples">{both.count((False, True)):,}</b>' in said
    assert f'id="mended-samples">{both.count((True, False)):,}</b>' in said
    assert f'id="still-samples">{both.count((True, True)):,}</b>' in said


def scored(row: Row) -> bool:
    """Whether any score of a row has a value."""
    return any(result.score is not None for result in row.results)


def test_several_runs_stand_beside_each_other(tmp_path: Path) -> None:
    """Runs of either form give the same page, with every sample of each."""
    report = run(samples(random.Random(3), 40, repeats=0, groups=0))
    opened = stored(report, tmp_path / "r.parquet")
    runs, same = ({"a": one, "b": one, "c": one} for one in (report, opened))
    assert Comparisons(same).to_html() == Comparisons(runs).to_html()


def test_a_diagnosis_of_many_is_of_some(tmp_path: Path) -> None:
    """Of a report in parts so many samples are diagnosed, and that is said."""
    report = run(samples(random.Random(3), 120, repeats=0, groups=0))
    opened = stored(report, tmp_path / "r.parquet")
    some = diagnose(opened, at_most=50)
    assert (some.samples, some.drawn_from) == (50, 120)
    assert "50 samples drawn at random of 120" in str(some)
    assert some.to_dict() | {"drawn_from": 50} == diagnose(report.drawn(50)).to_dict()
