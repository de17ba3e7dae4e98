"""The page as a file: whole, escaped, the same each time, and under a strict policy."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullrecall import IdRecall, Report, Sample, evaluate
from fullrecall.report import compare
from fullrecall.report.page.charts import Curve, Figure, chart
from fullrecall.report.page.encoding import script_json, utf16_offset

FILES = Path(__file__).parents[2] / "src" / "fullrecall" / "report" / "page" / "files"


class Parsed(HTMLParser):
    """A page as a browser's parser sees it: its elements, and what stands in scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.code: list[str] = []
        self.styles: list[str] = []
        self.text: list[str] = []
        self._open = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element with its attributes."""
        self.tags.append((tag, dict(attrs)))
        self._open = tag
        self._id = dict(attrs).get("id") if tag == "script" else None

    def handle_data(self, data: str) -> None:
        """Keep a text where it belongs."""
        if self._open == "script" and self._id:
            self.scripts[self._id] = self.scripts.get(self._id, "") + data
        elif self._open == "script":
            self.code.append(data)
        elif self._open == "style":
            self.styles.append(data)
        else:
            self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        self._open = ""


def block(page: str, name: str) -> Any:
    """Return one block of a page's data."""
    return json.loads(Parsed(page).scripts[name])


def hash_of(source: str) -> str:
    """Return a source's hash, worked out apart from the code under test."""
    return "'sha256-" + b64encode(sha256(source.encode()).digest()).decode() + "'"


def test_the_page_is_one_file_that_names_no_other(report: Report) -> None:
    """No element has an address: nothing can be fetched, not even without the policy."""
    parsed = Parsed(report.to_html())
    tags = {tag for tag, _ in parsed.tags}
    assert not tags & {"link", "img", "iframe", "base", "object", "embed"}
    fetching = [
        (tag, name, value)
        for tag, attributes in parsed.tags
        for name, value in attributes.items()
        if name in ("src", "href", "action", "srcset", "data", "poster")
    ]
    assert fetching == [("a", "href", "#samples")]
    assert not re.search(r"url\(|@import", "".join(parsed.styles))


def test_the_policy_allows_this_script_and_this_style_alone(report: Report) -> None:
    """Nothing is allowed by default; the hashes are those of what stands in the file."""
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
    # An inline style or handler is not covered by a hash: there is none.
    assert not [a for _, a in parsed.tags if any(n == "style" or n.startswith("on") for n in a)]


def test_the_script_never_reads_data_as_markup() -> None:
    """No function that makes markup, code or requests of a text stands in the script."""
    code = (FILES / "page.js").read_text("utf-8")
    forbidden = (
        "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(",
        "Function(", "createContextualFragment", "setHTML", "fetch(", "XMLHttpRequest", "import(",
        "localStorage", "sessionStorage", "location", "window.open", "WebSocket", "sendBeacon",
    )  # fmt: skip
    assert [word for word in forbidden if word in code] == []


def test_the_same_report_gives_the_same_bytes(
    report: Report, again: Report, tmp_path: Path, diagnosis: Any
) -> None:
    """No date, no random name, no order of a set: pages can be compared and kept."""
    page = report.to_html(diagnosis=diagnosis)
    assert again.to_html(diagnosis=diagnosis) == page
    path = tmp_path / "report.jsonl"
    report.save(path)
    assert Report.load(path).to_html(diagnosis=diagnosis) == page


def test_the_page_is_written_and_returned(hostile: Report, tmp_path: Path) -> None:
    """`path` gets what is returned, in UTF-8, whatever was there; no part is left beside it."""
    path = tmp_path / "page.html"
    path.write_text("old", encoding="utf-8")
    page = hostile.to_html(path, title="Ünïcode \ud83d")
    assert path.read_bytes() == page.encode()
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_hostile_texts_open_no_element_and_end_no_script(
    hostile: Report, report: Report, evil: str
) -> None:
    """Every element of the page of a hostile report is one that a harmless report has too."""
    parsed = Parsed(hostile.to_html(title=evil))
    harmless = Parsed(report.to_html())
    assert {tag for tag, _ in parsed.tags} <= {tag for tag, _ in harmless.tags}
    assert len(parsed.code) == 1
    assert parsed.code == harmless.code
    texts = json.loads(parsed.scripts["texts-0"])
    assert evil in texts, "it is escaped, not changed"


