"""Missed targets are counted from columns, and their list is made when it is read."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.observe.calls import of_calls

from fullrecall import Context, IdRecall, Report, Sample, evaluate
from fullrecall.measures import tokens
from fullrecall.samples.calls import Call
from fullrecall.scorers.result import Status
from fullrecall.table.row import Row
from fullrecall.table.table import Table


def test_only_the_targets_that_are_read_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting makes no row of missed targets, and a slice makes only its own rows."""
    rows = [{"retrieved_ids": ["a"], "expected_ids": ["a", f"b{n}", "c"]} for n in range(300)]
    report = evaluate(rows, [IdRecall(), IdRecall(name="again")], progress=False)
    made: list[int] = []
    row_of = Table.row

    def counted(table: Table, row: int) -> Row:
        made.append(row)
        return row_of(table, row)

    monkeypatch.setattr(Table, "row", counted)
    missed = report.missed()
    assert (len(missed), made) == (1_200, [])
    assert [each.target for each in missed[2:6]] == ["b0", "c", "b1", "c"]
    assert set(made) == {0, 1}
    assert missed[-1] == list(missed)[-1] == missed[1_199]
    assert missed[::400] == [missed[0], missed[400], missed[800]]
    assert missed == list(missed) != missed[1:]
    assert str(missed).endswith(" and 1,180 more")


@pytest.mark.parametrize("name", ["r.jsonl", "r.parquet"])
def test_misses_of_a_file_are_those_in_memory(name: str, tmp_path: Path) -> None:
    """A report that is read from its file counts the same misses, from every position on."""
    samples = [
        Sample(id=str(n), retrieved_ids=["x", "a"], expected_ids=["a", "b", "c"][: n % 3 + 1])
        for n in range(60)
    ]
    report = evaluate(samples, [IdRecall(), IdRecall(name="again")], progress=False)
    report.save(tmp_path / name)
    opened = Report.open(tmp_path / name)
    for k, of_each in ((None, 60), (1, 120), (2, 60)):
        for score, scores in ((None, 2), ("again", 1)):
            missed = opened.missed(k, score=score)
            assert len(missed) == of_each * scores
    every = list(report.missed())
    missed = opened.missed()
    assert missed == every
    assert [missed[at] for at in (0, 1, 61, -1)] == [every[at] for at in (0, 1, 61, -1)]
    assert missed[100:103] == every[100:103]
    assert missed[-3::2] == every[-3::2]
    assert missed[5:2] == []


def test_unknown_costs_are_no_misses() -> None:
    """Within a budget of tokens, a sample whose tokens are unknown misses nothing."""
    contexts = [{"id": "x", "text": "1234"}, {"id": "a", "text": "1234"}]
    samples = [
        Sample(id="known", retrieved_contexts=contexts, expected_ids=["a"]),
        Sample(id="unknown", retrieved_ids=["x", "a"], expected_ids=["a"]),
        Sample(id="unscored", expected_ids=["a"]),
    ]
    missed = evaluate(samples, IdRecall(), progress=False).missed(tokens(1))
    assert [(each.sample, each.target, each.credit, each.rank) for each in missed] == [
        ("known", "a", 0.0, 2)
    ]
    assert len(missed) == 1
    assert evaluate(samples, IdRecall(), progress=False).missed(tokens(2)) == []
    assert (missed == "known", missed == {}, missed == 1) == (False, False, False)


def test_findings_of_an_unscored_result_are_no_misses() -> None:
    """An unscored result misses nothing, though it keeps the findings made before it failed."""
    scored = IdRecall().score(retrieved_ids=["x"], expected_ids=["a"])
    failed = replace(scored, method=replace(scored.method, name="failed"), status=Status.UNSCORED)
    row = Row(1, Sample(id="q"), (scored, failed))
    missed = Report.of([scored.method, failed.method], [row]).missed()
    assert [each.score for each in missed] == ["id_recall"]


def test_the_printed_misses() -> None:
    """Twenty misses are printed; the rest are counted."""
    rows = [{"id": str(n), "retrieved_ids": ["x"], "expected_ids": ["a"]} for n in range(21)]
    missed = [evaluate(rows[:n], IdRecall(), progress=False).missed() for n in (20, 21)]
    assert [repr(each).count("Missed(") for each in missed] == [20, 20]
    assert [repr(each)[-10:] for each in missed] == ["ank=None)]", "and 1 more"]


@pytest.mark.parametrize("rows_of_a_part", [1, 9])
def test_leaks(rows_of_a_part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forbidden contexts within k have their rank and step; all of an unanswerable question."""
    monkeypatch.setattr("fullrecall._util.pieces._LARGEST", rows_of_a_part)
    contexts = [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}]
    calls = [Call(f"search {name}", name, (Context("x", id=name),)) for name in "ab"]
    samples = [
        Sample(id="q", user_input="q?", retrieved_contexts=contexts, forbidden_ids=["b"]),
        Sample(retrieved_ids=["c", "d"], answerable=False),
        Sample(id="r", retrieved_ids=["a"], forbidden_ids=["b"]),
        Sample(id="s", retrieval=of_calls(calls), forbidden_ids=["b"]),
    ]
    report = evaluate(samples, IdRecall(), progress=False)
    assert [str(each) for each in report.leaked()] == [
        "q: b at rank 2",
        "#2: c at rank 1",
        "#2: d at rank 2",
        "s: b at rank 1 from search b",
    ]
    assert [each.id for each in report.leaked(1)] == ["c", "b"]
    assert report.leaked()[0].question == "q?"
