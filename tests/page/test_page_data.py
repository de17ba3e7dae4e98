"""A page's data of each sample: its values, misses, targets, evidence, and causes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from tests.judge.scripted import reply, verdict
from tests.page.page_source import Parsed, block, cells_of, items_of, rows_of

from fullrecall import (
    ClaimRecall,
    Context,
    IdRecall,
    Report,
    Retrieval,
    Sample,
    compare,
    diagnose,
    evaluate,
)
from fullrecall.errors import ReportError
from fullrecall.judge import LLMJudge
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.measures import RR, Measure, Precision, Recall, nDCG
from fullrecall.measures.findings import Findings
from fullrecall.scorers.result import Status


def test_each_text_stands_once() -> None:
    """Samples that share contexts share their texts, so more samples add only numbers."""
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
    """All blocks but the last are full, and the details refer to texts on the page."""
    many = [
        Sample(
            id=f"s{n}",
            user_input=f"{n} " + "x" * 3_000,
            retrieved_context_ids=[f"d{n}"],
            reference_context_ids=[f"d{n % 7}"],
        )
        for n in range(250)
    ]
    page = evaluate(many, [IdRecall()], progress=False).to_html()
    index = block(page, "index")
    texts, details = items_of(page, "texts"), items_of(page, "details")
    assert len(block(page, "texts-0")) == index["perBlock"]
    assert [texts[one["q"]] for one in details] == [sample.user_input for sample in many]
    assert [entry["l"] for entry in index["samples"]] == [sample.id for sample in many]


def test_the_index_tells_every_state_apart(report: Report) -> None:
    """Scored, undefined, and unscored samples differ; an unmeasured value is never 0."""
    cells = cells_of(report.to_html(measures=[Recall @ 2, Recall]))
    assert cells["tower"][0] == ["scored", [0.333333, 0.666667], [2, 1]]
    assert cells["rome"][0] == ["scored", [1.0, 1.0], [0, 0]]
    assert cells["open"][0] == ["undefined", [None, None], [0, 0]]
    assert cells["broken"] == [["unscored", [None, None], [0, 0]]] * 3


def test_an_unscored_sample_misses_no_targets() -> None:
    """A target that was judged before a sample was given up is no miss on the page."""
    script = [reply(verdict(1, "not_supported")), "prose", "prose"]
    scorer = ClaimRecall(judge=LLMJudge(ScriptedChatModel(script)))
    sample = Sample(id="q", retrieved_contexts=["c"], reference_claims=["x", "y"])
    report = evaluate([sample], scorer, progress=False)
    assert len(report.rows[0].results[0].findings) == 1
    assert cells_of(report.to_html(measures=[Recall])) == {"q": [["unscored", [None], [0]]]}


MEASURES = (
    Recall @ 1,
    Recall @ 2,
    Recall,
    nDCG(gain="exponential") @ 2,
    RR,
    Precision @ 2,
    Recall(min_grade=2) @ 1,
    Recall(zero_division=0.5),
)


def test_every_value_is_that_of_the_result(report: Report) -> None:
    """For any measure, each sample has the value of `result[measure]`, None included."""
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
    """A target beyond k, or partly within it, is missed; an ignored target is not."""
    cells = cells_of(report.to_html(measures=MEASURES))
    for row in report:
        for result, (_, _, missed) in zip(row.results, cells[row.label], strict=True):
            if result.status is not Status.SCORED:
                assert not any(missed)
                continue
            for measure, count in zip(MEASURES, missed, strict=True):
                counted = measure.countable(result.findings)
                within = [f for f in counted if f.rank is not None and f.rank <= (measure.k or 99)]
                assert count == len(counted) - len(within)
    assert cells["tower"][0][2] == [2, 2, 1, 2, 1, 2, 0, 1]


def test_targets_that_a_measure_leaves_out_are_named() -> None:
    """A target below the least grade is neither found nor missed by that measure."""
    sample = Sample(retrieved_context_ids=["b"], reference_context_ids={"a": 1, "b": 2})
    page = evaluate([sample], IdRecall()).to_html(measures=[Recall, Recall(min_grade=2)])
    (score,) = block(page, "index")["scores"]
    assert [measure["least"] for measure in score["measures"]] == [None, 2]
    targets = block(page, "details-0")[0]["x"][0]["f"][0]["t"]
    assert [target.get("g", 1) for target in targets] == [1, 2]


def test_a_measure_of_your_own_is_one_like_any(report: Report) -> None:
    """Its name and parameters are shown as text, even if they contain markup."""

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


def test_evidence_is_placed_by_its_characters(report: Report) -> None:
    """A quote after an emoji is marked at its place, and a made-up quote is not marked."""
    page = report.to_html()
    targets = block(page, "details-0")[0]["x"][0]["f"][2]["t"]
    start, end = targets[0]["e"][0]["p"]
    context = report.rows[0].sample.retrieved_contexts[0]  # type: ignore[index]
    assert str(context.text)[start:end] == "on the Champ de Mars"
    assert targets[0]["e"][0]["v"] is True
    assert "p" not in targets[1]["e"][0]
    assert targets[1]["e"][0]["v"] is False


def test_causes_are_those_of_the_diagnosis(report: Report, diagnosis: Any) -> None:
    """Each missed target has its own cause, found by the score's name with or without k."""
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
        "d3": "beyond_k",
        "d9": "dropped_by_stage",
        "It is 330 m high.": "not_in_corpus",
    }
    causes = {(index["causes"][cause][0], nth) for cause, nth in index["samples"][0]["c"]}
    assert causes == {("beyond_k", 0), ("dropped_by_stage", 0), ("not_in_corpus", 2)}
    assert "Why it was missed" in page
    assert "Why it was missed" not in report.to_html(diagnosis=False)


