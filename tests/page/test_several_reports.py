"""Pages of several reports in a browser: the changed samples, and both retrievals."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context, IdRecall, Report, Sample, compare, evaluate
from fullrecall.measures import Recall

pytestmark = pytest.mark.browser


PAGE_MEASURES = {
    "Recall, all retrieved": Recall,
    "Recall @ 3": Recall @ 3,
    "Recall @ 1": Recall @ 1,
}


def test_what_turned_is_counted_and_filtered(opened: Any) -> None:
    """The first screen's counts equal those of the filters that it links to, for every measure."""

    def made(seed: int) -> Report:
        samples = [
            Sample(
                id=f"q{nth}",
                retrieved_context_ids=["x"] * ((nth * seed) % 5) + [f"d{nth}"],
                reference_context_ids=[f"d{nth}"] + ["gone"] * ((nth * seed) % 7 == 0),
            )
            for nth in range(40)
        ]
        return evaluate(samples, IdRecall(), progress=False)

    before, after = made(1), made(3)
    one = opened(compare(before, after).to_html())
    for measure in ("Recall, all retrieved", "Recall @ 3", "Recall @ 1"):
        one.measure(measure)
        counts = {}
        for outcome in ("newly", "mended", "still"):
            one.outcome(outcome)
            shown = one.page.locator("#status").inner_text()
            counts[outcome] = int(shown.split()[0])
            name = "still-samples" if outcome == "still" else f"{outcome}-samples"
            assert one.page.locator(f"#{name}").inner_text() == str(counts[outcome])
        one.outcome("")
        missed = {row.sample.id for row in after.rows if row.results[0][PAGE_MEASURES[measure]] < 1}
        assert counts["newly"] + counts["still"] == len(missed)
        assert one.page.locator("#newly-worst li").count() == min(5, counts["newly"])


def test_a_comparison_shows_both_sides(opened: Any, report: Report, after: Report) -> None:
    """Changes are marked and can be filtered; an opened sample has both retrievals side by side."""
    one = opened(compare(report, after).to_html())
    one.outcome("better")
    assert one.labels() == ["tower"]
    assert "0.667 → 1.000" in one.page.locator(".sample-row").inner_text()
    one.measure("Recall @ 3")
    assert one.labels() == [], "what it gained stands at rank 4"
    one.measure("Recall @ 5")
    assert one.labels() == ["tower"]
    one.outcome("unpaired")
    assert one.labels() == ["open", "broken"]
    one.outcome("better")
    one.page.locator(".open").click()
    sides = one.page.locator(".side")
    boxes = [side.bounding_box() for side in sides.all()]
    assert len(boxes) == 2
    assert boxes[0]["y"] == boxes[1]["y"]
    assert "Now found" not in sides.nth(0).inner_text()
    assert "Now found" in sides.nth(1).inner_text()


def test_targets_that_one_report_lacks_are_marked(opened: Any) -> None:
    """Targets of one report alone are marked and do not count in any compared value."""

    def of(some: list[str], none: str) -> Report:
        contexts = [Context("A", id="a"), Context("B", id="b")]
        wanted = {"some": some, "none": [none]}
        samples = [
            Sample(id=name, retrieved_contexts=contexts, reference_context_ids=ids)
            for name, ids in wanted.items()
        ]
        return evaluate(samples, IdRecall(), progress=False)

    one = opened(compare(of(["a", "b", "c"], "x"), of(["a", "c", "d"], "y")).to_html())
    assert one.row("some")[1] == "0.500 → 0.500 no change"
    assert one.row("none")[1].endswith("not compared: no common targets")
    one.outcome("unpaired")
    assert one.labels() == ["none"]
    one.outcome("")
    for button in one.page.locator(".open").all():
        button.click()
    first, second, *_ = one.page.locator(".side").all_inner_texts()
    assert "Compared over 2 targets that both reports have, of 3." in first
    assert first.count("not compared") == second.count("not compared") == 1
    assert "Not compared: no common targets." in one.page.locator(".detail").nth(1).inner_text()