def test_what_is_hidden_in_a_heading_is_shown(hostile: Report) -> None:
    """A character that reorders or hides text is shown by its number, and the text is isolated."""
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
    """Whatever the data is: it reads back equal, has no markup, and goes into UTF-8."""
    encoded = script_json(value)
    assert json.loads(encoded) == value
    assert not re.search("[<>&\u2028\u2029]", encoded)
    encoded.encode()


@given(st.text(), st.integers(0, 50))
def test_offsets_are_those_of_a_script(text: str, offset: int) -> None:
    """An offset counts UTF-16 units, as JavaScript's strings do."""
    offset = min(offset, len(text))
    expected = len(text[:offset].encode("utf-16-le", "surrogatepass")) // 2
    assert utf16_offset(text, offset) == expected


def test_each_text_stands_once() -> None:
    """Samples that share contexts share their texts: the file grows by numbers alone."""
    context = {"id": "d", "text": "long " * 500}
    same = [
        Sample(
            id=str(n),
            user_input="?",
            retrieved_contexts=[context],
            reference_context_ids=["d"],
        )
        for n in range(200)
    ]
    page = evaluate(same, [IdRecall()], progress=False).to_html()
    assert page.count("long " * 500) == 1
    one = len(evaluate(same[:1], [IdRecall()], progress=False).to_html())
    assert len(page) - one < 200 * 450


def test_blocks_hold_every_sample_and_text() -> None:
    """The index says how many texts each block has, and the details name texts that are there."""
    many = [
        Sample(id=f"s{n}", user_input=f"{n} " + "x" * 3_000, retrieved_context_ids=[f"d{n}"],
               reference_context_ids=[f"d{n % 7}"]) for n in range(250)
    ]  # fmt: skip
    page = evaluate(many, [IdRecall()], progress=False).to_html()
    index = block(page, "index")
    texts = [text for n in range(len(index["texts"])) for text in block(page, f"texts-{n}")]
    details = [one for n in range(3) for one in block(page, f"details-{n}")]
    assert [len(block(page, f"texts-{n}")) for n in range(len(index["texts"]))] == index["texts"]
    assert len(index["texts"]) > 1
    assert [texts[one["q"]] for one in details] == [sample.user_input for sample in many]
    assert [entry["l"] for entry in index["samples"]] == [sample.id for sample in many]


def test_the_index_tells_every_state_apart(report: Report) -> None:
    """A score, its misses, undefined and unscored: never 0 for what was not measured."""
    cells = {entry["l"]: entry["v"][0] for entry in block(report.to_html(), "index")["samples"]}
    assert cells["tower"][0] == [0.333333, 2]
    assert cells["rome"][0] == [1.0, 0]
    assert cells["open"][0] == ["undefined", 0]
    assert cells["broken"] == [["unscored", 0]] * 3


def test_evidence_is_placed_in_the_units_of_the_script(report: Report) -> None:
    """The quote behind an emoji is marked where it stands, and the made-up one nowhere."""
    page = report.to_html()
    targets = block(page, "details-0")[0]["x"][0]["f"][2]["t"]
    start, end = targets[0]["e"][0]["p"]
    context = report.rows[0].sample.retrieved_contexts[0]  # type: ignore[index]
    units = str(context.text).encode("utf-16-le")
    assert units[start * 2 : end * 2].decode("utf-16-le") == "on the Champ de Mars"
    assert targets[0]["e"][0]["v"] == 1
    assert "p" not in targets[1]["e"][0]
    assert targets[1]["e"][0]["v"] == 0


def test_characters_found_are_marked_in_the_reference(report: Report) -> None:
    """SpanRecall says which characters of the reference were retrieved, at which rank."""
    page = report.to_html()
    target = block(page, "details-0")[0]["x"][0]["f"][1]["t"][0]
    text = block(page, "texts-0")[target["t"]]
    (start, end, rank), *_ = target["h"]
    assert rank == 1
    assert text[start:end].startswith("It was finished in 1889.")


