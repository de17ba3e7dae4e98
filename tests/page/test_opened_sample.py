"""One sample, opened in a browser: its targets, contexts, evidence, and labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.observe.calls import of_calls

from fullrecall import Context, IdRecall, Report, Sample, evaluate
from fullrecall.measures import Recall
from fullrecall.read import read_labels
from fullrecall.samples.calls import Call

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def test_an_opened_sample_explains_itself(opened: Any, report: Report, diagnosis: Any) -> None:
    """It shows question, contexts, evidence, verdicts, ranks, causes, problems, and stages."""
    one = opened(report.to_html(measures=[Recall @ 2], diagnosis=diagnosis))
    one.page.locator(".open").first.click()
    detail = one.page.locator(".detail")
    text = detail.inner_text()
    for said in (
        "Where is the Eiffel Tower?",
        "In Paris.",
        "It is in Rome.",
        "judged not_supported",
        "at rank 3, beyond k = 2",
        "it stands at rank 3",
        "dropped by stage",
        "rerank lost it",
        "not judged",
        "the judge gave no verdict",
        "3 judge calls, 160 tokens",
        "unverified quote",
        "and blue it was",
        "Beyond k = 2",
        "Stages of the retrieval",
    ):
        assert said in text, said
    assert detail.locator("mark.evidence").all_inner_texts() == ["on the Champ de Mars"]
    assert detail.locator("mark.evidence + sup").inner_text() == "C1"
    assert detail.locator("blockquote").all_inner_texts() == ["and blue it was"]
    detail.locator(".stages summary").first.click()
    lost = detail.locator(".stages .dropped")
    assert "d9" in lost.inner_text()
    assert "not in the final list" in lost.inner_text()


def test_an_unscored_sample_says_why(opened: Any, report: Report) -> None:
    """A missing score is not shown as 0: the state and its reason are shown instead."""
    one = opened(report.to_html())
    one.page.locator(".open").nth(3).click()
    text = one.page.locator(".detail").inner_text()
    assert text.count("unscored") == 3
    assert "ConnectionError: no answer" in text
    assert "0.000" not in text


def test_a_rank_leads_to_its_context(opened: Any, report: Report) -> None:
    """The link from a target moves the focus to the context that supports it."""
    one = opened(report.to_html())
    one.page.locator(".open").first.click()
    one.page.locator(".jump").first.click()
    assert "d1" in one.page.evaluate("document.activeElement.querySelector('.id').textContent")


def test_united_calls_have_ranks_of_their_own(opened: Any) -> None:
    """Contexts show their rank in their own call, the line at k, and which were read."""
    calls = [
        Call("keywords", "one", (Context("A", id="a"), Context("B", id="b"))),
        Call("vectors", "two", (Context("X", id="x"), Context("Y", id="y"), Context("Z", id="z"))),
    ]
    retrieval = of_calls(calls, prompts=["A and X"])
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
