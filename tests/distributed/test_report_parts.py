"""A report as a directory of Parquet parts: the same report, whatever happens to its files."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from fullrecall import Context, Gate, IdRecall, Report, Sample, TextRecall, compare, evaluate
from fullrecall.diagnosis import diagnose
from fullrecall.distributed import alignment, dataset, manifest, parquet_part, stored_rows
from fullrecall.distributed.dataset import Writer, commit
from fullrecall.distributed.keys import keys_of
from fullrecall.distributed.manifest import Manifest
from fullrecall.distributed.parquet_part import write_part
from fullrecall.errors import ParameterError, ReportError
from fullrecall.findings import Evidence, Finding, Findings, Step, Target
from fullrecall.measures import AP, Hit, Measure, Recall, nDCG
from fullrecall.report import Runs
from fullrecall.report.page import selection
from fullrecall.report.row import Row
from fullrecall.result import Method, Result, Status
from fullrecall.retrieval import Call, Retrieval
from fullrecall.usage import Usage

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RUNS = int(os.environ.get("FULLRECALL_RUNS", "1"))
MEASURES = (Recall @ 3, nDCG @ 5, AP, Recall(min_grade=2))


class FirstLetter(Measure):
    """A measure that reads the names of targets."""

    text = "first_letter"

    def count(self, findings: Findings, retrieved: int) -> float:
        """Return the share of targets of which the name ends in 1."""
        del retrieved
        return sum(one.target.label.endswith("1") for one in findings) / len(findings)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few hundred rows go through what millions do: many parts, row groups, splits and files."""
    monkeypatch.setattr(dataset, "GROUP", 37)
    monkeypatch.setattr(parquet_part, "GROUP", 17)
    monkeypatch.setattr(alignment, "_SPILLED", 50)
    monkeypatch.setattr(alignment, "_GATHERED", 40)
    monkeypatch.setattr(stored_rows, "_MOST_EQUAL", 20)
    monkeypatch.setattr(stored_rows, "_MOST_GROUPS", 30)


def samples(rng: random.Random, size: int, *, repeats: float, groups: float) -> list[Sample]:
    """Return samples with and without lists, references, grades, texts, groups, repeated IDs."""
    made = []
    for n in range(size):
        ids = [f"d{rng.randrange(40)}" for _ in range(rng.randrange(8))]
        references = [f"d{rng.randrange(40)}" for _ in range(rng.randrange(4))]
        given: dict[str, Any] = {
            "id": f"q{rng.randrange(size) if rng.random() < repeats else n}",
            "user_input": f"what {n}?",
            "metadata": {"kind": rng.choice("abc"), "deep": {"er": rng.choice([1, True])}},
            "reference_context_ids": references
            if rng.random() < 0.5
            else {one: rng.choice([1, 2.5]) for one in references},
        }
        if rng.random() < 0.9:
            given["retrieved_context_ids"] = ids
        elif rng.random() < 0.5:
            given["retrieved_contexts"] = [Context(f"text {one}", id=one) for one in ids]
        if rng.random() < groups:
            given["group"] = f"g{rng.randrange(size // 3)}"
        made.append(Sample(**given))
    return made


def again(rng: random.Random, given: Sample, *, other_targets: float) -> Sample:
    """Return a sample as another run has it."""
    plain = given.to_dict()
    plain.pop("retrieved_contexts", None)
    if rng.random() < 0.7:
        plain["retrieved_context_ids"] = [f"d{rng.randrange(40)}" for _ in range(rng.randrange(8))]
    if rng.random() < other_targets:
        plain["reference_context_ids"] = [f"d{rng.randrange(40)}" for _ in range(rng.randrange(4))]
    return Sample(**plain)


def run(given: list[Sample]) -> Report:
    """Return the report of some samples."""
    return evaluate(given, [IdRecall(), TextRecall()], progress=False)


def test_scores_as_arrow_batches(tmp_path: Path) -> None:
    """The columns of `to_frame`, some rows at a time, from either form."""
    report = run(samples(random.Random(1), 60, repeats=0, groups=0.1))
    table = report.to_arrow(Recall @ 3).read_all()
    assert table.equals(stored(report, tmp_path / "r.parquet").to_arrow(Recall @ 3).read_all())
    assert table.column_names == list(report.to_frame(Recall @ 3).columns)
    assert table["id_recall@3"].to_pylist() == [row.results[0][Recall @ 3] for row in report]
    assert str(table.schema.field("id_recall@3").type) == "double"


