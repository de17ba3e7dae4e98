"""The page in a real Chromium: it works, for everybody, and runs nothing but its own script.

Opt-in, `-m browser`: it needs Chromium (Debian's package) and the Python package playwright.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fullrecall import Context, IdRecall, Report, Sample, compare, evaluate
from fullrecall.datasets import read_labels
from fullrecall.measures import RR, Precision, Recall, nDCG
from fullrecall.report import Runs
from fullrecall.retrieval import Call, Retrieval

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


@dataclass
class Opened:
    """A page in a browser, with all that it said and asked for."""

    page: Page
    said: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def labels(self) -> list[str]:
        """Return the samples that the table shows, in its order."""
        return self.page.locator(".open").all_inner_texts()

    def outcome(self, value: str) -> None:
        """Choose an outcome to filter by."""
        self.page.locator("#by-outcome").select_option(value)

    def measure(self, label: str) -> None:
        """Choose a measure, by its name in the list."""
        self.page.locator(".by-measure").first.select_option(label=label)

    def row(self, sample: str) -> list[str]:
        """Return the cells of a sample's line."""
        line = self.page.locator(".sample-row", has=self.page.get_by_text(sample, exact=True))
        return [" ".join(text.split()) for text in line.locator("td").all_inner_texts()]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    """Return what opens a page's HTML; after the test nothing may have gone wrong or out."""
    everything: list[Opened] = []

    def opening(html: str, *, width: int = 1280, scheme: str = "light", **options: Any) -> Opened:
        path = tmp_path / f"page-{len(everything)}.html"
        path.write_bytes(html.encode())
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **options
        )
        one = Opened(context.new_page())
        everything.append(one)
        one.page.on("console", lambda message: one.said.append(message.text))
        one.page.on("pageerror", lambda error: one.said.append(str(error)))
        one.page.on("dialog", lambda dialog: (one.said.append("dialog"), dialog.dismiss()))
        one.page.on("popup", lambda _: one.said.append("popup"))
        one.page.on("request", lambda request: one.requested.append(request.url))
        one.page.goto(path.as_uri())
        assert one.requested == [path.as_uri()]
        return one

    yield opening
    for one in everything:
        assert one.said == []
        assert len(one.requested) == 1, "the page asked for something"
        one.page.context.close()


@pytest.fixture
def pages(report: Report, after: Report, hostile: Report) -> dict[str, str]:
    """A page of each kind, as HTML."""
    return {
        "report": report.to_html(measures=MEASURES),
        "comparison": compare(report, after).to_html(),
        "hostile": hostile.to_html(),
    }


def no_scroll(one: Opened) -> bool:
    """Return whether the page is no wider than its window."""
    wide: bool = one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return wide


def test_it_loads_and_counts(opened: Any, report: Report) -> None:
    """All samples are listed, in their order, and the live region says how many there are."""
    one = opened(report.to_html())
    assert one.labels() == ["tower", "rome", "open", "broken"]
    status = one.page.locator("#status")
    assert status.inner_text() == "4 samples"
    assert status.get_attribute("aria-live") == "polite"


def test_it_sorts_by_a_score_with_the_unmeasured_last(opened: Any, report: Report) -> None:
    """Up and down, what has no score stays below what has one; aria-sort says which."""
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
    """Each filter keeps what it says, and reset brings everything back."""
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
    one.page.locator("#status", has_text="4 samples").wait_for()
    assert len(one.labels()) == 4
    one.page.locator("#by-cause").select_option(label="dropped by stage")
    assert one.labels() == ["tower"]
    assert sorted(one.page.locator(".sample-row .chip.cause").all_inner_texts()) == [
        "beyond k", "dropped by stage", "not in corpus",
    ]  # fmt: skip
    one.page.locator("#by-score").select_option("2")
    assert one.labels() == [], "another score's cause"
    one.page.locator("#by-cause").select_option("")
    assert one.page.locator(".sample-row .chip.cause").all_inner_texts() == ["not in corpus"]


