"""The review page works in a real Chromium by keyboard, with hostile texts and many drafts.

Opt-in, `-m browser`: it needs Chromium (Debian's package) and the Python package playwright.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fullrecall import Sample
from fullrecall.testset import apply_review, to_review

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

FOCUSED = "document.activeElement"


def sample(n: int, text: str = "") -> Sample:
    """Return a question, with a text in each of its fields."""
    return Sample(
        id=f"q{n}{text}",
        user_input=f"Question {n}? {text}",
        reference=f"Answer {n} {text}",
        reference_claims=[f"Claim {n}. {text}"],
        reference_contexts=[
            {
                "text": f"Quote {n}. {text}",
                "source": f"doc {text}",
                "start": 0,
                "end": len(f"Quote {n}. {text}"),
            }
        ],
        metadata={"testset": {"kind": "one_fact"}},
    )


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    """Yield a function that opens a review; an error, a popup, or a request fails the test."""
    said: list[str] = []
    requested: list[str] = []
    pages: list[Any] = []

    def opening(samples: list[Sample], *, width: int = 1280, **options: Any) -> Any:
        path = tmp_path / "review.html"
        to_review(samples, path, **options)
        page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
        pages.append(page)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("popup", lambda _: said.append("popup"))
        page.on("request", lambda request: requested.append(request.url))
        page.goto(path.as_uri())
        return page

    yield opening
    assert said == []
    assert all(url.startswith(("file:", "blob:")) for url in requested), requested
    for page in pages:
        page.context.close()


def test_it_works_by_keyboard_alone(opened: Any, tmp_path: Path) -> None:
    """A reviewer can accept, reject with a reason, move, and save by keyboard."""
    given = [sample(n) for n in range(6)]
    page = opened(given, n=6)
    press = page.keyboard.press
    press("Tab")
    assert page.evaluate(f"{FOCUSED}.textContent") == "Skip to the question"
    press("Enter")
    assert page.evaluate(f"{FOCUSED}.id") == "draft"
    order = page.evaluate(
        "JSON.parse(document.getElementById('index').textContent).samples.map(s => s.id)"
    )
    press("g")
    assert page.locator("#draft h2").inner_text().startswith(f"Question {order[1][1:]}?")
    press("b")
    assert page.evaluate(f"{FOCUSED}.id") == "reason"
    page.keyboard.type("good grief, unclear")
    press("Escape")
    press("ArrowRight")
    press("ArrowLeft")
    press("n")
    for _ in range(4):
        press("g")
    assert page.locator("#status").inner_text() == "6 of 6 decided, 1 bad, not saved"
    with page.expect_download() as download:
        press("s")
    saved = tmp_path / "saved.json"
    download.value.save_as(saved)
    done = apply_review(given, saved)
    assert (done.good, done.bad) == (5, 1)
    assert done.reasons[order[1]] == "good grief, unclear"


def test_a_saved_file_goes_on(opened: Any, tmp_path: Path) -> None:
    """A review opens with its saved decisions; those of another set are refused."""
    given = [sample(n) for n in range(4)]
    page = opened(given, n=4)
    page.keyboard.press("g")
    with page.expect_download() as download:
        page.locator("#save").click()
    saved = tmp_path / "saved.json"
    download.value.save_as(saved)
    again = opened(given, n=4)
    again.locator("#load").set_input_files(saved)
    again.locator("#status", has_text="1 of 4 decided").wait_for()
    plain = json.loads(saved.read_text())
    saved.write_text(json.dumps({**plain, "set": "another"}))
    again.locator("#load").set_input_files(saved)
    again.locator("#status", has_text="holds no decisions").wait_for()


def test_hostile_texts_run_nothing(opened: Any, payloads: tuple[str, ...]) -> None:
    """Payloads in every field stay text: they make no script, element, or request."""
    evil = " ".join(payloads)
    page = opened([sample(n, evil) for n in range(3)], n=3, title=evil)
    for key in ("b", "Escape", "ArrowRight", "g", "ArrowLeft"):
        page.keyboard.press(key)
    page.wait_for_timeout(200)
    assert page.evaluate("window.hit") is None
    counts = "s => document.querySelectorAll(s).length"
    assert page.evaluate(counts, "img, iframe, base, link, use, [onerror], [onload]") == 0
    assert page.evaluate(counts, "script:not([type])") == 1
    assert page.evaluate("({}).polluted") is None
    assert page.evaluate("/[\\u202e\\u2066]/.test(document.body.innerText)") is False
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [360, 1280])
def test_five_hundred_drafts(opened: Any, width: int) -> None:
    """Five hundred drafts can be decided in turn; the page stays within its window."""
    page = opened([sample(n) for n in range(500)], n=500, width=width)
    assert page.locator("#all li").count() == 500
    for _ in range(500):
        page.keyboard.press("g")
    assert page.locator("#status").inner_text() == "500 of 500 decided, 0 bad, not saved"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
