"""A page is readable on small windows, in light and dark, on paper, and by a screen reader."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fullrecall import Report
from fullrecall.measures import Recall

if TYPE_CHECKING:
    from playwright.sync_api import Browser
from tests.page.window import kinds_report

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("kind", ["report", "comparison", "hostile"])
def test_it_fits_its_window(
    opened: Any, pages: dict[str, str], kind: str, width: int, scheme: str
) -> None:
    """A page with any texts fits a phone and a desktop, with its samples closed or opened."""
    one = opened(pages[kind], width=width, scheme=scheme)
    assert one.fits()
    for button in one.page.locator(".open").all():
        button.click()
    assert one.fits()
    assert one.page.locator("#sort").is_visible()


def test_light_and_dark(opened: Any, report: Report) -> None:
    """The page follows the reader's preference, and a button changes it without storing it."""
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
    """A reader without scripts sees the scores, the curves, and a note on the missing parts."""
    one = opened(report.to_html(), java_script_enabled=False)
    assert one.page.locator(".overview").first.is_visible()
    assert one.page.locator("svg.chart").is_visible()
    assert "need JavaScript" in one.page.locator("noscript").inner_text()
    assert not one.page.locator("#controls").is_visible()


def test_the_first_screen_answers(opened: Any) -> None:
    """Failures, causes, and proposed changes are above the fold, failures before timeouts."""
    report = kinds_report()
    one = opened(report.to_html(measures=[Recall @ 5, Recall @ 10]))
    for text in ("What fails", "Why", "What to change"):
        box = one.page.get_by_role("heading", name=text, exact=True).bounding_box()
        assert box["y"] + box["height"] < 500, text
    assert one.page.locator("#what-fails .big").inner_text().startswith("10 of 60")
    change = one.page.locator(".change-list li").first
    assert change.bounding_box()["y"] < 600
    assert change.inner_text().startswith("Drop duplicates")  # This change adds no context.
    assert one.page.locator("#failing-worst a").all_inner_texts() == [
        "q0",
        "q6",
        "q12",
        "q18",
        "q24",
    ]
    assert one.labels()[:2] == ["q0", "q6"]
    one.page.locator("#last").click()
    assert one.labels()[-3:] == ["t0", "t1", "t2"]
    one.measure("Recall @ 10")
    assert one.page.locator("#what-fails .big").inner_text().startswith("0 of 60")
    assert one.page.locator("#failing-worst li").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(
    browser: Browser, pages: dict[str, str], tmp_path: Path, scheme: str
) -> None:
    """No page breaks a rule of axe: closed, opened, compared, or with hostile texts."""
    from axe_core_python.sync_playwright import Axe

    for kind, html in {**pages, "kinds": kinds_report().to_html()}.items():
        path = tmp_path / f"{kind}.html"
        path.write_bytes(html.encode())
        # The page's policy would also stop axe's script.
        context = browser.new_context(color_scheme=scheme, bypass_csp=True)
        page = context.new_page()
        page.goto(path.as_uri())
        for button in page.locator(".open").all()[:2]:
            button.click()
        found = Axe().run(page)["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == [], kind
        context.close()


def test_it_prints(opened: Any, report: Report) -> None:
    """On paper the controls are hidden, and opened samples stay open."""
    one = opened(report.to_html(), scheme="dark")
    one.page.locator(".open").first.click()
    one.page.emulate_media(media="print")
    assert not one.page.locator("#controls").is_visible()
    assert one.page.locator(".detail mark").first.is_visible()
    assert one.fits()
