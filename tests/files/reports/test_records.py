"""Saved reports: values that no run gives are refused by name, and a saved report loads equal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.files.reports.sealing import seal

from fullrecall import Context, IdRecall, Report, Sample, SpanRecall, TextRecall, evaluate
from fullrecall.errors import ReportError
from fullrecall.files.reports.records import plain_row, row_of
from fullrecall.judge.usage import Usage
from fullrecall.measures.findings import CreditStep, Evidence, Finding, Target
from fullrecall.report import Row
from fullrecall.samples.retrieval import Retrieval
from fullrecall.scorers.result import Method, Result, Status

CLAIM = Finding(
    Target(("a claim",)),
    (CreditStep(1, 0.5), CreditStep(3, 1.0)),
    (1, 3),
    (Evidence(1, 0, 4, quote="text", verified=True), Evidence(3, 4, 4, similarity=0.9)),
    "supported",
    0.75,
)
PASSAGE = Finding(
    Target(("x", "y"), 2.0, 40.0), (CreditStep(2, 1.0),), (2,), (Evidence(2, 0, 3, 5, 8),)
)
MISSED = Finding(Target(("z",)))


def report() -> Report:
    """Return a report with a value in every field."""
    method = Method("claim_recall", {"judge": "a judge", "window": 8})
    sample = Sample(
        id="q1",
        user_input="q?",
        retrieved_contexts=[Context(f"text {n}", id=n, score=0.5) for n in range(4)],
        metadata={"topic": ["rivers", 1, None]},
    )
    result = Result(
        method,
        Status.SCORED,
        (CLAIM, PASSAGE, MISSED),
        4,
        "a note",
        (("unjudged", "a judge failed"),),
        Usage(2, 100, 10),
    )
    unscored = Sample(id="q2", user_input="r?")
    return Report.of(
        [method],
        [
            Row(1, sample, (result,)),
            Row(2, unscored, (Result(method, Status.UNSCORED, note="no retrieval observed"),)),
        ],
    )


Change = Callable[[dict[str, Any], dict[str, Any], dict[str, Any]], object]
"""A change of the head, the first row, and that row's first result."""


def target(position: int, **values: object) -> Change:
    """Return a change of one finding."""
    return lambda head, row, result: result["findings"][position].update(values)


def of_result(**values: object) -> Change:
    """Return a change of the first result."""
    return lambda head, row, result: result.update(values)


def of_evidence(**values: object) -> Change:
    """Return a change of the first evidence."""
    return lambda head, row, result: result["findings"][0]["evidence"][0].update(values)


def of_sample(**values: object) -> Change:
    """Return a change of the first sample."""
    return lambda head, row, result: row["sample"].update(values)


def of_method(**values: object) -> Change:
    """Return a change of the method."""
    return lambda head, row, result: head["methods"][0].update(values)


def without(name: str) -> Change:
    """Return a change that takes a field out of the first result."""
    return lambda head, row, result: result.pop(name)


def doubled(head: dict[str, Any], row: dict[str, Any], result: dict[str, Any]) -> None:
    """Change a finding so that its target is found twice."""
    result["findings"].append(result["findings"][2])