def test_misses_stand_for_each_score_apart(opened: Any, report: Report) -> None:
    """One count for each score, never their sum; a score that is chosen has the column alone."""
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


MEASURES = (Recall @ 1, Recall @ 2, nDCG @ 1, nDCG @ 2, Recall, Precision @ 2, RR)


def test_the_measure_chosen_is_that_of_the_whole_page(opened: Any, report: Report) -> None:
    """Means, charts, heads, values, misses and targets follow it, in both lists of measures."""
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
    """What is found within one k is missed within a smaller one; the order changes with values."""
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
    """Words are found in any text of a sample, all of them, in any case; else nothing is shown."""
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


def test_an_opened_sample_explains_itself(opened: Any, report: Report, diagnosis: Any) -> None:
    """Question, contexts, evidence, verdicts, ranks, causes, problems and stages are all there."""
    one = opened(report.to_html(measures=[Recall @ 2], diagnosis=diagnosis))
    one.page.locator(".open").first.click()
    detail = one.page.locator(".detail")
    text = detail.inner_text()
    for said in (
        "Where is the Eiffel Tower?", "In Paris.", "It is in Rome.", "judged not_supported",
        "at rank 3, beyond k = 2", "it stands at rank 3", "dropped by stage",
        "rerank lost it", "not judged", "the judge gave no verdict", "3 judge calls, 160 tokens",
        "unverified quote", "and blue it was", "Beyond k = 2", "Stages of the retrieval",
    ):  # fmt: skip
        assert said in text, said
    assert detail.locator("mark.evidence").all_inner_texts() == ["on the Champ de Mars"]
    assert detail.locator("mark.evidence + sup").inner_text() == "C1"
    assert detail.locator("mark.held").first.inner_text().startswith("It was finished in 1889")
    assert detail.locator("blockquote").all_inner_texts() == ["and blue it was"]
    detail.locator(".stages summary").first.click()
    lost = detail.locator(".stages .dropped")
    assert "d9" in lost.inner_text()
    assert "not in the final list" in lost.inner_text()


def test_an_unscored_sample_says_why(opened: Any, report: Report) -> None:
    """No score is no 0: the state and its reason stand in its place."""
    one = opened(report.to_html())
    one.page.locator(".open").nth(3).click()
    text = one.page.locator(".detail").inner_text()
    assert text.count("unscored") == 3
    assert "ConnectionError: no answer" in text
    assert "0.000" not in text


def test_it_works_by_keyboard_alone(opened: Any, report: Report) -> None:
    """From the skip link to an opened sample and back, with a visible focus all the way."""
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


