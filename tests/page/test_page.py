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

from fullrecall import Context, IdRecall, Report, Sample, compare, evaluate
from fullrecall.findings import Findings
from fullrecall.measures import RR, Measure, Precision, Recall, nDCG
from fullrecall.report import Runs
from fullrecall.report.page.charts import Curve, Figure, chart
from fullrecall.report.page.encoding import script_json, utf16_offset
from fullrecall.result import Status

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
    assert {(tag, name) for tag, name, _ in fetching} == {("a", "href")}
    assert [value for *_, value in fetching if not value.startswith("#")] == []
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
        "localStorage", "sessionStorage", "window.open", "WebSocket", "sendBeacon", "pushState",
    )  # fmt: skip
    assert [word for word in forbidden if word in code] == []
    # The address is read, and kept by replaceState: nothing of the data leads anywhere.
    read = {"location.hash", "location.pathname", "location.search"}
    assert set(re.findall(r"\blocation\b[.\w]*", code)) - read <= {"location.hash.slice"} | {
        "location.hash.includes"
    }
    assert not re.search(r"\blocation[.\w]*\s*=[^=]", code)


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


def cells_of(page: str, side: int = 0) -> dict[str, list[list[Any]]]:
    """Return each sample's cells on one side: status, value and misses by each choice."""
    index = block(page, "index")
    return {
        entry["l"]: [
            [index["statuses"][status], values, missed]
            for status, values, missed in entry["v"][side]
        ]
        for entry in index["samples"]
    }


def test_the_index_tells_every_state_apart(report: Report) -> None:
    """A score, its misses, undefined and unscored: never 0 for what was not measured."""
    cells = cells_of(report.to_html(measures=[Recall @ 2, Recall]))
    assert cells["tower"][0] == ["scored", [0.333333, 0.666667], [2, 1]]
    assert cells["rome"][0] == ["scored", [1.0, 1.0], [0, 0]]
    assert cells["open"][0] == ["undefined", [None, None], [0, 0]]
    assert cells["broken"] == [["unscored", [None, None], [0, 0]]] * 3


MEASURES = (
    Recall @ 1, Recall @ 2, Recall, nDCG(gain="exponential") @ 2, RR, Precision @ 2,
    Recall(min_grade=2) @ 1, Recall(zero_division=0.5),
)  # fmt: skip


def test_every_value_is_that_of_the_result(report: Report) -> None:
    """Whatever measure is chosen: each sample has what `result[measure]` says, None included."""
    page = report.to_html(measures=MEASURES)
    cells = cells_of(page)
    for row in report:
        for result, (status, values, _) in zip(row.results, cells[row.label], strict=True):
            expected = [result[measure] for measure in MEASURES]
            assert status == result.status
            assert values == [None if v is None else pytest.approx(v, abs=1e-6) for v in expected]
    labels = [one["label"] for one in block(page, "index")["scores"][0]["measures"]]
    assert labels == [report.methods[0].label(measure) for measure in MEASURES]
    assert block(page, "index")["choices"][3] == "nDCG(gain='exponential') @ 2"


def test_misses_are_those_within_the_k_of_the_measure(report: Report) -> None:
    """What stands beyond k, or in part within it, is missed; what the measure leaves out is not."""
    cells = cells_of(report.to_html(measures=MEASURES))
    for row in report:
        for result, (_, _, missed) in zip(row.results, cells[row.label], strict=True):
            if result.status is not Status.SCORED:
                assert not any(missed)
                continue
            for measure, count in zip(MEASURES, missed, strict=True):
                counted = measure.counted(result.findings)
                within = [f for f in counted if f.rank is not None and f.rank <= (measure.k or 99)]
                assert count == len(counted) - len(within)
    assert cells["tower"][0][2] == [2, 2, 1, 2, 1, 2, 0, 1]