def stored(report: Report, path: Path) -> Report:
    """Return a report as it is opened from a directory."""
    report.save(path)
    return Report.open(path)


@pytest.mark.parametrize("seed", range(RUNS))
@pytest.mark.parametrize(("repeats", "groups"), [(0, 0), (0.2, 0), (0, 0.6), (0.2, 0.6)])
def test_both_forms_are_the_same_report(
    tmp_path: Path, seed: int, repeats: float, groups: float
) -> None:
    """Whatever is asked of a report, its directory answers as its file does."""
    report = run(samples(random.Random(seed), 90, repeats=repeats, groups=groups))
    parts = stored(report, tmp_path / "report.parquet")
    assert len(list(tmp_path.glob("report.parquet/*.parquet"))) > 2
    assert list(parts) == list(report) == list(Report.load(tmp_path / "report.parquet"))
    assert parts[7] == report[7]
    assert list(parts[-3:]) == list(report[-3:])
    assert parts.groups == report.groups
    assert parts.summary().to_dict() == report.summary().to_dict()
    assert parts.summary(*MEASURES).to_dict() == report.summary(*MEASURES).to_dict()
    assert parts.summary(FirstLetter()).to_dict() == report.summary(FirstLetter()).to_dict()
    assert parts.metrics() == report.metrics()
    if not repeats:
        assert Report.of_totals([parts.totals()]).metrics() == report.metrics()
    missed, expected = parts.missed(2), report.missed(2)
    assert list(missed) == expected
    assert list(missed) == expected, "each pass reads anew"
    assert len(missed) == len(expected)
    assert missed[:3] == expected[:3]
    for place in {0, len(expected) // 2, -1} if expected else ():
        assert missed[place] == expected[place]
    with pytest.raises(IndexError, match=f"there are {len(expected):,}"):
        missed[len(expected)]
    for by in ("kind", "deep.er", lambda row: len(row.results), *(["group"] if groups else [])):
        assert parts.slices(by, score="id_recall") == report.slices(by, score="id_recall")
    for target in (0.02, 0.9):
        asked = {"score": "id_recall", "measure": Hit}
        assert parts.smallest_k(target, **asked) == report.smallest_k(target, **asked)
    assert parts.to_csv() == report.to_csv()
    assert diagnose(parts).to_dict() == diagnose(report).to_dict()
    rules = (Recall @ 3 >= 0.05, nDCG >= 0.6)
    assert Gate(*rules, scores=["id_recall"]).check(parts) == Gate(
        *rules, scores=["id_recall"]
    ).check(report)


@pytest.mark.parametrize("seed", range(RUNS))
@pytest.mark.parametrize(
    ("groups", "other_targets", "shuffled"),
    [(0, 0, False), (0, 0, True), (0.5, 0.3, True), (0.5, 0.3, False)],
)
def test_both_forms_compare_alike(
    tmp_path: Path, seed: int, groups: float, other_targets: float, *, shuffled: bool
) -> None:
    """A join says what the pairs in memory say, in any order, with targets that differ."""
    rng = random.Random(seed)
    given = samples(rng, 100, repeats=0, groups=groups)
    second = [again(rng, one, other_targets=other_targets) for one in given if rng.random() < 0.9]
    second += [Sample(**{**given[0].to_dict(), "id": f"new {n}"}) for n in range(3)]
    if shuffled:
        rng.shuffle(second)
    before, after = (evaluate(each, IdRecall(), progress=False) for each in (given, second))
    opened = stored(before, tmp_path / "before.parquet"), stored(after, tmp_path / "after.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the new ones ask what another one asks
        for measures in ((), (nDCG @ 5, Recall(zero_division=0.0), FirstLetter())):
            small = compare(before, after, *measures, margin=0.05, resamples=199)
            for pair in (opened, (before, opened[1]), (opened[0], after))[: 3 if measures else 1]:
                large = compare(*pair, *measures, margin=0.05, resamples=199)
                assert large.to_dict() == small.to_dict()
                assert str(large) == str(small)
            assert list(large.rows) == list(small.rows)
            assert large.pairs[5] == small.pairs[5]
            assert list(large.only_after) == list(small.only_after)
        for gate in (
            Gate(Recall @ 3 >= 0.05, margin=0.1),
            Gate(nDCG @ 5, margin=0.02, min_coverage=0.3),
        ):
            assert gate.check(opened[1], opened[0]) == gate.check(after, before)


def test_samples_without_ids_are_paired_by_position(tmp_path: Path) -> None:
    """As in memory: other questions, other lengths and IDs on some of them are refused."""

    def made(count: int, question: str = "q", name: str | None = None) -> Report:
        given = [
            Sample(user_input=question, retrieved_context_ids=["a"], reference_context_ids=["a"])
            for _ in range(count)
        ]
        if name is not None:
            given += [Sample(id=name, retrieved_context_ids=["b"], reference_context_ids=["a"])]
        return evaluate(given, IdRecall(), progress=False)

    for nth, (before, after) in enumerate([
        (made(60), made(60)),
        (made(60), made(59)),
        (made(60), made(60, "other")),
        (made(60, name="x"), made(60)),
        (made(0, name="x"), made(0, name="y")),
    ]):  # fmt: skip
        opened = [
            stored(each, tmp_path / f"{nth}{which}.parquet")
            for which, each in (("b", before), ("a", after))
        ]
        assert said(compare, *opened) == said(compare, before, after)


def said(act: Callable[..., Any], *given: Any) -> str:
    """Return what an act returns, or the error that it raises."""
    try:
        return str(act(*given).to_dict())
    except ReportError as error:
        return str(error)


def test_an_id_that_stands_twice_is_not_compared(tmp_path: Path) -> None:
    """A join over repeated IDs would pair what does not belong together."""
    report = run(samples(random.Random(1), 150, repeats=0.3, groups=0))
    opened = stored(report, tmp_path / "r.parquet")
    assert "appears twice" in said(compare, opened, opened)
    assert said(compare, opened, opened) == said(compare, report, report)


def odd_rows() -> tuple[list[Method], list[Row]]:
    """Return rows with all that a result can hold."""
    methods = [Method("judged", {"judge": "x"}), Method("a.b_score"), Method("a.b")]
    finding = Finding(
        Target(("a claim", "another"), 2.0, 3.5),
        (Step(1, 0.25), Step(3, 1.0)),
        (1, 2, 3),
        (Evidence(1, 0, 4, quote="text", verified=True), Evidence(3, similarity=0.5)),
        "supported",
        0.75,
        "nli",
        0.25,
        "asked apart",
    )
    calls = tuple(
        Call(source=name, contexts=[Context(f"{name}{n}") for n in range(2)]) for name in "xy"
    )
    united = Sample(id="1", user_input="half \ud83d an emoji", retrieval=Retrieval.of_calls(calls))
    judged = Result(
        methods[0], Status.SCORED, (finding,), 4, "cut at 3", (("lost", "no reply"),),
        Usage(1, 20, 3), (1, 1, 2, 2),
    )  # fmt: skip
    plain = Result(
        methods[1], Status.SCORED, (Finding(Target(("x",)), (), ()),), 4, "half \ud83d a note"
    )
    none = Result(methods[2], Status.UNSCORED, (), 0, "a reason")
    undefined = Result(methods[2], Status.UNDEFINED, (), 0, "no targets")
    lists = Sample(
        id="2", retrieved_context_ids=["a", None], reference_context_ids=["z", "", "z"],
        reference_claims=["c"], metadata={"n": [1, {"m": None}]},
    )  # fmt: skip
    derived = Result(
        methods[1], Status.SCORED, (Finding(Target(("z",)), (Step(2, 1.0),), (2,)),), 2
    )
    rows = [
        Row(1, united, (judged, plain, none)),
        Row(2, lists, (replace(judged, findings=(finding._replace(steps=(), ranks=(),
            evidence=()),), retrieved=2, ranks=None), derived, undefined)),
    ]  # fmt: skip
    return methods, rows


def test_all_that_a_result_can_hold_comes_back(tmp_path: Path) -> None:
    """Evidence, alternatives, united lists, usage, reasons, half an emoji: nothing is lost."""
    report = Report.of(*odd_rows())
    report.stopped = "a budget"
    opened = stored(report, tmp_path / "r.parquet")
    assert list(opened) == list(report)
    assert opened.stopped == "a budget"
    assert opened.summary().to_dict() == report.summary().to_dict()
    opened.save(tmp_path / "back.jsonl")
    report.save(tmp_path / "r.jsonl")
    assert (tmp_path / "back.jsonl").read_bytes() == (tmp_path / "r.jsonl").read_bytes()
    assert list(stored(Report.load(tmp_path / "r.jsonl"), tmp_path / "again.parquet")) == list(
        report
    )


def test_an_empty_report_is_one(tmp_path: Path) -> None:
    """No sample at all is saved and opened, in a directory that ends in a slash too."""
    report = Report([IdRecall().method])
    report.save(f"{tmp_path}/empty/")
    opened = Report.open(tmp_path / "empty")
    assert len(opened) == 0
    assert opened.complete
    assert opened.summary().to_dict() == report.summary().to_dict()


def test_a_row_is_found_by_its_id(tmp_path: Path) -> None:
    """By its label or by its place; what is not there is refused as in memory."""
    given = samples(random.Random(4), 60, repeats=0, groups=0)
    report = run([*given, replace_id(given[3], None), given[5]])
    opened = stored(report, tmp_path / "r.parquet")
    assert opened["q7"] == report["q7"]
    assert opened["#61"] == report["#61"]
    for wrong in ("q5", "q99", "#3"):
        told = []
        for each in (opened, report):
            with pytest.raises(KeyError) as caught:
                each[wrong]
            told.append(str(caught.value))
        assert told[0] == told[1]
    with pytest.raises(ReportError, match="read from its directory"):
        opened.add(report[0])
    with pytest.raises(ParameterError, match="n must be a whole number"):
        opened.drawn(0)
    assert list(opened.drawn(10, seed=3)) == list(report.drawn(10, seed=3))
    assert len(opened.filter(lambda row: row.sample.id == "q5")) == 2


def replace_id(sample: Sample, name: str | None) -> Sample:
    """Return a sample under another ID."""
    return Sample(**{**sample.to_dict(), "id": name})


# ---- Files that are not what was written.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved report of several parts."""
    path = tmp_path / "report.parquet"
    run(samples(random.Random(2), 200, repeats=0, groups=0.3)).save(path)
    return path


def parts_of(folder: Path) -> list[Path]:
    """Return the parts of a report, in their order."""
    return [folder / one.file for one in manifest.read(folder).parts]


def edited(folder: Path, change: Callable[[dict[str, list[Any]]], Any]) -> Path:
    """Change the columns of the second part, and have the manifest believe it."""
    path, old = parts_of(folder)[1], manifest.read(folder)
    table = pq.read_table(path)
    given = table.to_pydict()
    change(given)
    made = pa.table(given, schema=table.schema)
    pq.write_table(made, path)
    believe(folder, old, path)
    return path


def believe(folder: Path, old: Manifest, path: Path) -> None:
    """Put the digest of a file into the manifest, as whoever edits all of it can."""
    from hashlib import blake2b

    parts = [
        one
        if one.file != path.name
        else one.model_copy(
            update={
                "bytes": path.stat().st_size,
                "digest": blake2b(path.read_bytes(), digest_size=16).hexdigest(),
            }
        )
        for one in old.parts
    ]
    Manifest.of(old.as_methods, parts).write(folder)


def put(column: str, row: int, value: Any) -> Callable[[dict[str, list[Any]]], None]:
    """Return what puts a value into a cell."""

    def change(given: dict[str, list[Any]]) -> None:
        given[column][row] = value

    return change


def first_scored(given: dict[str, list[Any]]) -> int:
    """Return the first row with a score that is not 0."""
    return next(n for n, score in enumerate(given["id_recall_score"]) if score)


def wrong_score(given: dict[str, list[Any]]) -> None:
    """Raise a score over what its findings give."""
    given["id_recall_score"][first_scored(given)] = 0.123


def wrong_rank(given: dict[str, list[Any]]) -> None:
    """Have a target found beyond the last rank."""
    row = first_scored(given)
    retrieved, ranks, findings = json.loads(given["id_recall_found"][row])
    given["id_recall_found"][row] = json.dumps([retrieved, ranks, [[99]] * len(findings)])


def wrong_credit(given: dict[str, list[Any]]) -> None:
    """Give a credit above 1."""
    row = first_scored(given)
    retrieved, ranks, findings = json.loads(given["id_recall_found"][row])
    finding = {"ranks": [1], "steps": [[1, 1.5]]}
    given["id_recall_found"][row] = json.dumps([retrieved, ranks, [finding] * len(findings)])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (wrong_score, "id_recall_score"),
        (wrong_rank, "id_recall_found"),
        (wrong_credit, "id_recall_found"),
        (put("id_recall_status", 4, "perfect"), "id_recall_found"),
        (put("id_recall_status", 4, None), "id_recall_status"),
        (put("id_recall_found", 4, "{"), "id_recall_found"),
        (put("id_recall_found", 4, None), "id_recall_found"),
    ],
)
def test_values_that_no_run_gives_are_not_read(
    folder: Path, change: Callable[[dict[str, list[Any]]], Any], field: str
) -> None:
    """Also where the digest was made to fit: the error names file, row and column."""
    path = edited(folder, change)
    for act in (
        lambda report: report.summary(),
        lambda report: Gate(Recall >= 0.0, scores=["id_recall"]).check(report),
        lambda report: compare(report, report),
        list,
        lambda report: report.missed() and list(report.missed()),
        lambda report: report.to_html(),
    ):
        with pytest.raises(ReportError) as caught:
            act(Report.open(folder))
        message = str(caught.value)
        assert message.startswith(f"{path}: row "), message
        assert field in message or "results[0]" in message, message
    with pytest.raises(ReportError, match=f"{path.name}: row "):
        Report.load(folder)