def test_a_rank_leads_to_its_context(opened: Any, report: Report) -> None:
    """The link from a target moves the focus to the context that supports it."""
    one = opened(report.to_html())
    one.page.locator(".open").first.click()
    one.page.locator(".jump").first.click()
    assert "d1" in one.page.evaluate("document.activeElement.querySelector('.id').textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("kind", ["report", "comparison", "hostile"])
def test_it_fits_its_window(
    opened: Any, pages: dict[str, str], kind: str, width: int, scheme: str
) -> None:
    """On a phone and a desktop nothing sticks out, closed or opened, whatever the texts are."""
    one = opened(pages[kind], width=width, scheme=scheme)
    assert no_scroll(one)
    for button in one.page.locator(".open").all():
        button.click()
    assert no_scroll(one)
    assert one.page.locator("#sort").is_visible()


def test_light_and_dark(opened: Any, report: Report) -> None:
    """It takes the reader's preference, and a button turns it round; nothing is stored."""
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = opened(report.to_html(), scheme="dark")
    light = opened(report.to_html(), scheme="light")
    colors = dark.page.evaluate(ground), light.page.evaluate(ground)
    assert colors == ("rgb(21, 23, 26)", "rgb(253, 253, 251)")
    dark.page.locator("#theme").click()
    assert dark.page.evaluate(ground) == colors[1]
    dark.page.locator("#theme").click()
    assert dark.page.evaluate(ground) == colors[0]


def test_without_javascript_the_summary_is_there(opened: Any, report: Report) -> None:
    """A reader without scripts sees the scores and the curves, and is told what is missing."""
    one = opened(report.to_html(), java_script_enabled=False)
    assert one.page.locator(".overview").first.is_visible()
    assert one.page.locator("svg.chart").is_visible()
    assert "need JavaScript" in one.page.locator("noscript").inner_text()
    assert not one.page.locator("#controls").is_visible()


def test_hostile_texts_run_nothing(
    opened: Any, hostile: Report, hostile_diagnosis: Any, evil: str
) -> None:
    """Payloads in every field are text: no script, element, dialog or request of theirs."""
    pages = [
        hostile.to_html(title=evil, diagnosis=hostile_diagnosis),
        compare(hostile, hostile).to_html(title=evil),
    ]
    for html in pages:
        one = opened(html)
        for button in one.page.locator(".open").all():
            button.click()
        for summary in one.page.locator(".detail summary").all():
            summary.click()
        for button in one.page.locator(".detail .more").all():
            button.click()
        for select in one.page.locator("select:visible").all():
            select.select_option(index=1)
        one.page.locator("#search").fill("<script>")
        one.page.locator("#search").fill("")
        one.page.wait_for_timeout(400)
        assert one.page.evaluate("window.hit") is None
        counts = "s => document.querySelectorAll(s).length"
        assert one.page.evaluate(counts, "img, iframe, base, link, use, [onerror], [onload]") == 0
        assert one.page.evaluate(counts, "script:not([type])") == 1
        assert one.page.evaluate("({}).polluted") is None
        assert one.page.evaluate("/[\\u202e\\u2066]/.test(document.body.innerText)") is False


def test_the_policy_holds_if_escaping_slips(
    browser: Browser, report: Report, tmp_path: Path
) -> None:
    """Markup that got in on purpose cannot run, fetch, or become a script: the policy stops it."""
    slip = (
        "<script>window.hit = 1</script><img src='http://localhost:9/x' onerror='window.hit = 1'>"
    )
    path = tmp_path / "page.html"
    path.write_bytes(report.to_html().replace("</header>", f"{slip}</header>").encode())
    page = browser.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(path.as_uri())
    assert page.locator(".open").count() == 4, "its own script still runs"
    assert page.evaluate("window.hit") is None
    with pytest.raises(Exception, match="TrustedHTML"):
        page.evaluate("document.body.innerHTML = '<b>x</b>'")
    # Chromium reports an image as asked for before the policy stops it: none is answered.
    assert [url for url in requested if url != path.as_uri()] in ([], ["http://localhost:9/x"])
    page.close()


@pytest.mark.parametrize("several", [False, True])
def test_what_turned_is_counted_and_filtered(opened: Any, *, several: bool) -> None:
    """The first screen's counts are those of the filters that it leads to, by every measure."""

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
    pages = Runs({"a": before, "b": made(2), "c": after}) if several else compare(before, after)
    one = opened(pages.to_html())
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


PAGE_MEASURES = {
    "Recall, all retrieved": Recall, "Recall @ 3": Recall @ 3, "Recall @ 1": Recall @ 1
}  # fmt: skip


def test_a_comparison_shows_both_sides(opened: Any, report: Report, after: Report) -> None:
    """What changed is marked and can be filtered; opened, both retrievals stand side by side."""
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
    """They count in no value that is compared, and a sample without common targets in none."""

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


def test_united_calls_have_ranks_of_their_own(opened: Any) -> None:
    """Contexts show their rank in their own call, the line that k draws, and what was read."""
    calls = [
        Call("keywords", "one", (Context("A", id="a"), Context("B", id="b"))),
        Call("vectors", "two", (Context("X", id="x"), Context("Y", id="y"), Context("Z", id="z"))),
    ]
    retrieval = Retrieval.of_calls(calls, prompts=["A and X"])
    sample = Sample(id="union", retrieval=retrieval, reference_context_ids=["b", "z"])
    report = evaluate([sample], IdRecall(), progress=False)
    one = opened(report.to_html(measures=[Recall @ 1, Recall @ 2, Recall]))
    one.page.locator(".open").click()
    contexts = one.page.locator(".contexts .context")
    for measure, value, before in ((Recall @ 1, "0.000", "b"), (Recall @ 2, "0.500", "z")):
        one.measure(repr(measure))
        assert one.row("union")[1] == value == f"{report.rows[0].results[0][measure]:.3f}"
        cut = one.page.locator(".context", has=one.page.locator(".cut"))
        assert cut.locator(".id").inner_text() == before
        assert f"Beyond k = {measure.k}" in cut.inner_text()
    ranks = [text.split()[-1] for text in contexts.locator(".rank").all_inner_texts()]
    assert ranks == ["1", "1", "2", "2", "3"]
    assert "at rank 3, beyond k = 2" in one.page.locator(".detail").inner_text()
    assert "union of 2 calls; 2 of 5 in the prompt" in one.page.locator(".detail").inner_text()
    assert contexts.filter(has_text="not in the prompt").count() == 3


def test_ten_thousand_samples_can_be_used(opened: Any) -> None:
    """All are counted, turned over, searched and sorted; only one page of them is in the DOM."""
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


def kinds_report() -> Report:
    """Return sixty samples of two kinds, a third of one failing, and three that were not asked."""
    samples = [
        Sample(
            id=f"q{n}",
            user_input=f"question {n}?",
            reference=f"answer {n}",
            retrieved_contexts=[
                Context(f"text of {name}", id=name)
                for name in ["x", "y", *(["z"] * 4 if n % 6 == 0 else []), f"d{n}"]
            ],
            reference_context_ids=[f"d{n}"],
            metadata={"kind": "even" if n % 2 == 0 else "odd"},
        )
        for n in range(60)
    ]
    failed = [
        Sample(id=f"t{n}", user_input="late?", retrieval={"error": "TimeoutError"},
               reference_context_ids=["a"]) for n in range(3)
    ]  # fmt: skip
    return evaluate([*failed, *samples], IdRecall(), progress=False)


def test_the_first_screen_answers(opened: Any) -> None:
    """What fails, why, and what to change stand above the fold, failures before timeouts."""
    report = kinds_report()
    one = opened(report.to_html(measures=[Recall @ 5, Recall @ 10]))
    for text in ("What fails", "Why", "What to change"):
        box = one.page.get_by_role("heading", name=text, exact=True).bounding_box()
        assert box["y"] + box["height"] < 500, text
    assert one.page.locator("#what-fails .big").inner_text().startswith("10 of 60")
    change = one.page.locator(".change-list li").first
    assert change.bounding_box()["y"] < 600
    assert change.inner_text().startswith("Raise k from 5 to")
    assert one.page.locator("#failing-worst a").all_inner_texts() == [
        "q0", "q6", "q12", "q18", "q24",
    ]  # fmt: skip
    assert one.labels()[:2] == ["q0", "q6"]
    one.page.locator("#last").click()
    assert one.labels()[-3:] == ["t0", "t1", "t2"]
    one.measure("Recall @ 10")
    assert one.page.locator("#what-fails .big").inner_text().startswith("0 of 60")
    assert one.page.locator("#failing-worst li").count() == 0


def test_what_is_shown_can_be_kept_as_a_link(opened: Any) -> None:
    """Filters, order, measure and opened samples stand in the address, and come back from it."""
    html = kinds_report().to_html(measures=[Recall @ 5, Recall @ 10])
    one = opened(html)
    one.page.get_by_role("link", name="Show what fails").click()
    assert one.page.url.endswith("#outcome=missed")
    assert len(one.labels()) == 10
    one.page.locator(".why-list a").first.click()
    one.page.wait_for_url("**#cause=0")
    assert len(one.labels()) == 10
    one.page.locator(".slices a", has_text="odd").click()
    one.page.wait_for_url("**#slice=*")
    assert one.page.locator("#status").inner_text() == "30 of 63 samples"
    assert one.page.locator("#by-slice option:checked").inner_text() == "odd"
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
    again.page.locator("#status", has_text="63 samples").wait_for()
    again.page.evaluate("location.hash = '#sort=__proto__&page=-3&measure=99&open=77.x&cause=9'")
    again.page.locator("#status", has_text="63 samples").wait_for()
    assert len(again.labels()) == 50


def test_words_are_looked_for_in_one_field(opened: Any, report: Report) -> None:
    """A word of a context is in no question, and an ID in no text."""
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
    """A click on a cause in the table keeps the samples that have it, and opens nothing."""
    one = opened(report.to_html(diagnosis=diagnosis))
    one.page.locator(".sample-row .chip.cause", has_text="dropped by stage").click()
    assert one.labels() == ["tower"]
    assert one.page.locator("#by-cause option:checked").inner_text() == "dropped by stage"
    assert one.page.locator(".detail").count() == 0


def test_labels_made_on_the_page_are_read_back(
    browser: Browser, report: Report, tmp_path: Path
) -> None:
    """A verdict that the reader corrects is in a file that `read_labels` takes."""
    path = tmp_path / "page.html"
    report.to_html(path)
    page = browser.new_page()
    page.goto(path.as_uri())
    page.locator("#search").fill("tower")
    page.locator(".open", has_text="tower").click()
    blue = page.locator(".target", has_text="It was painted blue.")
    blue.get_by_role("button", name="supported", exact=True).click()
    blue.get_by_role("button", name="not supported").click()
    assert blue.get_by_role("button", name="not supported").get_attribute("aria-pressed") == "true"
    high = page.locator(".target", has_text="It is 330 m high.")
    high.get_by_role("button", name="partial").click()
    assert page.locator("#label-count").inner_text() == "2 labels"
    with page.expect_download() as saved:
        page.locator("#save-labels").click()
    saved.value.save_as(tmp_path / "labels.jsonl")
    page.close()
    labels = read_labels(tmp_path / "labels.jsonl")
    assert [(one.sample, one.target, one.label) for one in labels] == [
        ("tower", "It was painted blue.", "not_supported"),
        ("tower", "It is 330 m high.", "partial"),
    ]


def test_runs_stand_beside_each_other(opened: Any, report: Report, after: Report) -> None:
    """Three reports: means of each, changes since the first, and every sample in all three."""
    one = opened(Runs({"May": report, "June": report, "July": after}).to_html())
    lines = one.page.locator("table.runs tbody:visible tr").all_inner_texts()
    assert [line.split()[1] for line in lines] == ["May", "June", "July"] * 3
    assert "0.667 → 0.667 → 1.000" in one.page.locator(".sample-row").first.inner_text()
    one.outcome("better")
    assert one.labels() == ["tower"]
    one.page.locator(".open").click()
    assert one.page.locator(".side h3").all_inner_texts() == ["May", "June", "July"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(
    browser: Browser, pages: dict[str, str], tmp_path: Path, scheme: str
) -> None:
    """Closed and opened, report, comparison and hostile texts: no rule of axe is broken."""
    from axe_core_python.sync_playwright import Axe

    for kind, html in {**pages, "kinds": kinds_report().to_html()}.items():
        path = tmp_path / f"{kind}.html"
        path.write_bytes(html.encode())
        # Its own policy would stop axe's script, too.
        context = browser.new_context(color_scheme=scheme, bypass_csp=True)
        page = context.new_page()
        page.goto(path.as_uri())
        for button in page.locator(".open").all()[:2]:
            button.click()
        found = Axe().run(page)["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == [], kind
        context.close()


def test_it_prints(opened: Any, report: Report) -> None:
    """On paper the controls are gone and what was opened is there."""
    one = opened(report.to_html(), scheme="dark")
    one.page.locator(".open").first.click()
    one.page.emulate_media(media="print")
    assert not one.page.locator("#controls").is_visible()
    assert one.page.locator(".detail mark").first.is_visible()
    assert no_scroll(one)