def test_a_page_opens_with_the_measure_that_was_diagnosed(report: Report, diagnosis: Any) -> None:
    """A page opens with the diagnosed measure if it has it, else with the headline."""
    at_three = replace(
        diagnosis, misses=tuple(replace(miss, score="id_recall@3") for miss in diagnosis.misses)
    )
    choices = block(report.to_html(), "index")["choices"]
    headline = "Recall, all retrieved"
    for told, shown in ((at_three, "Recall @ 3"), (diagnosis, headline), (False, headline)):
        page = report.to_html(diagnosis=told)
        assert choices[block(page, "index")["first"]] == shown
        assert [n for n, _ in rows_of(page) if "hidden" not in n] == [str(choices.index(shown))]


def test_a_diagnosis_of_another_report_is_refused(report: Report, after: Report) -> None:
    """The error names both reports, and a comparison takes the diagnosis of the one after."""
    found = diagnose(report)
    assert report.to_html(diagnosis=found)
    for page in (after, compare(report, after)):
        with pytest.raises(ReportError, match=r"is of report .*, and the page of report .*"):
            page.to_html(diagnosis=found)


def test_where_targets_are_lost() -> None:
    """The page counts the references in each list of the records, and those lost before it."""
    contexts = [Context(f"All that is known about {own} is here.", id=own) for own in "abcd"]
    record = Retrieval(contexts[:2], retrieved=contexts, read=["yes", "no"])
    sample = Sample(retrieval=record, reference_context_ids=[*"abce"])
    page = evaluate([sample], IdRecall(), progress=False).to_html()
    section = page.partition("Where targets are lost")[2].partition("</section>")[0]
    cells = re.sub(r"(<[^>]*>|\s)+", " ", section)
    assert "Retrieved 0.750 3 of 4 1 Kept 0.500 2 of 4 1 In the prompt 0.250 1 of 4 1" in cells
    whole = sample.with_retrieval(contexts)
    page = evaluate([whole], IdRecall(), progress=False).to_html()
    assert "Where targets are lost" not in page


def test_a_page_has_the_given_fields_and_no_others() -> None:
    """Empty fields, ranks of full credit and weights of 1 are left out of the data."""
    place = {"source": "doc", "start": 3, "end": 7, "metadata": {"page": 2}}
    bare = Sample(id="bare", retrieved_context_ids=["a", "b"], reference_context_ids=["b", "c"])
    full = Sample(
        id="full",
        user_input="q",
        response="an answer",
        reference="r",
        group="g",
        metadata={"kind": 1},
        retrieved_contexts=[Context("pump", id="a", score=0.5, **place)],
        reference_context_ids={"a": 2},
    )
    page = evaluate([bare, full], [IdRecall()], progress=False).to_html(measures=[Recall])
    assert items_of(page, "texts") == [
        *(
            "b",
            "c",
            "to find the cause, pass corpus= and retriever=",
            "1 of 2 found in 2 retrieved",
        ),
        *("q", "r", '{\n "kind": 1\n}', "an answer", "a", "1 of 1 found in 1 retrieved"),
        *("pump", "doc", '{\n "page": 2\n}'),
    ]
    missed = {"t": 1, "u": 0, "d": 2}
    found = {"t": 8, "n": [1], "g": 2.0}
    shown = {"r": 7, "c": [2], "o": [0.5], "f": [{"w": 9, "t": [found]}]}
    assert items_of(page, "details") == [
        {"x": [{"c": [0, 1], "f": [{"w": 3, "t": [{"t": 0, "n": [2]}, missed]}]}]},
        {"q": 4, "a": 5, "m": 6, "x": [shown]},
    ]
    contexts = [{"i": 8}, {"i": 0}, {"t": 10, "i": 8, "d": 11, "m": 12, "p": 3, "e": 7}]
    assert items_of(page, "contexts") == contexts
    assert [sorted(each) for each in block(page, "index")["samples"]] == [
        ["c", "l", "q", "v"],
        ["g", "l", "q", "v"],
    ]
