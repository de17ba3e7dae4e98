"""A page's figures of all samples: means with intervals, charts, causes, and its head."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.page.page_source import Parsed, cells_of, rows_of

from fullrecall import IdRecall, Report, Sample, compare, evaluate
from fullrecall.errors import ReportError
from fullrecall.measures import RR, Recall, nDCG
from fullrecall.page import page
from fullrecall.page.subject import Subject, columns, reading_of, turns_of
from fullrecall.page.tables import Curve, CurveMean, chart
from fullrecall.show.text import between


def test_undefined_is_counted_for_each_measure() -> None:
    """A sample without a target for one measure is undefined in that measure's count alone."""
    samples = [
        Sample(id=str(grade), retrieved_context_ids=["a"], reference_context_ids={"a": grade})
        for grade in (1, 2)
    ]
    page = evaluate(samples, IdRecall()).to_html(measures=[Recall, Recall(min_grade=2)])
    assert [line[0].split()[-3:] for _, line in rows_of(page)] == [list("200"), list("110")]
    assert [values for ((_, values, _),) in cells_of(page).values()] == [[1.0, None], [1.0, 1.0]]


def test_the_overview_has_every_measure_and_shows_one(report: Report) -> None:
    """Each measure has the summary's mean, interval, and counts; the headline is shown first."""
    measures = [Recall @ 2, nDCG @ 2, Recall]
    summary, rows = report.summary(*measures), rows_of(report.to_html(measures=measures))
    assert [number for number, _ in rows] == ["0 hidden", "1 hidden", "2"]
    for measure, (_, lines) in zip(measures, rows, strict=True):
        for score, line in zip(summary, lines, strict=True):
            one = score[measure]
            assert one.interval is not None
            assert f" {score.method.label(measure)} {one.mean:.3f} " in line
            assert f" {between(one.interval)} " in line
            assert line.split(" of ")[1].split()[1:4] == [
                str(n) for n in (one.samples, one.undefined, score.unscored)
            ]
    opened = [number for number, _ in rows_of(report.to_html())]
    assert opened == ["0 hidden", "1 hidden", "2 hidden", "3 hidden", "4"]


def test_a_page_begins_with_the_mean_and_the_misses() -> None:
    """The first sentence has the mean, the number of questions, and how many have a miss."""
    samples = [
        Sample(retrieved_ids=["a"], expected_ids=["a" if number % 2 else "b"])
        for number in range(6)
    ]
    text = " ".join(" ".join(Parsed(evaluate(samples, IdRecall()).to_html()).text).split())
    assert (
        "0.500 id_recall@1 over 6 questions (95% interval .118–.882); "
        "3 of 6 questions miss something" in text
    )
    report = evaluate(samples, [IdRecall(), IdRecall(name="again")], progress=False)
    page = report.to_html()
    text = " ".join(" ".join(Parsed(page).text).split())
    assert "again@1 over 6 questions (95% interval .118–.882)" in text
    assert "again@1 over 6 questions (95% interval .118–.882);" not in text
    assert "Not diagnosed" not in page
    assert 'class="gap-count"' not in page
    assert "Not diagnosed" in report.to_html(diagnosis=False)