TAMPERED: dict[str, tuple[Change, str]] = {
    "credit 2.0": (target(2, steps=[[1, 2.0]], ranks=[1]), "a credit above 0 and at most 1"),
    "credit -1": (target(0, steps=[[1, -1.0]]), "a credit above 0"),
    "credit raised": (target(2, steps=[[1, 1.0]], ranks=[1]), "score must be 1.0"),
    "grade -5": (target(0, grade=-5.0), "findings[0].grade must be greater than 0"),
    "grade raised": (target(1, grade=3.0), "was changed after it was written"),
    "rank as text": (target(0, ranks=["1", 3]), "findings[0].ranks[0] must be a valid integer"),
    "rank 0": (target(0, ranks=[0, 1, 3]), "findings[0].ranks[0] must be greater"),
    "rank of a step true": (target(0, steps=[[True, 1.0]]), "steps"),
    "rank beyond what was retrieved": (target(1, ranks=[2, 5]), "at most retrieved=4, got 5"),
    "ranks that fall": (target(0, ranks=[3, 1]), "ranks must rise"),
    "a rank twice": (target(0, ranks=[1, 1, 3]), "ranks must rise"),
    "two steps at one rank": (target(0, steps=[[1, 0.5], [1, 1.0]]), "steps must rise"),
    "two steps of one credit": (target(0, steps=[[1, 0.5], [3, 0.5]]), "steps must rise"),
    "steps whose ranks fall": (target(0, steps=[[3, 0.5], [1, 1.0]]), "steps must rise"),
    "a step at no rank": (target(0, steps=[[2, 1.0]]), "a rank among ranks"),
    "no name of a target": (target(0, target=[]), "findings[0].target"),
    "another target": (target(2, target=["found"]), "was changed after it was written"),
    "a target twice": (doubled, "each target must have one finding"),
    "agreement 2": (target(0, agreement=2.0), "findings[0].agreement must be less than"),
    "unknown field of a finding": (target(0, bonus=1), "findings[0].bonus is not a field"),
    "evidence beyond": (of_evidence(rank=9), "at most retrieved=4, got 9"),
    "evidence reversed": (of_evidence(start=4, end=0), "an end must not lie before its start"),
    "similarity 1.5": (of_evidence(similarity=1.5), "evidence[0].similarity must be less"),
    "score raised": (of_result(score=1.0), "score must be 0.666"),
    "score as text": (of_result(score="1"), "results[0].score"),
    "score taken out": (without("score"), "score is missing: it must be 0.666"),
    "status changed": (of_result(status="unscored"), "score must not be there"),
    "status undefined": (of_result(status="undefined"), "an undefined result must have no targets"),
    "undefined with findings": (
        of_result(status="undefined", unmeasured=[]),
        "an undefined result must have no targets",
    ),
    "no note": (
        of_result(status="undefined", findings=[], unmeasured=[], note=""),
        "an undefined result must have a note",
    ),
    "status invented": (of_result(status="great"), "status must be one of scored"),
    "findings taken out": (without("findings"), "must have findings"),
    "a finding taken out": (
        lambda head, row, result: result["findings"].pop(),
        "score must be 1.0",
    ),
    "retrieved beyond the contexts": (of_result(retrieved=5), "retrieved must be at most 4"),
    "retrieved fewer than the ranks": (of_result(retrieved=2), "at most retrieved=2, got 3"),
    "retrieved taken out": (without("retrieved"), "at most retrieved=0"),
    "unknown field of a result": (of_result(bonus=1), "results[0].bonus is not a field"),
    "usage negative": (of_result(usage={"calls": -1}), "results[0].usage.calls"),
    "unmeasured without a reason": (of_result(unmeasured=[["a"]]), "results[0].unmeasured[0]"),
    "no results": (lambda head, row, result: row["results"].clear(), "results must be 1"),
    "too many results": (
        lambda head, row, result: row["results"].append(result),
        "results must be 1, one per score, got 2",
    ),
    "results taken out": (lambda head, row, result: row.pop("results"), "results is missing"),
    "sample taken out": (lambda head, row, result: row.pop("sample"), "sample is missing"),
    "unknown field of a sample": (of_sample(colour="red"), "unknown field 'colour'"),
    "no retrieval": (
        lambda head, row, result: row["sample"].pop("retrieved_contexts"),
        "retrieved must be 0",
    ),
    "contexts taken out": (of_sample(retrieved_contexts=["a"]), "retrieved must be at most 1"),
    "metadata a list": (of_sample(metadata=[1]), "metadata: expected a mapping"),
    "two methods of one name": (
        lambda head, row, result: head["methods"].append(head["methods"][0]),
        "distinct names",
    ),
    "no methods": (lambda head, row, result: head["methods"].clear(), ":1: methods"),
    "a method without a name": (of_method(name=""), ":1: methods[0].name"),
    "another headline": (of_method(headline="precision"), "score must be 0.75"),
    "an unknown headline": (of_method(headline="luck"), ":1: headline: no measure 'luck'"),
    "version as text": (lambda head, row, result: head.update(version="3"), "has version '3'"),
}


