"""The table of samples in a browser: sorted, filtered, searched, and kept as a link."""

from __future__ import annotations

from typing import Any

import pytest
from tests.page.window import MEASURES, kinds_report

from fullrecall import Context, IdRecall, Report, Sample, evaluate
from fullrecall.measures import Recall, nDCG

pytestmark = pytest.mark.browser


def test_it_loads_and_counts(opened: Any, report: Report) -> None:
    """All samples are listed in order, and the live region gives their number."""
    one = opened(report.to_html())
    assert one.labels() == ["tower", "rome", "open", "broken"]
    status = one.page.locator("#status")
    assert status.inner_text() == "4 samples"
    assert status.get_attribute("aria-live") == "polite"


def test_it_sorts_by_a_score_with_the_unmeasured_last(opened: Any, report: Report) -> None:
    """Samples without a score are last in both directions; aria-sort names the direction."""
    one = opened(report.to_html(measures=[Recall @ 2]))
    head = one.page.get_by_role("columnheader", name="id_recall@2")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert one.labels() == ["tower", "rome", "open", "broken"]
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert one.labels() == ["rome", "tower", "open", "broken"]
    one.page.get_by_role("columnheader", name="Missed").get_by_role("button").click()
    assert one.labels()[0] == "tower"


def test_it_filters_by_outcome_score_and_cause(opened: Any, report: Report, diagnosis: Any) -> None:
    """Each filter keeps the samples that it names, and reset shows all of them."""
    one = opened(report.to_html(measures=[Recall @ 2], diagnosis=diagnosis))
    one.outcome("undefined")
    assert one.labels() == ["open"]
    one.outcome("unscored")
    assert one.labels() == ["broken"]
    one.outcome("missed")
    assert set(one.labels()) == {"tower", "rome", "open"}
    one.page.locator("#by-score").select_option("0")
    assert one.labels() == ["tower"]
    one.outcome("found")
    assert one.labels() == ["rome"]
    assert one.page.locator("#status").inner_text() == "1 of 4 samples"
    one.page.get_by_role("button", name="Reset").click()
    one.wait_for_status("4 samples")
    assert len(one.labels()) == 4
    one.page.locator("#by-cause").select_option(label="dropped by stage")
    assert one.labels() == ["tower"]
    assert sorted(one.page.locator(".sample-row .chip.cause").all_inner_texts()) == [
        "beyond k",
        "dropped by stage",
        "not in corpus",
    ]
    one.page.locator("#by-score").select_option("2")
    assert one.labels() == [], "another score's cause"
    one.page.locator("#by-cause").select_option("")
    assert one.page.locator(".sample-row .chip.cause").all_inner_texts() == ["not in corpus"]


def test_misses_stand_for_each_score_apart(opened: Any, report: Report) -> None:
    """The column of misses has a count for each score, not a sum, or for a chosen score alone."""
    one = opened(report.to_html(measures=[Recall @ 2], diagnosis=False))
    assert one.row("tower")[-1] == "A2 B1 C2"
    assert one.row("open")[-1] == "C2"
    assert one.row("broken")[-1] == "–"
    one.page.locator("#by-score").select_option("0")
    assert one.row("tower")[-1] == "2"
    assert one.row("open")[-1] == "–"
    head = one.page.get_by_role("columnheader", name="Missed").get_by_role("button")
    head.click()
    assert one.labels() == ["tower", "rome", "open", "broken"]
    one.page.locator("#by-score").select_option("2")
    assert one.labels() == ["tower", "rome", "open", "broken"]
    head.click()
    assert one.labels()[-1] == "broken"


