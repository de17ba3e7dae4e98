"""Pages of several reports: both sides of each sample, over the targets that both have."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from tests.page.page_source import Parsed, block, cells_of, rows_of

from fullrecall import Context, IdRecall, Report, Sample, compare, evaluate
from fullrecall.measures import Recall, nDCG
from fullrecall.show.text import signed, signed_between


def test_a_comparison_has_the_causes_of_what_was_missed_after(
    report: Report, after: Report, diagnosis: Any
) -> None:
    """Only the report after has the causes of missed targets, in shares and in targets."""
    comparison = compare(report, after)
    page = comparison.to_html(diagnosis=replace(diagnosis, misses=diagnosis.misses[1:]))
    shares = " ".join(" ".join(Parsed(page).text).split())
    assert "A id_recall 1 of 1" in shares
    causes = [
        [target["u"] for result in side["f"] for target in result.get("t", []) if "u" in target]
        for side in block(page, "details-0")[0]["x"]
    ]
    assert [len(of_side) for of_side in causes] == [0, 2]
    assert "Why it was missed" not in comparison.to_html(diagnosis=False)


def test_a_comparison_has_both_sides(report: Report, after: Report) -> None:
    """Each sample has its results in both reports, and the difference is the comparison's."""
    comparison = compare(report, after)
    page = comparison.to_html()
    index = block(page, "index")
    assert index["sides"] == ["before", "after"]
    first = block(page, "details-0")[0]["x"]
    assert [len(side["c"]) for side in first] == [3, 4]
    difference = comparison["id_recall"].main.difference
    assert difference is not None
    assert signed(difference) in page
    assert compare(report, after).to_html() == page


def test_a_comparison_shows_the_measures_that_it_was_asked_for(
    report: Report, after: Report
) -> None:
    """Each measure has its difference, interval, corrected p, and every sample's values."""
    measures = (Recall @ 1, nDCG @ 2)
    comparison = compare(report, after, *measures)
    page = comparison.to_html()
    for measure, (_, lines) in zip(measures, rows_of(page), strict=True):
        for score, line in zip(comparison, lines, strict=True):
            one = score[measure]
            assert one.interval is not None
            assert score.method.label(measure) in line
            assert f"{signed(one.difference)} {signed_between(one.interval)}" in line
            assert f" {one.p_adjusted:.4f} " in line
            assert f"{one.wins}/{one.ties}/{one.losses} {one.samples}" in line
    for side, reports in enumerate((report, after)):
        cells = cells_of(page, side)
        for row in reports:
            assert cells[row.label][0][1] == [
                None if row.results[0][m] is None else pytest.approx(row.results[0][m], abs=1e-6)
                for m in measures
            ]


def other_targets() -> Report:
    """Return the report `before` of two samples: their targets differ from those of `after`."""
    return targets_of_two(["a", "b", "c"], ["x"])


def targets_of_two(first: list[str], second: list[str]) -> Report:
    """Return a report of two samples that retrieve a and b, and have these targets."""
    wanted = {"some": first, "none": second}
    samples = [
        Sample(
            id=name,
            retrieved_contexts=[Context("A", id="a"), Context("B", id="b")],
            reference_context_ids=ids,
        )
        for name, ids in wanted.items()
    ]
    return evaluate(samples, IdRecall(), progress=False)


def test_only_common_targets_are_compared_and_the_page_says_so() -> None:
    """Values are over common targets; other targets are marked, and samples without any omitted."""
    comparison = compare(other_targets(), targets_of_two(["a", "c", "d", "e"], ["y"]))
    page = comparison.to_html()
    text = " ".join(" ".join(Parsed(page).text).split())
    assert "The references of 2 samples differ in id_recall: only those that both" in text
    assert "1 not compared in id_recall: no target in common" in text
    before, after = cells_of(page, 0), cells_of(page, 1)
    assert before["some"][0][1][-1] == after["some"][0][1][-1] == 0.5
    assert before["some"][0][2][-1] == 1
    index = block(page, "index")
    gaps = {entry["l"]: entry["n"] for entry in index["samples"]}
    assert gaps == {"some": [None], "none": ["no common targets"]}
    sides = block(page, "details-0")[0]["x"]
    texts = block(page, "texts-0")
    apart = [
        [texts[target["t"]] for target in side["f"][0]["t"] if "y" in target] for side in sides
    ]
    assert apart == [["b"], ["d", "e"]]


def test_samples_of_one_report_alone_are_on_the_page(report: Report, fewer: Report) -> None:
    """A sample that is only before or only after is shown as such, and not compared."""
    index = block(compare(report, fewer).to_html(), "index")
    entries = {entry["l"]: entry["v"] for entry in index["samples"]}
    assert entries["tower"][1] is None
    assert {entry["l"]: entry["n"] for entry in index["samples"]}["tower"][0] == "only before"
    index = block(compare(fewer, report).to_html(), "index")
    entries = {entry["l"]: entry["v"] for entry in index["samples"]}
    assert entries["tower"][0] is None


def test_a_comparison_answers_first() -> None:
    """The verdict comes first, then the cost, the broken questions, and the mended ones."""

    def made(failing: range) -> Report:
        samples = [
            Sample(
                id=f"q{nth}",
                user_input=f"What of {nth}?",
                retrieved_context_ids=[
                    "x",
                    "y",
                    "z",
                    "w",
                    "v",
                    f"{'e' if nth in failing else 'd'}{nth}",
                ],
                reference_context_ids=[f"d{nth}"],
            )
            for nth in range(20)
        ]
        return evaluate(samples, IdRecall(), progress=False)

    html = compare(made(range(5)), made(range(2, 9))).to_html()
    text = " ".join(" ".join(Parsed(html).text).split())
    assert "CANNOT TELL id_recall fell from 0.750 to 0.650: -.100 (95% interval" in text
    assert "A question costs the same: 6 contexts." in text
    assert text.index("CANNOT TELL") < text.index("What broke") < text.index("What is mended")
    assert "4 of 20 questions miss something" in text
    assert "2 questions missed something" in text
    assert "and miss nothing now; 3 still do" in text
    assert 'data-label="Compared"' in html


def test_several_reports_have_their_names_and_verdicts() -> None:
    """Columns and curves have the reports' names; a loss is marked, no change is not."""

    def found(first: str) -> Report:
        samples = [
            {"id": f"q{n}", "retrieved_ids": [first, f"d{n}"][: 2 - (first == "y")]}
            | {"expected_ids": [f"d{n}"]}
            for n in range(30)
        ]
        return evaluate(samples, IdRecall(), progress=False)

    page = compare({"plain": found("x"), "stems": found("z"), "short": found("y")}).to_html()
    text = " ".join(" ".join(Parsed(page).text).split())
    assert "95% interval plain short p" in text
    assert "id_recall stayed at 1.000: +.000" in text
    overview = page[page.index("All reports") : page.index("What changed")]
    (worse,) = re.findall(r'class="([^"]*)"[^>]*>(?:<[^>]*>)*Worse<', overview)
    assert "bad" in worse.split()
    assert "unsure" not in overview