def test_targets_that_a_measure_leaves_out_are_named() -> None:
    """A target below the least grade is neither found nor missed by that measure."""
    sample = Sample(retrieved_context_ids=["b"], reference_context_ids={"a": 1, "b": 2})
    page = evaluate([sample], IdRecall()).to_html(measures=[Recall, Recall(min_grade=2)])
    found = block(page, "details-0")[0]["x"][0]["f"][0]["t"]
    assert [target.get("o") for target in found] == [[1], None]


def test_undefined_is_counted_for_each_measure() -> None:
    """A sample of which a measure counts no target is in that measure's count alone."""
    samples = [
        Sample(id=str(grade), retrieved_context_ids=["a"], reference_context_ids={"a": grade})
        for grade in (1, 2)
    ]
    page = evaluate(samples, IdRecall()).to_html(measures=[Recall, Recall(min_grade=2)])
    assert [line[0].split()[-3:] for _, line in rows_of(page)] == [list("200"), list("110")]
    assert [values for ((_, values, _),) in cells_of(page).values()] == [[1.0, None], [1.0, 1.0]]


def rows_of(page: str) -> list[tuple[str, list[str]]]:
    """Return the lines of the overview that each choice shows: its number, and each line's text."""
    found = []
    for body in re.findall(r'<tbody role="rowgroup" data-choice.*?</tbody>', page, re.DOTALL):
        number = re.search(r'data-choice="(\d+)"', body)
        assert number is not None
        lines = re.findall(r"<tr.*?</tr>", body, re.DOTALL)
        texts = [" ".join(" ".join(Parsed(line).text).split()) for line in lines]
        found.append((number[1] + (" hidden" if " hidden>" in body[:80] else ""), texts))
    return found


def test_the_overview_has_every_measure_and_shows_one(report: Report) -> None:
    """Means, intervals and counts of each are the summary's; it opens with the headline."""
    measures = [Recall @ 2, nDCG @ 2, Recall]
    summary, rows = report.summary(*measures), rows_of(report.to_html(measures=measures))
    assert [number for number, _ in rows] == ["0 hidden", "1 hidden", "2"]
    for measure, (_, lines) in zip(measures, rows, strict=True):
        for score, line in zip(summary, lines, strict=True):
            one = score[measure]
            assert one.interval is not None
            assert f" {score.method.label(measure)} {one.mean:.3f} " in line
            assert f" {one.interval.low:.3f}–{one.interval.high:.3f} " in line
            assert line.split(" of ")[1].split()[1:4] == [
                str(n) for n in (one.samples, one.undefined, score.unscored)
            ]
    opened = [number for number, _ in rows_of(report.to_html())]
    assert opened == ["0 hidden", "1 hidden", "2 hidden", "3 hidden", "4"]


def test_misses_are_counted_for_each_score_apart(report: Report) -> None:
    """A document that three scores look for is missed once by each, and no count adds them up."""
    (_, lines), *_ = rows_of(report.to_html(measures=[Recall @ 2]))
    missed = [re.search(r"\d+ of \d+", line) for line in lines]
    assert [one and one[0] for one in missed] == ["2 of 4", "1 of 2", "6 of 9"]
    for nth, line in enumerate(report.methods):
        alone = len(report.missed(2, score=line.name))
        assert (missed[nth] or [""])[0].startswith(f"{alone} of ")


def test_any_measure_is_charted_over_its_ks(report: Report) -> None:
    """Each measure that is offered at two ks has a chart, shown with its own choices alone."""
    page = report.to_html(measures=[Recall @ 1, nDCG @ 1, Recall @ 2, nDCG @ 2, RR])
    assert re.findall(r'<figure class="panel" data-choices="([\d ]+)">', page) == ["0 2", "1 3"]
    assert page.count('role="img"') == 2
    text = " ".join(" ".join(Parsed(page).text).split())
    assert "Mean of Recall @ k" in text
    assert "Mean of nDCG @ k" in text
    assert "RR, all retrieved" in text[text.index("Other measures") :]