def test_the_measure_chosen_is_that_of_the_whole_page(opened: Any, report: Report) -> None:
    """Means, charts, heads, values, misses, and targets follow the measure of either list."""
    one = opened(report.to_html(measures=MEASURES, diagnosis=False))
    summary = report.summary(*MEASURES)
    one.page.locator(".open").first.click()
    for measure in MEASURES:
        label = repr(measure) if measure.k else f"{measure!r}, all retrieved"
        one.measure(label)
        choosers = one.page.locator(".by-measure")
        assert {each.input_value() for each in choosers.all()} == {str(MEASURES.index(measure))}
        lines = one.page.locator("table.cards tbody:visible tr").all_inner_texts()
        assert len(lines) == 3
        for score, line in zip(summary, lines, strict=True):
            assert line.split()[1:3] == [score.method.label(measure), f"{score[measure].mean:.3f}"]
        charts = one.page.locator("figure.panel:visible figcaption").all_inner_texts()
        charted = measure.whole in (Recall, nDCG)
        assert charts == ([f"Mean of {measure.whole!r} @ k"] if charted else [])
        assert one.page.locator("#curves-heading").is_visible() == charted
        names = [method.label(measure) for method in report.methods]
        heads = one.page.locator("#head th").all_inner_texts()[2:5]
        assert [head.split()[1] for head in heads] == names
        tower = report.rows[0].results
        shown = [f"{result[measure]:.3f}" for result in tower]
        assert one.row("tower")[1:4] == shown
        results = one.page.locator(".detail .result h4").all_inner_texts()
        assert [text.split()[1:] for text in results] == [
            list(p) for p in zip(names, shown, strict=True)
        ]
        missed = one.page.locator(".detail .result").first.locator(".chip.lacks").count()
        assert missed == sum(not finding.found_at(measure.k) for finding in tower[0].findings)
        assert one.row("tower")[-1].split()[0] == f"A{missed}"
    marked = one.page.locator("path.chosen.now")
    assert marked.count() == 0, "what is chosen has no k"
    one.measure("nDCG @ 2")
    assert [path.get_attribute("data-k") for path in marked.all()] == ["2", "2"]


def test_sorting_and_filters_follow_the_measure(opened: Any, report: Report) -> None:
    """A target found within k may be missed within a smaller k; the order follows the values."""
    one = opened(report.to_html(measures=[Recall @ 2, Recall @ 3, Recall(zero_division=1.0)]))
    one.page.locator("#by-score").select_option("0")
    one.outcome("undefined")
    assert one.labels() == ["open"]
    one.measure("Recall(zero_division=1.0), all retrieved")
    assert one.labels() == []
    one.outcome("")
    one.page.get_by_role("columnheader", name="id_recall").get_by_role("button").click()
    one.page.get_by_role("columnheader", name="id_recall").get_by_role("button").click()
    assert one.labels() == ["rome", "open", "tower", "broken"]
    one.measure("Recall @ 3")
    assert one.labels() == ["rome", "tower", "open", "broken"]
    assert (
        one.page.locator('#head [aria-sort="descending"]').inner_text().split()[1] == "id_recall@3"
    )
    one.page.get_by_role("button", name="Reset").click()
    one.page.locator("#sort option", has_text="id_recall@2").wait_for(state="attached")
    assert one.labels() == ["tower", "rome", "open", "broken"]


def test_it_searches_contexts_too(opened: Any, report: Report) -> None:
    """A sample is shown if its texts contain all words of the query, in any case."""
    one = opened(report.to_html())
    for query, found in (
        ("colosseum", ["tower", "rome"]),
        ("COLOSSEUM paris", ["tower"]),
        ('"stands in rome"', ["tower", "rome"]),
        ("d9", ["tower"]),
        ("connectionerror", ["broken"]),
        ("towers", ["tower"]),
    ):
        one.page.locator("#search").fill(query)
        one.page.wait_for_timeout(250)
        assert one.labels() == found, query
    one.page.locator("#search").fill("nowhere to be found")
    one.page.locator("#none").wait_for(state="visible")
    assert one.labels() == []


def test_words_are_looked_for_in_one_field(opened: Any, report: Report) -> None:
    """A search in one field does not find words of other fields."""
    one = opened(report.to_html())
    one.page.locator("#search").fill("rome")
    for where, found in (
        ("question", ["rome"]),
        ("answer", ["tower"]),
        ("context", ["tower", "rome"]),
        ("target", ["rome"]),
        ("id", ["rome"]),
        ("metadata", []),
    ):
        one.page.locator("#search-in").select_option(where)
        one.page.wait_for_timeout(200)
        assert set(one.labels()) == set(found), where


def test_a_cause_is_a_filter_where_it_stands(opened: Any, report: Report, diagnosis: Any) -> None:
    """A click on a cause in the table filters by it, and does not open the sample."""
    one = opened(report.to_html(diagnosis=diagnosis))
    one.page.locator(".sample-row .chip.cause", has_text="dropped by stage").click()
    assert one.labels() == ["tower"]
    assert one.page.locator("#by-cause option:checked").inner_text() == "dropped by stage"
    assert one.page.locator(".detail").count() == 0


