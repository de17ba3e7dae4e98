"""A page as a file: whole, the same bytes for the same report, and safe with any data."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.page.page_source import Parsed, block

from fullrecall import IdRecall, Report, compare
from fullrecall.page.single_file import script_json

FILES = Path(__file__).parents[2] / "src" / "fullrecall" / "page" / "files"


def hash_of(source: str) -> str:
    """Return a source's hash, computed independently of the code under test."""
    return "'sha256-" + b64encode(sha256(source.encode()).digest()).decode() + "'"


def test_the_page_is_one_file_that_names_no_other(report: Report) -> None:
    """No element has an address, so the page can fetch nothing, even without the policy."""
    parsed = Parsed(report.to_html())
    tags = {tag for tag, _ in parsed.tags}
    assert not tags & {"link", "img", "iframe", "base", "object", "embed"}
    fetching = [
        (tag, name, value)
        for tag, attributes in parsed.tags
        for name, value in attributes.items()
        if name in ("src", "href", "action", "srcset", "data", "poster")
    ]
    assert {(tag, name) for tag, name, _ in fetching} == {("a", "href")}
    assert [value for *_, value in fetching if not value.startswith("#")] == []
    assert not re.search(r"url\(|@import", "".join(parsed.styles))


def test_the_policy_allows_this_script_and_this_style_alone(report: Report) -> None:
    """The default policy allows no source; the hashes are those of the file's script and style."""
    parsed = Parsed(report.to_html())
    policy = next(
        attributes["content"]
        for tag, attributes in parsed.tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == hash_of(parsed.code[0])
    assert rules["style-src"] == hash_of(parsed.styles[0])
    assert rules["require-trusted-types-for"] == "'script'"
    assert rules["trusted-types"] == "'none'"
    assert len(parsed.code) == len(parsed.styles) == 1
    # A hash does not cover an inline style or handler, so the page must not have any.
    assert not [a for _, a in parsed.tags if any(n == "style" or n.startswith("on") for n in a)]


def test_the_script_never_reads_data_as_markup() -> None:
    """The script calls no function that turns a text into markup, code, or a request."""
    code = (FILES / "page.js").read_text("utf-8")
    forbidden = (
        "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(",
        "Function(", "createContextualFragment", "setHTML", "fetch(", "XMLHttpRequest", "import(",
        "localStorage", "sessionStorage", "window.open", "WebSocket", "sendBeacon", "pushState",
    )  # fmt: skip
    assert [word for word in forbidden if word in code] == []
    # The script reads the address and sets it by replaceState: no data becomes a link.
    read = {"location.hash", "location.pathname", "location.search"}
    assert set(re.findall(r"\blocation\b[.\w]*", code)) - read <= {"location.hash.slice"} | {
        "location.hash.includes"
    }
    assert not re.search(r"\blocation[.\w]*\s*=[^=]", code)


def test_the_same_report_gives_the_same_bytes(
    report: Report, again: Report, tmp_path: Path, diagnosis: Any
) -> None:
    """The page has no date, random name, or order of a set, so equal reports give equal bytes."""
    page = report.to_html(diagnosis=diagnosis)
    assert again.to_html(diagnosis=diagnosis) == page
    path = tmp_path / "report.jsonl"
    report.save(path)
    assert Report.load(path).to_html(diagnosis=diagnosis) == page


def test_the_page_is_written_and_returned(hostile: Report, tmp_path: Path) -> None:
    """The file at `path` is replaced by the returned text in UTF-8; no partial file is left."""
    path = tmp_path / "page.html"
    path.write_text("old", encoding="utf-8")
    page = hostile.to_html(path, title="Ünïcode \ud83d")
    assert path.read_bytes() == page.encode()
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_hostile_texts_open_no_element_and_end_no_script(
    hostile: Report, report: Report, hostile_diagnosis: Any, evil: str
) -> None:
    """A page of hostile reports has only elements that a harmless page has too."""
    harmless = Parsed(report.to_html())
    allowed = {tag for tag, _ in harmless.tags} | {
        tag for tag, _ in Parsed(compare(report, report).to_html()).tags
    }
    for page in (
        hostile.to_html(title=evil),
        hostile.to_html(diagnosis=hostile_diagnosis),
        compare(hostile, hostile).to_html(title=evil),
    ):
        parsed = Parsed(page)
        assert {tag for tag, _ in parsed.tags} <= allowed
        assert parsed.code == harmless.code
        assert evil in json.loads(parsed.scripts["texts-0"]), "it is escaped, not changed"


def test_what_is_hidden_in_a_heading_is_shown(hostile: Report) -> None:
    """An invisible or reordering character is shown by its number, and the text is isolated."""
    page = hostile.to_html(title="a\u202eb")
    heading = page[page.index("<h1>") : page.index("</h1>")]
    assert heading == '<h1><bdi>a<span class="code">U+202E</span>b</bdi>'
    assert "\u202e" not in page


@given(
    st.recursive(
        st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_in_a_script_reads_back_and_ends_nothing(value: Any) -> None:
    """Any data reads back equal, has no markup, and can be encoded as UTF-8."""
    encoded = script_json(value)
    assert json.loads(encoded) == value
    assert not re.search("[<>&\u2028\u2029]", encoded)
    encoded.encode()


def test_a_page_says_that_samples_are_missing(report: Report, after: Report) -> None:
    """The page of a run that ended early says that samples are missing."""
    assert "Not all samples" not in report.to_html()
    assert "Not all samples" not in compare(report, after).to_html()
    report.stopped = "the run was <b>interrupted</b>"
    for page in (report.to_html(), compare(report, after).to_html(), report._repr_html_()):
        assert "not all" in page
        assert "&lt;b&gt;interrupted" in page
    assert "the report before has 4 samples, not all" in compare(report, after)._repr_html_()


def test_without_scripts_the_summary_is_there(report: Report) -> None:
    """Means, coverage, reasons, and curves are in the HTML itself."""
    page = report.to_html(title="My retriever")
    text = " ".join(" ".join(Parsed(page).text).split())
    summary = report.summary()
    assert "My retriever" in text
    for score in summary:
        assert score.name in text
        assert f"{score.mean:.3f}" in text
        for one in score.values():
            assert f"{one.mean:.3f}" in text
    assert "1 unscored in id_recall: no retrieval: ConnectionError: no answer" in text
    assert "need JavaScript" in text
    assert page.count('role="img"') == 1


def test_an_empty_report_has_a_page() -> None:
    """An empty report has a page without a mean and without a curve."""
    page = Report([IdRecall().method]).to_html()
    assert block(page, "index")["samples"] == []
    assert "0 questions" in page


PAIRS = [
    (front, ground, 4.5)
    for front in ("ink", "quiet", "accent", "found", "lacks", "warn")
    for ground in ("paper", "raised")
]
PAIRS += [("mark-ink", "mark", 4.5), ("edge", "paper", 3.0)]
PAIRS += [(f"line-{n}", "paper", 3.0) for n in range(6)]


def luminance(color: str) -> float:
    """Return the relative luminance of #rrggbb."""
    parts = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("front", "ground", "least"), PAIRS)
def test_contrast_is_enough(front: str, ground: str, least: float, scheme: int) -> None:
    """Text has 4.5 to 1, lines and borders 3 to 1, in light and in dark (WCAG 2.2, level AA)."""
    css = (FILES / "page.css").read_text("utf-8")
    colors = dict(re.findall(r"--([\w-]+): light-dark\(([^)]*)\)", css))
    one, two = (luminance(colors[name].split(", ")[scheme]) for name in (front, ground))
    ratio = (max(one, two) + 0.05) / (min(one, two) + 0.05)
    assert ratio >= least, f"{front} on {ground}: {ratio:.2f}"