class TestTampered:
    """A value no run gives is a `ReportError` that names line and field, and passes no gate."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        """Return the path of the saved report."""
        report().save(tmp_path / "report.jsonl")
        return tmp_path / "report.jsonl"

    def test_there_are_enough(self, path: Path) -> None:
        """There are at least 35 changes, and the unchanged report is read."""
        assert len(TAMPERED) >= 35
        assert len(Report.load(path)) == 2

    @pytest.mark.parametrize(("change", "message"), TAMPERED.values(), ids=TAMPERED.keys())
    def test_a_field_is_changed(self, path: Path, change: Change, message: str) -> None:
        """The error names the value, its field, and its line."""
        lines = path.read_text("utf-8").splitlines()
        head, row = json.loads(lines[0]), json.loads(lines[1])
        change(head, row, row["results"][0])
        path.write_text("\n".join([json.dumps(head), json.dumps(row), *lines[2:], ""]), "utf-8")
        self.refused(path, message)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ('"grade": 2.0', '"grade": NaN', ":2: NaN is not a JSON value"),
            ('"grade": 2.0', '"grade": 1e400', ":2: results[0].findings[1].grade must be a"),
            ('"grade": 2.0', f'"grade": 1{"0" * 5000}', ":2: "),
            ('["rivers", 1, null]', "1e400", ":2: sample.metadata.topic must be a value"),
            ('["rivers", 1, null]', "[" * 100_000 + "]" * 100_000, ":2: "),
            ('"window": 8', '"window": 1e400', ":1: methods[0].parameters.window"),
            ('"retrieved": 4', '"retrieved": 9, "retrieved": 4', ":2: retrieved must occur once"),
            ('"score": 0.6', '"score": 1.0, "score": 0.6', ":2: score must occur once"),
            ('"samples": 2', '"samples": 3', "has 2 samples, and its last line says 3"),
            ('"samples": 2', '"samples": -2', ":4: samples"),
            ('"stopped": null', '"stopped": 0', ":4: stopped"),
            ('"stopped": null', '"stopped": null, "x": 1', ":4: x is not a field"),
        ],
    )
    def test_a_text_is_changed(self, path: Path, old: str, new: str, message: str) -> None:
        """Invalid numbers, repeated names, and an end with a wrong count are refused."""
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), "utf-8")
        self.refused(path, message)

    @pytest.mark.parametrize("depth", [100, 300, 900, 990, 1_100, 5_000])
    def test_values_nested_deeply(self, path: Path, depth: int) -> None:
        """Deep values are read unchanged or refused, without the interpreter's recursion error."""
        text = path.read_text("utf-8")
        nested = "[" * depth + "]" * depth
        path.write_text(text.replace('["rivers", 1, null]', nested, 1), "utf-8")
        seal(path)
        try:
            loaded = Report.load(path)
        except ReportError as error:
            assert ":2: " in str(error)  # noqa: PT017 - which of the two depends on the interpreter
            assert depth > 300
        else:
            # Pythons from 3.12 on nest deeper than their recursion limit.
            assert json.dumps(loaded.rows[0].sample.metadata["topic"]) == nested
            assert depth < 1_100 or sys.version_info >= (3, 12)

    @pytest.mark.parametrize("head", ["{" * 100_000, "7", "null", "", '{"a": 1}', "[1, 2"])
    def test_a_wrong_head_is_a_report_error(self, path: Path, head: str) -> None:
        """A first line that is not a report's head is a `ReportError`, not a parser error."""
        path.write_text(head + "\n", "utf-8")
        self.refused(path, "is not a saved report")

    def refused(self, path: Path, message: str) -> None:
        """Fail unless loading raises an error with the file's name and this message."""
        with pytest.raises(ReportError) as caught:
            Report.load(path)
        told = str(caught.value)
        assert told.startswith(str(path))
        assert message in told
        assert len(told) < 900


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (of_result(score=1.0), r"results\[0\]\.score must be 0\.66.* got 1\.0"),
        (without("score"), r"results\[0\]\.score must be 0\.66.* got None"),
        (of_result(retrieved=5), r"results\[0\]\.retrieved must be at most 4"),
        (of_result(score=2 / 3 + 1e-12), None),
    ],
)
def test_a_row_without_a_file(change: Change, message: str | None) -> None:
    """A row that was passed on alone is checked too; its score may differ by rounding."""
    first = report()[0]
    plain = json.loads(json.dumps(plain_row(first.sample, first.results)))
    change({}, plain, plain["results"][0])
    methods = [result.method for result in first.results]
    if message is None:
        assert row_of(plain, methods) == (first.sample, first.results)
        return
    with pytest.raises(ReportError, match=message):
        row_of(plain, methods)


