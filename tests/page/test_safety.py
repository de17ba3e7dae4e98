"""A page in a browser runs only its own script, with any data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fullrecall import Report, compare

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def test_hostile_texts_run_nothing(
    opened: Any, hostile: Report, hostile_diagnosis: Any, evil: str
) -> None:
    """Payloads in every field stay text: they make no script, element, dialog, or request."""
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
    """The policy stops markup that is put in on purpose: it cannot run, fetch, or be a script."""
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
    # Chromium reports a request for an image before the policy stops it: none gets a response.
    assert [url for url in requested if url != path.as_uri()] in ([], ["http://localhost:9/x"])
    page.close()