def test_a_measure_of_your_own_is_one_like_any(report: Report) -> None:
    """Whatever its name and parameters are, they are text."""

    class Mine(Measure):
        note: str = "</script><script>window.hit = 1</script>"
        text = "mine"
        written = "<img src=x onerror='window.hit = 1'>"

        def count(self, findings: Findings, retrieved: int) -> float:
            return 0.25

    mine = Mine()(note="<i>\u202e")
    for html in (
        report.to_html(measures=[mine @ 1, mine @ 2]),
        compare(report, report, mine @ 1, mine @ 2).to_html(),
    ):
        parsed = Parsed(html)
        assert not {tag for tag, _ in parsed.tags} & {"img", "i", "iframe"}
        assert len(parsed.code) == 1
        assert "\u202e" not in html
    assert cells_of(report.to_html(measures=[mine]))["tower"][0][1] == [0.25]


def test_the_interval_says_what_it_holds_for(report: Report) -> None:
    """One interval, one sentence; no word of an extra or of few samples."""
    text = " ".join(" ".join(Parsed(report.to_html()).text).split())
    assert (
        "With at least 95% confidence, the mean over all such questions lies in it, whatever the "
        "distribution of the scores."
    ) in text
    assert "SciPy" not in text
    assert "are few" not in text


def test_slices_stand_with_intervals_for_all_of_them(report: Report) -> None:
    """Each kind of samples has its mean and an interval at the level of all that are shown."""
    samples = [
        Sample(
            id=f"s{n}",
            retrieved_context_ids=["a"],
            reference_context_ids=["a" if n % 3 else "b"],
            metadata={"kind": f"kind {n % 2}", "one": "same", "own": f"value {n}"},
        )
        for n in range(40)
    ]
    made = evaluate(samples, IdRecall(), progress=False)
    page = made.to_html()
    index = block(page, "index")
    assert [one["name"] for one in index["groupings"]] == ["kind"], "others part nothing"
    values = index["groupings"][0]["values"]
    assert [values[entry["s"][0][1]] for entry in index["samples"]] == [
        f"kind {n % 2}" for n in range(40)
    ]
    text = " ".join(" ".join(Parsed(page).text).split())
    for one in made.slices("kind"):
        assert one.interval is not None
        shown = f"{one.value} {one.mean:.3f} {one.interval.low:.3f}–{one.interval.high:.3f}"
        assert shown in text
    assert "hold for all 2 means looked at together" in text
    assert "Slices" not in " ".join(Parsed(report.to_html()).text).split("Samples")[0]


def test_the_head_says_who_judged_and_what_it_cost(report: Report) -> None:
    """Sources of the retrieval, the judge, and the requests that the scores rest on."""
    text = " ".join(" ".join(Parsed(report.to_html()).text).split())
    assert "Retrieval first pass, rerank" in text
    assert "Judge a judge" in text
    assert "Rests on 9 judge requests, 480 tokens" in text


def test_means_are_over_groups_and_say_so(report: Report) -> None:
    """Two samples of one group count once: the page has the mean over groups, and a note."""
    samples = [
        Sample(id=str(n), group=group, retrieved_context_ids=["a"], reference_context_ids=[wanted])
        for n, (group, wanted) in enumerate((("g", "a"), ("g", "a"), (None, "b")))
    ]
    page = evaluate(samples, IdRecall()).to_html()
    assert "id_recall: the mean is over 2 groups of 3 samples" in page
    assert dict(rows_of(page))["4"][0].startswith("A id_recall 0.500")
    assert "the mean is over" not in report.to_html()


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
    """Each missed target has its own cause, by the score's name with or without its k."""
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
    causes = {(index["causes"][cause][0], nth) for cause, nth in index["samples"][0]["c"]}
    assert causes == {("beyond_k", 0), ("dropped_by_stage", 0), ("not_in_corpus", 2)}
    assert "Why it was missed" in page
    assert "Why it was missed" not in report.to_html(diagnosis=False)