class Color(IntEnum):
    """An integer enum, which JSON keeps as an equal number."""

    RED = 1


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters())
    | st.sampled_from(["\ud83d", "\u2028", "\r\n", "\x00", "\x85", 10**300, -0.0, Color.RED]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
HOSTILE = st.sampled_from(
    [
        {1, 2},
        frozenset(),
        b"bytes",
        bytearray(b"x"),
        datetime(2026, 1, 1, tzinfo=UTC),
        (1, 2),
        float("nan"),
        float("inf"),
        Decimal("0.1"),
        10**5000,
        object(),
        {1: "a"},
        {(1, 2): "b"},
        {None: 1},
        {"deep": [{True: 0}]},
        [float("-inf")],
        1j,
        int,
        Path("x"),
    ]
)


def of_metadata(metadata: dict[str, Any], owner: str = "sample") -> Report:
    """Return a report whose sample, or a context of it, has this metadata."""
    plain, odd = Context("text", id="a"), Context("text", id="a", metadata=metadata)
    fields: dict[str, Any] = {
        "sample": {"metadata": metadata, "retrieved_contexts": [plain]},
        "context": {"retrieved_contexts": [odd]},
        "record": {"retrieval": Retrieval([odd])},
        "forbidden": {"retrieved_contexts": [plain], "forbidden_contexts": [odd]},
    }[owner]
    return evaluate([Sample(expected_ids=["a"], **fields)], IdRecall(), progress=False)


def saved(report: Report, path: Path, **options: Any) -> Report:
    """Return the report that loads after saving this one."""
    report.save(path, replace=True, **options)
    return Report.load(path)


class TestEqual:
    """A saved report loads equal, or `save` raises."""

    @settings(max_examples=30, deadline=None)
    @given(metadata=st.dictionaries(st.text(), PLAIN, max_size=4), place=st.sampled_from("sc"))
    def test_plain_metadata_comes_back(
        self, tmp_path_factory: pytest.TempPathFactory, metadata: dict[str, Any], place: str
    ) -> None:
        """Metadata of any JSON text, number, list, or mapping loads equal."""
        report = of_metadata(metadata, "sample" if place == "s" else "context")
        path = tmp_path_factory.getbasetemp() / "plain.jsonl"
        assert list(saved(report, path)) == list(report)

    @settings(max_examples=30, deadline=None)
    @given(
        value=HOSTILE,
        around=st.sampled_from([lambda v: v, lambda v: [v], lambda v: {"in": [1, v]}]),
        owner=st.sampled_from(["sample", "context", "record", "forbidden"]),
    )
    def test_other_metadata_is_refused(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        value: object,
        around: Callable[[object], object],
        owner: str,
    ) -> None:
        """The error names its field, the old file stays, and `default=str` saves it as text."""
        path = tmp_path_factory.getbasetemp() / "hostile.jsonl"
        report = of_metadata({"odd": around(value)}, owner)
        earlier = '{"kind": "fullrecall report"}'
        path.write_text(earlier)
        with pytest.raises(ReportError, match=r"metadata\.odd"):
            report.save(path, replace=True)
        assert path.read_text() == earlier
        if value != 10**5000:  # `default=str` fails too: Python does not write so many digits.
            again = saved(report, path, default=str)
            assert again.rows[0].results == report.rows[0].results
            assert list(saved(again, path)) == list(again)

    def test_keys_that_are_one_as_text_are_refused(self, tmp_path: Path) -> None:
        """Two keys that become one text are refused, so that `default` loses no value."""
        with pytest.raises(ReportError, match="keys that differ as text"):
            of_metadata({"odd": {1: "a", "1": "b"}}).save(tmp_path / "r.jsonl", default=str)

    @pytest.mark.parametrize("default", [lambda value: value, lambda value: 1 / 0])
    def test_a_default_that_fails_is_a_report_error(
        self, tmp_path: Path, default: Callable[[Any], Any]
    ) -> None:
        """A `default` that returns the object itself, or raises, is a `ReportError`."""
        with pytest.raises(ReportError, match=r"sample\.metadata|default must make"):
            of_metadata({"odd": {1}}).save(tmp_path / "r.jsonl", default=default)

    def test_lists_that_hold_themselves_are_refused(self, tmp_path: Path) -> None:
        """A list that contains itself is a `ReportError`, not a recursion error."""
        endless: list[object] = []
        endless.append(endless)
        with pytest.raises(ReportError, match="nested too deeply"):
            of_metadata({"odd": endless}).save(tmp_path / "r.jsonl")

    def test_parameters_that_json_changes_are_refused(self, tmp_path: Path) -> None:
        """A user's scorer may have any parameters; those that JSON would change are refused."""
        odd = Report([Method("mine", {"stop": ("a", "b")})])
        with pytest.raises(ReportError, match=r"mine\.parameters\.stop must be a value that JSON"):
            odd.save(tmp_path / "r.jsonl")

    def test_every_field_comes_back(self, tmp_path: Path) -> None:
        """Findings with evidence, usage, unmeasured claims, and the methods come back."""
        whole = report()
        loaded = saved(whole, tmp_path / "r.jsonl")
        assert list(loaded) == list(whole)
        assert loaded.methods == whole.methods
        assert loaded.summary().to_dict() == whole.summary().to_dict()

    def test_references_that_repeat_come_back(self, tmp_path: Path) -> None:
        """A report is not refused because its references repeat a text, an ID, or a passage."""
        text = "the Seine flows through Paris"
        sample = Sample(
            retrieved_contexts=[{"id": "a", "text": text, "source": "d", "start": 0, "end": 29}],
            reference_contexts=[text, text, [text, "other"], {"text": text, "id": "b"}],
            expected_ids=["a", "a", ["a", "b"], "a"],
            reference_claims=[text, text],
            reference_entities=["Seine", "Seine", "seine"],
        )
        scorers = [IdRecall(), TextRecall(), SpanRecall()]
        whole = evaluate([sample], scorers, progress=False)
        assert {row.results[n].status for row in whole for n in range(3)} == {Status.SCORED}
        assert list(saved(whole, tmp_path / "r.jsonl")) == list(whole)