def test_what_is_shown_can_be_kept_as_a_link(opened: Any) -> None:
    """The address holds filters, order, measure, and opened samples, and restores them."""
    html = kinds_report().to_html(measures=[Recall @ 5, Recall @ 10])
    one = opened(html)
    one.page.get_by_role("link", name="Show what fails").click()
    one.wait_for_status("10 of 63 samples")
    assert one.page.url.endswith("#outcome=missed")
    assert len(one.labels()) == 10
    one.page.locator(".why-list a").first.click()
    one.page.wait_for_url("**#cause=0")
    assert len(one.labels()) == 10
    one.page.evaluate("location.hash = '#outcome=found'")
    one.wait_for_status("50 of 63 samples")
    one.measure("Recall @ 10")
    one.page.locator("#sort").select_option("question")
    one.page.locator("#search").fill("question 1")
    one.page.locator("#search-in").select_option("question")
    one.page.locator(".open").nth(2).click()
    kept, labels = one.page.url.partition("#")[2], one.labels()
    again = opened(html)
    again.page.evaluate(f"location.hash = {kept!r}")
    again.page.locator(".detail").wait_for()
    assert again.labels() == labels
    assert again.page.locator(".by-measure").first.input_value() == "1"
    assert again.page.url == again.page.url.partition("#")[0] + f"#{kept}"
    again.page.get_by_role("button", name="Reset").click()
    again.wait_for_status("63 samples")
    again.page.evaluate("location.hash = '#sort=__proto__&page=-3&measure=99&open=77.x&cause=9'")
    again.wait_for_status("63 samples")
    assert len(again.labels()) == 50


def test_it_works_by_keyboard_alone(opened: Any, report: Report) -> None:
    """The keyboard reaches an opened sample and returns, with a visible focus at each step."""
    one = opened(report.to_html(diagnosis=False))
    press = one.page.keyboard.press
    focused = "document.activeElement"
    press("Tab")
    assert one.page.evaluate(f"{focused}.textContent") == "Skip to the samples"
    assert one.page.evaluate(f"{focused}.getBoundingClientRect().top >= 0")
    press("Enter")
    press("Tab")
    assert one.page.evaluate(f"{focused}.id") == "search"
    while not one.page.evaluate(f"{focused}.matches('.open')"):
        press("Tab")
    assert one.page.evaluate(f"getComputedStyle({focused}).outlineStyle") == "solid"
    press("ArrowDown")
    assert one.page.evaluate(f"{focused}.textContent") == "rome"
    press("End")
    assert one.page.evaluate(f"{focused}.textContent") == "broken"
    press("Home")
    press("Enter")
    assert one.page.evaluate(f"{focused}.getAttribute('aria-expanded')") == "true"
    controlled = one.page.evaluate(f"{focused}.getAttribute('aria-controls')")
    assert one.page.locator(f"#{controlled}").is_visible()
    press("Tab")
    assert one.page.evaluate(f"{focused}.closest('.detail') !== null")
    press("Escape")
    assert one.page.evaluate(f"{focused}.textContent") == "tower"
    assert one.page.locator(".detail").count() == 0
    press("Space")
    assert one.page.locator(".detail").count() == 1
    press("ArrowLeft")
    assert one.page.locator(".detail").count() == 0
    press("/")
    assert one.page.evaluate(f"{focused}.id") == "search"


def test_ten_thousand_samples_can_be_used(opened: Any) -> None:
    """Ten thousand samples are counted, paged, searched, and sorted, with one page in the DOM."""
    contexts = [Context(f"document {n} " + "word " * 120, id=f"d{n}") for n in range(3_000)]
    samples = [
        Sample(
            id=f"s{n}",
            user_input=f"question {n}?",
            retrieved_contexts=[contexts[(n * 7 + rank) % 3_000] for rank in range(10)],
            reference_context_ids=[f"d{(n * 7 + n % 13) % 3_000}"],
        )
        for n in range(10_000)
    ]
    one = opened(evaluate(samples, [IdRecall()], progress=False).to_html())
    one.measure("Recall @ 5")
    assert one.page.locator("#status").inner_text() == "10,000 samples"
    assert one.page.evaluate("document.querySelectorAll('*').length") < 3_000
    one.page.locator("#last").click()
    assert one.labels()[-1] == "s9999"
    one.page.get_by_role("columnheader", name="id_recall@5").get_by_role("button").click()
    assert one.page.locator(".sample-row .value").first.inner_text() == "0.000"
    one.page.locator("#search").fill('"document 2999 "')
    one.page.locator("#status", has_text=" of ").wait_for()
    expected = sum(any((n * 7 + r) % 3_000 == 2_999 for r in range(10)) for n in range(10_000))
    assert one.page.locator("#status").inner_text() == f"{expected} of 10,000 samples"
    one.page.locator(".open").first.click()
    assert "document 2999" in one.page.locator(".detail").inner_text()