def test_places_without_a_text_are_not_marked() -> None:
    """Offsets into a document are no offsets into the words "doc[0:400]"."""
    from fullrecall import SpanRecall

    sample = Sample(
        user_input="?",
        retrieved_contexts=[{"id": "c", "source": "doc", "start": 0, "end": 5}],
        reference_contexts=[{"id": "r", "source": "doc", "start": 0, "end": 400}],
    )
    page = evaluate([sample], [SpanRecall()], progress=False).to_html()
    target = block(page, "details-0")[0]["x"][0]["f"][0]["t"][0]
    assert "h" not in target


def test_causes_are_those_of_the_diagnosis(report: Report, diagnosis: Any) -> None:
    """Each missed target has its own cause, by the score's name with or without its cut-off."""
    page = report.to_html(diagnosis=diagnosis)
    index = block(page, "index")
    texts = block(page, "texts-0")
    named = {
        texts[target["t"]]: index["causes"][target["u"]][0]
        for result in block(page, "details-0")[0]["x"][0]["f"]
        for target in result.get("t", [])
        if "u" in target
    }
    assert named == {
        "d3": "beyond_k", "d9": "dropped_by_stage", "It is 330 m high.": "not_in_corpus",
    }  # fmt: skip
    assert index["samples"][0]["c"] == [0, 1, 2]
    assert "Why it was missed" in page
    assert "Why it was missed" not in report.to_html()


def test_each_cause_has_its_share_and_its_fix(report: Report, diagnosis: Any) -> None:
    """The section of causes says how many misses each has, and what to do."""
    text = " ".join(" ".join(Parsed(report.to_html(diagnosis=diagnosis)).text).split())
    assert "Beyond k 1 of 3 (33%) Mend beyond_k" in text


def test_a_comparison_has_the_causes_of_both_sides(
    report: Report, after: Report, diagnosis: Any
) -> None:
    """What was missed before and after is counted apart, and each target has its side's cause."""
    left = replace(diagnosis, misses=diagnosis.misses[1:])
    comparison = compare(report, after)
    page = comparison.to_html(diagnoses=(diagnosis, left))
    text = " ".join(" ".join(Parsed(page).text).split())
    assert "Beyond k before 1 of 3 (33%) after 0 of 2 (0%) Mend beyond_k" in text
    sides = block(page, "details-0")[0]["x"]
    causes = [
        [target["u"] for result in side["f"] for target in result.get("t", []) if "u" in target]
        for side in sides
    ]
    assert [len(of_side) for of_side in causes] == [3, 1]
    alone = comparison.to_html(diagnoses=(None, left))
    assert "before 0 of 0 after 1 of 2" in " ".join(" ".join(Parsed(alone).text).split())
    assert "Why it was missed" not in comparison.to_html()


def test_a_page_says_that_samples_are_missing(report: Report, after: Report) -> None:
    """A run that ended early is no whole one, whatever its means are."""
    assert "Not all samples" not in report.to_html()
    assert "Not all samples" not in compare(report, after).to_html()
    report.stopped = "the run was <b>interrupted</b>"
    for page in (report.to_html(), compare(report, after).to_html(), report._repr_html_()):
        assert "Not all samples" in page or "not all samples" in page
        assert "&lt;b&gt;interrupted" in page
    assert "Before, not all samples" in compare(report, after)._repr_html_()


def test_a_hostile_cause_is_data(hostile: Report, hostile_diagnosis: Any) -> None:
    """A cause or its sentence may come from anywhere too."""
    parsed = Parsed(hostile.to_html(diagnosis=hostile_diagnosis))
    assert len(parsed.code) == 1
    assert not {tag for tag, _ in parsed.tags} & {"img", "iframe", "base", "link"}