def test_a_page_opens_with_the_measure_that_was_diagnosed(report: Report, diagnosis: Any) -> None:
    """Misses and causes are of one k, where the page offers it; else the headline is shown."""
    at_three = replace(
        diagnosis, misses=tuple(replace(miss, score="id_recall@3") for miss in diagnosis.misses)
    )
    choices = block(report.to_html(), "index")["choices"]
    headline = "Recall, all retrieved"
    for told, shown in ((at_three, "Recall @ 3"), (diagnosis, headline), (False, headline)):
        page = report.to_html(diagnosis=told)
        assert choices[block(page, "index")["first"]] == shown
        assert [n for n, _ in rows_of(page) if "hidden" not in n] == [str(choices.index(shown))]


def test_each_cause_has_its_share_of_each_score_and_its_fix(report: Report, diagnosis: Any) -> None:
    """Shares are of the misses of one score: those of another score are not added to them."""
    text = " ".join(" ".join(Parsed(report.to_html(diagnosis=diagnosis)).text).split())
    assert "Beyond k A id_recall 1 of 2 (50%) C claim_recall 0 of 1 (0%) Mend beyond_k" in text
    assert "Not in corpus A id_recall 0 of 2 (0%) C claim_recall 1 of 1 (100%)" in text
    assert "of 3" not in text[text.index("Why it was missed") : text.index("Shares are")]


def test_a_comparison_has_the_causes_of_both_sides(
    report: Report, after: Report, diagnosis: Any
) -> None:
    """What was missed before and after is counted apart, and each target has its side's cause."""
    left = replace(diagnosis, misses=diagnosis.misses[1:])
    comparison = compare(report, after)
    page = comparison.to_html(diagnoses=(diagnosis, left))
    text = " ".join(" ".join(Parsed(page).text).split())
    assert "Beyond k A id_recall before 1 of 2 (50%) A id_recall after 0 of 1 (0%)" in text
    sides = block(page, "details-0")[0]["x"]
    causes = [
        [target["u"] for result in side["f"] for target in result.get("t", []) if "u" in target]
        for side in sides
    ]
    assert [len(of_side) for of_side in causes] == [3, 2]
    alone = comparison.to_html(diagnoses=(None, left))
    shares = " ".join(" ".join(Parsed(alone).text).split())
    assert "A id_recall@2 after 1 of 1" in shares
    assert "0 of 0" not in shares  # a side that was not diagnosed is not shown
    assert "Why it was missed" not in comparison.to_html(diagnoses=False)


def test_a_page_says_that_samples_are_missing(report: Report, after: Report) -> None:
    """A run that ended early is no whole one, whatever its means are."""
    assert "Not all samples" not in report.to_html()
    assert "Not all samples" not in compare(report, after).to_html()
    report.stopped = "the run was <b>interrupted</b>"
    for page in (report.to_html(), compare(report, after).to_html(), report._repr_html_()):
        assert "not all" in page
        assert "&lt;b&gt;interrupted" in page
    assert "the report before has 4 samples, not all" in compare(report, after)._repr_html_()


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
        for one in score.at.values():
            assert f"{one.mean:.3f}" in text
    assert "1 unscored in id_recall: no retrieval: ConnectionError: no answer" in text
    assert "need JavaScript" in text
    assert page.count('role="img"') == 1


def test_bounds_stand_beside_a_mean_that_lacks_samples(report: Report) -> None:
    """What the mean would be if all unscored were 0, and if they were 1."""
    summary, page = report.summary()["id_recall"], report.to_html()
    for measure in (Recall, Recall @ 1):
        low, high = summary[measure].bounds or (None, None)
        assert f"{low:.3f}–{high:.3f}" in page


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
    difference = comparison["id_recall"].main.difference
    assert difference is not None
    assert f"+{difference:.3f}" in page
    assert compare(report, after).to_html() == page