def test_a_page_of_too_many_samples_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says how to write a page of some of them; the limit itself is no error."""
    monkeypatch.setattr(page, "MOST_ROWS", 2)
    report = evaluate([Sample(retrieved_ids=["a"], expected_ids=["a"])] * 3, IdRecall())
    with pytest.raises(ReportError, match=r"at most 2 samples, got 3: .*report\.drawn\(2\)"):
        report.to_html()
    assert "over 2 questions" in report.drawn(2).to_html()


def test_misses_are_counted_for_each_score_apart(report: Report) -> None:
    """A document that three scores miss counts once in each, and in no sum of them."""
    (_, lines), *_ = rows_of(report.to_html(measures=[Recall @ 2]))
    missed = [re.search(r"\d+ of \d+", line) for line in lines]
    assert [one and one[0] for one in missed] == ["2 of 4", "1 of 2", "6 of 9"]
    for nth, line in enumerate(report.methods):
        alone = len(report.missed(2, score=line.name))
        assert (missed[nth] or [""])[0].startswith(f"{alone} of ")


def test_any_measure_is_charted_over_its_ks(report: Report) -> None:
    """Each measure with two ks has a chart, which is shown only if the measure is chosen."""
    page = report.to_html(measures=[Recall @ 1, nDCG @ 1, Recall @ 2, nDCG @ 2, RR])
    assert re.findall(r'<figure class="panel" data-choices="([\d ]+)">', page) == ["0 2", "1 3"]
    assert page.count('role="img"') == 2
    text = " ".join(" ".join(Parsed(page).text).split())
    assert "Mean of Recall @ k" in text
    assert "Mean of nDCG @ k" in text


def test_a_chart_of_two_reports_has_their_means_and_the_difference() -> None:
    """The numbers of a chart are each report's means, and the change with its interval."""

    def report(ranks: int) -> Report:
        found = [["a", "b"] if n < ranks else ["b", "a"] for n in range(20)]
        samples = [
            Sample(id=str(n), retrieved_ids=f, expected_ids=["a"]) for n, f in enumerate(found)
        ]
        return evaluate(samples, IdRecall(), progress=False)

    comparison = compare(report(5), report(18), Recall @ 1, Recall @ 2)
    text = " ".join(" ".join(Parsed(comparison.to_html()).text).split())
    numbers = text.partition("at k 1 2 ")[2].partition(" Small figures")[0]
    means = "before 0.250 1.000 after 0.900 1.000"
    assert numbers == f"{means} difference +.650 +.306 to +.847 +.000 -.169 to +.169"
    single = " ".join(Parsed(report(5).to_html(measures=[Recall @ 1, Recall @ 2])).text)
    assert "difference" not in single


def test_means_are_over_groups_and_say_so(report: Report) -> None:
    """Two samples of one group count once: the page has the mean over groups, and says so."""
    samples = [
        Sample(id=str(n), group=group, retrieved_context_ids=["a"], reference_context_ids=[wanted])
        for n, (group, wanted) in enumerate((("g", "a"), ("g", "a"), (None, "b")))
    ]
    page = evaluate(samples, IdRecall()).to_html()
    assert dict(rows_of(page))["4"][0].startswith("id_recall 0.500")
    assert "3 in 2 groups" in dict(rows_of(page))["4"][0]
    assert " groups" not in " ".join(
        " ".join(of) for of in dict(rows_of(report.to_html())).values()
    )


def test_each_cause_has_its_share_of_each_score_and_its_fix(report: Report, diagnosis: Any) -> None:
    """Each cause's shares are of one score's misses, without those of other scores."""
    text = " ".join(" ".join(Parsed(report.to_html(diagnosis=diagnosis)).text).split())
    assert "Beyond k A id_recall 1 of 2 (50%) C claim_recall 0 of 1 (0%) Mend beyond_k" in text
    assert "Not in corpus A id_recall 0 of 2 (0%) C claim_recall 1 of 1 (100%)" in text
    assert "of 3" not in text[text.index("Why it was missed") : text.index("Shares are")]


def test_bounds_stand_beside_a_mean_that_lacks_samples(report: Report) -> None:
    """The page shows the mean with all unscored samples at 0, and with all of them at 1."""
    summary, page = report.summary()["id_recall"], report.to_html()
    for measure in (Recall, Recall @ 1):
        low, high = summary[measure].bounds or (None, None)
        assert f"{low:.3f} to {high:.3f}" in page


def test_a_chart_needs_two_ks() -> None:
    """A chart is drawn if there are at least two values of k."""
    assert chart([Curve("A", "a", 0, {5: CurveMean(0.5)})]) is None
    drawn = chart([Curve("A", "a", 0, {1: CurveMean(0.5), 9: CurveMean(0.5)})])
    assert drawn is not None
    assert [y for _, y in drawn.dots(drawn.curves[0])] == [110.0, 110.0]


def test_a_sample_without_a_value_neither_misses_nor_finds() -> None:
    """The counts of samples that miss targets are over the samples with a value."""
    samples = [
        Sample(id="found", retrieved_context_ids=["a"], reference_context_ids=["a"]),
        Sample(id="missed", retrieved_context_ids=["b"], reference_context_ids=["a"]),
        Sample(id="unscored", reference_context_ids=["a"]),
    ]
    report = evaluate(samples, IdRecall(), progress=False)
    subject = Subject({"": report}, columns(report.methods, [(0,)], [Recall]))
    readings = [reading_of(subject, nth, rows) for nth, rows in enumerate(subject.rows)]
    turns = turns_of(readings, 0)
    assert (turns.missing, turns.scored) == (1, 2)