def test_without_scripts_the_summary_is_there(report: Report) -> None:
    """Means, coverage, reasons and curves stand in the HTML itself."""
    page = report.to_html(title="My retriever")
    text = " ".join(" ".join(Parsed(page).text).split())
    summary = report.summary()
    assert "My retriever" in text
    for score in summary:
        assert score.name in text
        assert f"{score.mean:.3f}" in text
        for value in score.at.values():
            assert f"{value:.3f}" in text
    assert "1 unscored, no retrieval: ConnectionError: no answer" in text
    assert "need JavaScript" in text
    assert page.count('role="img"') == 1


def test_bounds_stand_beside_a_mean_that_lacks_samples(report: Report) -> None:
    """What the mean would be if all unscored were 0, and if they were 1."""
    low, high = report.summary()["id_recall"].bounds or (None, None)
    assert f"{low:.3f}–{high:.3f}" in report.to_html()


def test_an_empty_report_has_a_page() -> None:
    """No sample is no crash: no mean, no curve."""
    page = Report([IdRecall().method]).to_html()
    assert block(page, "index")["samples"] == []
    assert "0 questions" in page


def test_a_comparison_has_both_sides(report: Report, after: Report) -> None:
    """Each sample has its results in both reports, and the difference is the comparison's."""
    comparison = compare(report, after)
    page = comparison.to_html()
    index = block(page, "index")
    assert index["sides"] == ["before", "after"]
    first = block(page, "details-0")[0]["x"]
    assert [len(side["c"]) for side in first] == [3, 4]
    difference = comparison["id_recall"].difference
    assert f"+{difference:.3f}" in page
    assert compare(report, after).to_html() == page


def test_samples_of_one_report_alone_are_on_the_page(report: Report, fewer: Report) -> None:
    """A sample that is only before or only after is shown as such, and not compared."""
    index = block(compare(report, fewer).to_html(), "index")
    entries = {entry["l"]: entry["v"] for entry in index["samples"]}
    assert entries["tower"][1] is None
    index = block(compare(fewer, report).to_html(), "index")
    entries = {entry["l"]: entry["v"] for entry in index["samples"]}
    assert entries["tower"][0] is None


def test_a_hostile_comparison_is_data(hostile: Report, evil: str) -> None:
    """The comparison page escapes as the report's does."""
    parsed = Parsed(compare(hostile, hostile).to_html(title=evil))
    assert len(parsed.code) == 1
    assert not {tag for tag, _ in parsed.tags} & {"img", "iframe", "base", "link"}


def test_a_chart_needs_two_ks() -> None:
    """One point makes no curve; labels at the ends of curves do not lie on each other."""
    assert chart("recall", [Curve("A", "a", 0, [Figure(5, 0.5, None)])]) is None
    same = [Curve(name, name, 0, [Figure(1, 0.5, None), Figure(9, 0.5, None)]) for name in "ABC"]
    drawn = chart("recall", same)
    assert drawn is not None
    heights = sorted(curve.label_at[1] for curve in drawn.curves)
    assert min(b - a for a, b in pairwise(heights)) >= 12


# ---- Contrast, worked out from the style sheet by the formula of WCAG 2.2.

PAIRS = [
    (front, ground, 4.5)
    for front in ("ink", "quiet", "accent", "found", "lacks", "warn")
    for ground in ("paper", "raised")
]
PAIRS += [("mark-ink", "mark", 4.5), ("ink", "held", 4.5), ("edge", "paper", 3.0)]
PAIRS += [(f"line-{n}", "paper", 3.0) for n in range(6)]


def luminance(colour: str) -> float:
    """Return the relative luminance of #rrggbb."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("front", "ground", "least"), PAIRS)
def test_contrast_is_enough(front: str, ground: str, least: float, scheme: int) -> None:
    """Text has 4.5 to 1, lines and borders 3 to 1, in light and in dark (WCAG 2.2, level AA)."""
    css = (FILES / "page.css").read_text("utf-8")
    colours = dict(re.findall(r"--([\w-]+): light-dark\(([^)]*)\)", css))
    one, two = (luminance(colours[name].split(", ")[scheme]) for name in (front, ground))
    ratio = (max(one, two) + 0.05) / (min(one, two) + 0.05)
    assert ratio >= least, f"{front} on {ground}: {ratio:.2f}"