def test_a_comparison_shows_the_measures_that_it_was_asked_for(
    report: Report, after: Report
) -> None:
    """Difference, both intervals, p and Holm's p of each, and every sample's values."""
    measures = (Recall @ 1, nDCG @ 2)
    comparison = compare(report, after, *measures)
    page = comparison.to_html()
    for measure, (_, lines) in zip(measures, rows_of(page), strict=True):
        for score, line in zip(comparison, lines, strict=True):
            one = score[measure]
            assert one.interval is not None
            assert one.guaranteed is not None
            assert score.method.label(measure) in line
            for low, high in (one.interval[:2], one.guaranteed[:2]):
                ends = [
                    f"{'+' if end > 0 else '−' if end < 0 else ''}{abs(end):.3f}"
                    for end in (low, high)
                ]
                assert " to ".join(ends) in line
            assert f"{one.p:.3f} {one.p_adjusted:.3f}" in line
            assert f"{one.wins} / {one.ties} / {one.losses} {one.samples}" in line
    for side, reports in enumerate((report, after)):
        cells = cells_of(page, side)
        for row in reports:
            assert cells[row.label][0][1] == [
                None if row.results[0][m] is None else pytest.approx(row.results[0][m], abs=1e-6)
                for m in measures
            ]


def other_targets() -> Report:
    """Return the report `before` of two samples: what they should find differs from `after`."""
    return targets_of_two(["a", "b", "c"], ["x"])


def targets_of_two(first: list[str], second: list[str]) -> Report:
    """Return a report of two samples that retrieve a and b, and should have found these."""
    wanted = {"some": first, "none": second}
    samples = [
        Sample(id=name, retrieved_contexts=[Context("A", id="a"), Context("B", id="b")],
               reference_context_ids=ids) for name, ids in wanted.items()
    ]  # fmt: skip
    return evaluate(samples, IdRecall(), progress=False)


def test_only_common_targets_are_compared_and_the_page_says_so() -> None:
    """Values are over what both have; the rest is marked, and no common target is no comparison."""
    comparison = compare(other_targets(), targets_of_two(["a", "c", "d", "e"], ["y"]))
    page = comparison.to_html()
    text = " ".join(" ".join(Parsed(page).text).split())
    assert "1 compared in id_recall over common targets only: their targets differ" in text
    assert "1 not compared in id_recall: no target in common" in text
    before, after = cells_of(page, 0), cells_of(page, 1)
    assert before["some"][0][1][-1] == after["some"][0][1][-1] == 0.5
    assert before["some"][0][2][-1] == 1
    index = block(page, "index")
    gaps = {
        e["l"]: [None if n is None else index["gaps"][n] for n in e["n"]] for e in index["samples"]
    }
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
    assert chart([Curve("A", "a", 0, [Figure(5, 0.5, None)])]) is None
    same = [Curve(name, name, 0, [Figure(1, 0.5, None), Figure(9, 0.5, None)]) for name in "ABC"]
    drawn = chart(same)
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


@pytest.mark.parametrize("page_of", [compare, lambda a, b: Runs({"a": a, "b": b})])
def test_pages_of_several_reports_answer_first(page_of: Any) -> None:
    """What fails now that did not, the changes by gain, and slices of the change come first."""

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
                metadata={"language": "de" if nth % 2 else "en"},
            )
            for nth in range(20)
        ]
        return evaluate(samples, IdRecall(), progress=False)

    html = page_of(made(range(4)), made(range(2, 9))).to_html()
    text = " ".join(" ".join(Parsed(html).text).split())
    assert text.index("What fails now that did not") < text.index("id_recall")
    assert "5 of 20 questions miss something" in text
    assert "q4 What of 4?" in text
    assert "2 mended ; 2 still fail" in text or "2 mended; 2 still fail" in text
    assert "What to change" in text
    assert "language id_recall Compared" in text
    assert "95% intervals that hold for all 2 means looked at together" in text