@pytest.mark.parametrize(
    ("column", "value", "named"),
    [
        ("retrieved_context_ids", ["x"], "retrieved must be at most 1"),
        ("metadata", "[]", "metadata must be a JSON object"),
        ("rest", "{", "rest must be a JSON object"),
        ("id_recall_targets", 7, "targets must be"),
    ],
)
def test_wrong_samples_are_not_read(folder: Path, column: str, value: Any, named: str) -> None:
    """What no measure reads is checked when a row is."""

    def change(given: dict[str, list[Any]]) -> None:
        row = first_scored(given)
        while column == "retrieved_context_ids" and len(given[column][row] or ()) < 2:
            row += 1
        given[column][row] = value

    path = edited(folder, change)
    with pytest.raises(ReportError, match=f"{path.name}: row .*{named}"):
        list(Report.open(folder))


def test_a_flipped_byte_is_found(folder: Path) -> None:
    """Anywhere in any part, before anything of it is believed."""
    path = parts_of(folder)[1]
    content = path.read_bytes()
    for place in range(0, len(content), max(1, len(content) // 40)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x40]) + content[place + 1 :])
        for act in (
            lambda report: Gate(Recall >= 0.0, scores=["id_recall"]).check(report),
            lambda report: report["q3"],
        ):
            with pytest.raises(ReportError, match=path.name):
                act(Report.open(folder))
    path.write_bytes(content)
    assert Report.open(folder).summary()


def test_an_edited_part_names_row_and_field(folder: Path) -> None:
    """Where its values cannot be, the row is named; else that the file is another one."""
    path = parts_of(folder)[1]
    table = pq.read_table(path)
    given = table.to_pydict()
    wrong_score(given)
    row = first_scored(table.to_pydict())
    pq.write_table(pa.table(given, schema=table.schema), path)
    adjust(folder, path)
    with pytest.raises(ReportError, match=rf"{path.name}: row {row + 1}: .*score must be"):
        Report.open(folder).summary()
    given = table.to_pydict()
    given["user_input"][0] = "what else?"
    pq.write_table(pa.table(given, schema=table.schema), path)
    adjust(folder, path)
    with pytest.raises(ReportError, match=f"{path.name} is not the file that was written"):
        Report.open(folder).summary()


def adjust(folder: Path, path: Path) -> None:
    """Have the manifest believe the size of a file, and nothing else."""
    old = manifest.read(folder)
    parts = [
        one.model_copy(update={"bytes": path.stat().st_size}) if one.file == path.name else one
        for one in old.parts
    ]
    Manifest.of(old.as_methods, parts).write(folder)


def test_a_part_that_is_gone_cut_or_moved_is_said(folder: Path) -> None:
    """A missing part, half of one, one in the place of another: the file is named."""
    one, two = parts_of(folder)[:2]
    first, second = one.read_bytes(), two.read_bytes()
    two.unlink()
    with pytest.raises(ReportError, match=f"{two.name} is missing, with 37 samples"):
        Report.open(folder)
    two.write_bytes(second[: len(second) // 2])
    with pytest.raises(ReportError, match=f"{two.name} must have {len(second):,} bytes"):
        Report.open(folder)
    two.write_bytes(first)
    one.write_bytes(second)
    with pytest.raises(ReportError, match=f"{one.name} "):
        Report.open(folder).summary()
    old = manifest.read(folder)
    sizes = [{"bytes": each.bytes, "digest": each.digest} for each in old.parts[:2]]
    swapped = [each.model_copy(update=of) for each, of in zip(old.parts, sizes[::-1], strict=False)]
    Manifest.of(old.as_methods, [*swapped, *old.parts[2:]]).write(folder)
    with pytest.raises(ReportError, match=r"must be part '000000' .*, got part '000001'"):
        Report.open(folder).summary()


def test_a_part_of_another_scorer_is_refused(folder: Path, tmp_path: Path) -> None:
    """Rows that were scored in another way are not mixed in, whatever the manifest says."""
    own = parts_of(folder)[1]
    other = evaluate(
        samples(random.Random(2), 40, repeats=0, groups=0),
        [IdRecall(name="id_recall"), TextRecall(threshold=0.9)],
        progress=False,
    )
    with Writer(tmp_path / "other.parquet", other.methods) as writer:
        for row in [*other][:37] * 2:
            writer.write(row)
    own.write_bytes(parts_of(tmp_path / "other.parquet")[1].read_bytes())
    believe(folder, manifest.read(folder), own)
    with pytest.raises(ReportError, match=f"{own.name} was scored in another way"):
        Report.open(folder).summary()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plain: plain["parts"].append(plain["parts"][0]), "stands 2"),
        (lambda plain: plain["parts"][0].update(file="../x"), "must be a name in this directory"),
        (lambda plain: plain.update(samples=7), "samples must be 200"),
        (lambda plain: plain.update(version=9), "version 9"),
        (lambda plain: plain.update(kind="x"), "is not the manifest"),
        (lambda plain: plain.pop("end"), "end is missing"),
        (lambda plain: plain["parts"][0].update(rows=-1), "rows must be"),
        (lambda plain: plain["methods"].clear(), "methods"),
    ],
)
def test_a_manifest_that_no_run_writes_is_not_read(
    folder: Path, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    """A part twice, counts that do not add up, a file elsewhere: refused, with a digest or not."""
    path = folder / manifest.NAME
    plain = json.loads(path.read_text())
    del plain["digest"]
    change(plain)
    path.write_text(json.dumps({**plain, "digest": manifest._digest(plain)}))
    with pytest.raises(ReportError, match=f"{manifest.NAME}: .*{message}"):
        Report.open(folder)
    path.write_text(json.dumps({**plain, "digest": "0" * 32}))
    with pytest.raises(ReportError, match=manifest.NAME):
        Report.open(folder)


def test_an_edited_manifest_is_not_read(folder: Path) -> None:
    """Any edit is seen: that a stopped run was complete, or a half of the text."""
    path = folder / manifest.NAME
    text = path.read_text()
    path.write_text(text.replace('"stopped": null', '"stopped": "a budget"'))
    with pytest.raises(ReportError, match="was edited"):
        Report.open(folder)
    for wrong in (text[: len(text) // 2], "", "[]", text.replace('"end"', '"samples"', 1)):
        path.write_text(wrong)
        with pytest.raises(ReportError, match=manifest.NAME):
            Report.open(folder)
    path.unlink()
    with pytest.raises(ReportError, match="has no manifest"):
        Report.open(folder)


# ---- Writing.


def test_what_is_killed_leaves_the_old_report(folder: Path) -> None:
    """An error half way through a save keeps what was there, and no file of its own."""
    there = sorted(folder.iterdir())
    old = list(Report.load(folder))
    broken = [*old[:100], replace(old[100], sample=Sample(metadata={"odd": {1, 2}}))]
    with pytest.raises(ReportError, match="odd"):
        Report.of(Report.open(folder).methods, broken).save(folder)
    assert sorted(folder.iterdir()) == there
    assert list(Report.open(folder)) == old
    Report.of(Report.open(folder).methods, old[:50]).save(folder)
    assert list(Report.open(folder)) == old[:50]
    assert len(list(folder.iterdir())) == 1 + 2


def test_a_run_that_goes_on_says_so(tmp_path: Path, folder: Path) -> None:
    """Whole parts can be read while the rest comes; the gate cannot tell."""
    rows = list(Report.load(folder))
    writer = Writer(tmp_path / "going", Report.open(folder).methods)
    with writer:
        assert len(Report.open(tmp_path / "going")) == 0
        for row in rows[:80]:
            writer.write(row)
        going = Report.open(tmp_path / "going")
        assert list(going) == rows[:74]
        assert not going.complete
        (check,) = Gate(Recall >= 0.0, scores=["id_recall"]).check(going).checks
        assert "killed or is still running" in check.reason
    whole = Report.open(tmp_path / "going")
    assert list(whole) == rows[:80]
    second = Writer(tmp_path / "going", whole.methods)
    with suppress(RuntimeError), second:
        second.write(rows[0])
        raise RuntimeError("no more")
    ended = Report.open(tmp_path / "going")
    assert list(ended) == rows[:1]
    assert "no more" in str(ended.stopped)


_SAVING = """
import sys
from fullrecall import Report
from fullrecall.distributed import dataset
dataset.GROUP = 5
new = Report.load(sys.argv[1])
print("ready", flush=True)
while True:
    new.save(sys.argv[2])
"""


def test_a_killed_save_leaves_a_whole_report(tmp_path: Path, folder: Path) -> None:
    """Whenever it is killed, what is there is the one report or the other, and is read."""
    report = Report.load(folder)
    other = Report.of(report.methods, list(report)[:60])
    other.save(tmp_path / "other.jsonl")
    command = [sys.executable, "-c", _SAVING, str(tmp_path / "other.jsonl"), str(folder)]
    for pause in (0.0, 0.013, 0.031)[: 1 + RUNS]:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            sleep(pause)
            process.send_signal(signal.SIGKILL)
        assert list(Report.open(folder)) in (list(report), list(other))
    report.save(folder)
    assert len(list(folder.iterdir())) == 1 + 6  # nothing is left of what was killed


def test_a_directory_with_other_files_is_left_alone(tmp_path: Path, folder: Path) -> None:
    """Nothing is written into, or removed from, a directory that is not a report's."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(ReportError, match="has other files"):
        Report.open(folder).save(tmp_path / "mine")
    (tmp_path / "data.parquet").write_text("x")
    with pytest.raises(ReportError, match="is a file"):
        Report.open(folder).save(tmp_path / "data.parquet")
    with pytest.raises(ReportError, match="is a file"):
        Report.open(tmp_path / "data.parquet")


def test_parts_of_workers_count_once(tmp_path: Path, folder: Path) -> None:
    """A part that came twice counts once, a missing one is named, a foreign one is refused."""
    report = Report.load(folder)
    rows, path = list(report), tmp_path / "job"
    path.mkdir()
    made = [
        write_part(path, str(n), report.methods, rows[50 * n : 50 * n + 50])
        for n in (2, 0, 1, 1, 3)
    ]
    expected = ["0", "1", "2", "3"]
    commit(path, report.methods, made, expected=expected)
    whole = Report.open(path)
    assert [replace(row, position=0) for row in whole] == [replace(r, position=0) for r in rows]
    assert whole.summary().to_dict() == report.summary().to_dict()
    assert len(list(path.glob("*.parquet"))) == 4
    commit(path, report.methods, [one for one in made if one.id != "1"], expected=expected)
    lacking = Report.open(path)
    assert len(lacking) == 150
    assert lacking.stopped == "1 of its 4 parts did not come: 1"
    with pytest.raises(ReportError, match="part '3' is not expected"):
        commit(path, report.methods, made, expected=["0", "1", "2"])


# ---- Pages of many samples.


def test_the_page_of_many_says_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of the samples are in it, the figures are of all; both forms give the same page."""
    report = run(samples(random.Random(3), 150, repeats=0, groups=0.2))
    opened = stored(report, tmp_path / "r.parquet")
    assert opened.to_html() == report.to_html()
    assert "The table below holds" not in report.to_html()
    for module in (selection, import_module("fullrecall.report.page.comparison_page")):
        monkeypatch.setattr(module, "MOST_ROWS", 100)
        monkeypatch.setattr(module, "LOWEST", 20)
    monkeypatch.setattr(selection, "DRAWN", 10)
    monkeypatch.setattr(selection, "UNSCORED", 3)
    page = opened.to_html()
    assert page == report.to_html()
    failing = {one.sample for one in report.missed()}
    assert f"of 150: the 20 lowest of the {len(failing):,} that miss something" in page
    assert "10 more of these, drawn at random, 3 of the" in page
    assert f'id="failing-samples">{len(failing):,}</b>' in page
    changed = run([again(random.Random(5), row.sample, other_targets=0) for row in report])
    said = compare(report, changed).to_html()
    assert said == compare(opened, stored(changed, tmp_path / "c.parquet")).to_html()
    assert "of 150 that both reports have" in said
    assert "drawn at random" not in said
    turned = [
        any(result.missed for result in row.results) if scored(row) else None
        for row in (*report, *changed)
    ]
    both = list(zip(turned[:150], turned[150:], strict=True))
    assert f'id="newly-samples">{both.count((False, True)):,}</b>' in said
    assert f'id="mended-samples">{both.count((True, False)):,}</span>' in said
    assert f'id="still-samples">{both.count((True, True)):,}</span>' in said
    monkeypatch.setattr(import_module("fullrecall.report.page.comparison_page"), "MOST_TURNED", 50)
    drawn = compare(report, changed).to_html()
    assert drawn == compare(opened, stored(changed, tmp_path / "d.parquet")).to_html()
    assert "What fails now, was mended or still fails is of 50 drawn at random." in drawn


def scored(row: Row) -> bool:
    """Whether any score of a row has a value."""
    return any(result.score is not None for result in row.results)


def test_several_runs_stand_beside_each_other(tmp_path: Path) -> None:
    """Runs of either form give the same page, with every sample of each."""
    report = run(samples(random.Random(3), 40, repeats=0, groups=0))
    opened = stored(report, tmp_path / "r.parquet")
    runs, same = ({"a": one, "b": one, "c": one} for one in (report, opened))
    assert Runs(same).to_html() == Runs(runs).to_html()


def test_a_diagnosis_of_many_is_of_some(tmp_path: Path) -> None:
    """Of a report in parts so many samples are diagnosed, and that is said."""
    report = run(samples(random.Random(3), 120, repeats=0, groups=0))
    opened = stored(report, tmp_path / "r.parquet")
    some = diagnose(opened, at_most=50)
    assert (some.samples, some.drawn_from) == (50, 120)
    assert "50 samples drawn at random of 120" in str(some)
    assert some.to_dict() | {"drawn_from": 50} == diagnose(report.drawn(50)).to_dict()


def test_keys_are_of_the_text_alone() -> None:
    """Whatever stands beside a text, long or short, it has one key; texts differ in theirs."""
    rng = random.Random(1)
    texts = ["", "a", "a\0", "a\0\0", "é" * 40, "x" * 64, "x" * 65, "x" * 63 + "\0", "x" * 500]
    texts += ["".join(rng.choices("ab", k=rng.randrange(30))) for _ in range(2_000)]
    distinct = list(dict.fromkeys(texts))
    together = keys_of(pa.array(distinct)).tolist()
    assert len(set(together)) == len(distinct)
    assert [int(keys_of(pa.array([text]))[0]) for text in distinct] == together
    assert keys_of(pa.array([None, *distinct])[1:]).tolist() == together
    assert int(keys_of(pa.array([None], pa.string()))[0]) == 0
    assert keys_of(pa.array(distinct), seed=1).tolist() != together


def test_ids_that_share_a_key_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that collide are no IDs that repeat, and pair nothing that differs."""

    def few(texts: Any, seed: int = 0) -> Any:
        keys = keys_of(texts, seed)
        return keys if seed else keys % 40

    report = run(samples(random.Random(6), 80, repeats=0, groups=0))
    opened = stored(report, tmp_path / "r.parquet")
    monkeypatch.setattr(stored_rows, "keys_of", few)
    assert opened.groups == report.groups
    assert compare(opened, opened).to_dict() == compare(report, report).to_dict()
