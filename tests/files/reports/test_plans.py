"""A job's files make one report with each row once, in any order, and the missing rows named."""

from __future__ import annotations

import json
import random
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.files.reports import made

from fullrecall import Context, IdRecall, Report, Sample, evaluate
from fullrecall.errors import ReportError
from fullrecall.measures import Recall
from fullrecall.samples.retrieval import Retrieval
from fullrecall.table.row import Row

pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")

ROWS = 400


def rows(count: int = ROWS) -> list[dict[str, Any]]:
    """Return numbered samples of IDs, with a column of the user's own."""
    rng = random.Random(3)
    return [
        {
            "row": n,
            "id": f"q{n}",
            "tenant": "ab"[n % 2],
            "retrieved_ids": [f"d{rng.randrange(20)}" for _ in range(5)],
            "expected_ids": [f"d{rng.randrange(20)}" for _ in range(2)],
        }
        for n in range(count)
    ]


def plain() -> Report:
    """Return the report of one run in memory."""
    given = [{k: v for k, v in row.items() if k not in {"row", "tenant"}} for row in rows()]
    return evaluate(given, IdRecall(), progress=False)


def write(path: Path, some: list[dict[str, Any]]) -> Path:
    """Write the scores of these rows to a Parquet file, as an engine would."""
    from fullrecall import BatchScorer

    scores = BatchScorer(IdRecall(), position="row")(pa.Table.from_pylist(some))
    pq.write_table(scores, path)
    return path


def as_plain(report: Report) -> list[Row]:
    """Return the rows without the user's own columns."""
    expected = list(plain())
    return [
        Row(row.position, expected[row.position - 1].sample, row.results)
        if row.sample.id == expected[row.position - 1].sample.id
        else row
        for row in report
    ]


@pytest.mark.rooms
def test_parts_in_any_order(tmp_path: Path) -> None:
    """Rows are in the order of their numbers; the user's columns are metadata for slices."""
    every = rows()
    parts = [write(tmp_path / f"{n}.parquet", every[n::4]) for n in range(4)]
    shuffled = every[:]
    random.Random(1).shuffle(shuffled)
    for paths in (parts, parts[::-1], [tmp_path], [write(tmp_path.parent / "s.parquet", shuffled)]):
        report = Report.open(paths, rows=ROWS)
        assert report.complete
        assert as_plain(report) == list(plain())
        assert report.summary().to_dict() == plain().summary().to_dict()
        assert report.values(Recall @ 2).tolist() == plain().values(Recall @ 2).tolist()
        assert report[3].sample.metadata["tenant"] == "b"
    assert [one.value for one in report.slices("tenant")] == ["a", "b"]


@pytest.mark.rooms
def test_a_part_twice_counts_once(tmp_path: Path) -> None:
    """A repeated row counts once, also if the parts overlap only in some rows."""
    every = rows()
    paths = [
        write(tmp_path / "a.parquet", every[:200]),
        write(tmp_path / "a2.parquet", every[:200]),
        write(tmp_path / "b.parquet", every[150:300]),
        write(tmp_path / "c.parquet", every[250:]),
    ]
    for order in list(permutations(paths))[::5]:
        report = Report.open(order, rows=ROWS)
        assert report.complete
        assert report.summary().to_dict() == plain().summary().to_dict()
        assert report.table.ids == plain().table.ids


@pytest.mark.rooms
def test_missing_rows_are_told_by_number(tmp_path: Path) -> None:
    """The plan's missing rows are named; without a plan, the gaps before the last row."""
    every = rows()
    write(tmp_path / "a.parquet", every[:100])
    write(tmp_path / "b.parquet", every[150:300])
    report = Report.open(tmp_path, rows=ROWS)
    assert report.stopped == "150 of 400 rows are missing: 100 to 149, 300 to 399"
    assert Report.open(tmp_path).stopped == "50 of 300 rows are missing: 100 to 149"
    beyond = Report.open(tmp_path, rows=200).stopped
    assert "rows that are not planned are there: 200 to 299" in (beyond or "")
    assert (Report.open(tmp_path, rows=299).stopped or "").endswith("are there: 299")
    assert (Report.open(tmp_path, rows=0).stopped or "").endswith("are there: 0 to 99, 150 to 299")
    in_order = Report.open([tmp_path / "b.parquet", tmp_path / "a.parquet"])
    assert in_order.table.ids == Report.open(tmp_path).table.ids


@pytest.mark.rooms
def test_other_content_is_refused_in_any_order(tmp_path: Path) -> None:
    """Rows with the same number and another content are refused by number."""
    every = rows()
    other = [row | {"retrieved_ids": ["other"]} for row in every[40:45]]
    paths = [
        write(tmp_path / "a.parquet", every),
        write(tmp_path / "b.parquet", other),
        write(tmp_path / "c.parquet", every[30:60]),
    ]
    told = set()
    for order in permutations(paths):
        with pytest.raises(ReportError, match="different content: 40 to 44") as refused:
            Report.open(order, rows=ROWS)
        told.add(str(refused.value))
    assert len(told) == 1


@pytest.mark.rooms
def test_what_it_cost_makes_no_other_content(tmp_path: Path) -> None:
    """A retried batch may differ in its cost and in the order of its columns: rows count once."""
    from fullrecall import BatchScorer

    table = BatchScorer(made.scorers(), position="row")(
        pa.Table.from_pylist(
            [{"row": 0, "retrieved_contexts": ["oak"], "reference_claims": ["oak"]}]
        )
    )
    name = "claim_recall_details"
    cells = json.loads(table[name][0].as_py())
    costly = json.dumps(cells | {"usage": {"calls": 3}})
    index = table.column_names.index(name)
    pq.write_table(table, tmp_path / "a.parquet")
    other = table.set_column(index, name, [[costly]])
    pq.write_table(other.select(table.column_names[::-1]), tmp_path / "b.parquet")
    calls = set()
    for paths in (["a", "b"], ["b", "a"]):
        report = Report.open([tmp_path / f"{one}.parquet" for one in paths], rows=1)
        calls.add(report[0].results[2].usage.calls)
    assert len(calls) == 1


def test_files_of_two_evaluations_are_no_report(tmp_path: Path) -> None:
    """Files whose scores have different methods are refused."""
    made.report(10).save(tmp_path / "a.parquet")
    made.report(10, by=(IdRecall(),)).save(tmp_path / "b.parquet")
    with pytest.raises(ReportError, match="not parts of one evaluation"):
        Report.open([tmp_path / "a.parquet", tmp_path / "b.parquet"])


@pytest.mark.rooms
def test_rows_without_a_number_come_last(tmp_path: Path) -> None:
    """Rows without a number are bad rows: unscored, counted each, and last, in any file."""
    every = rows()
    write(tmp_path / "a.parquet", [{**every[0], "row": None}, *every[1:200]])
    write(tmp_path / "b.parquet", [{**row, "row": None} for row in every[200:202]] + every[202:])
    write(tmp_path / "c.parquet", [{**every[0], "row": None}, every[1]])
    for plan in (None, ROWS):
        report = Report.open(tmp_path, rows=plan)
        assert [row.sample.id for row in report][:-4] == [
            f"q{n}" for n in range(ROWS) if n not in (0, 200, 201)
        ]
        assert [row.sample.id for row in report][-4:] == ["q0", "q0", "q200", "q201"]
        assert [row.results[0].status for row in report][-5:] == ["scored", *["unscored"] * 4]
        assert report.stopped == (
            "3 of 400 rows are missing: 0, 200 to 201; rows without a number: 4"
        )


@pytest.mark.rooms
def test_rows_without_numbers_have_no_plan(tmp_path: Path) -> None:
    """Rows without numbers keep the order of the files."""
    from fullrecall import BatchScorer

    given = [{k: v for k, v in row.items() if k != "row"} for row in rows()]
    pq.write_table(BatchScorer(IdRecall())(pa.Table.from_pylist(given)), tmp_path / "a.parquet")
    assert len(Report.open(tmp_path / "a.parquet")) == ROWS
    with pytest.raises(ReportError, match="needs numbered rows"):
        Report.open(tmp_path / "a.parquet", rows=ROWS)


def test_how_long_a_retriever_took_makes_no_other_content(tmp_path: Path) -> None:
    """A part that was retrieved again has the same rows, even if its calls took longer."""
    for name, seconds in (("a", 0.25), ("b", 0.75)):
        retrieved = Retrieval([Context("oak", id="d1")], seconds=[seconds])
        sample = Sample(user_input="q", expected_ids=["d1"]).with_retrieval(retrieved)
        evaluate([sample], IdRecall(), progress=False).save(tmp_path / f"{name}.parquet")
    tables = [pq.read_table(tmp_path / f"{name}.parquet") for name in ("a", "b")]
    assert tables[0]["retrieval"] != tables[1]["retrieval"]
    report = Report.open([tmp_path / "a.parquet", tmp_path / "b.parquet"], rows=1)
    assert (report.complete, len(report)) == (True, 1)


@pytest.mark.rooms
@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([3], "3"),
        ([3, 4, 5], "3 to 5"),
        ([0, 1, 10, 12], "0 to 1, 10, 12"),
        ([0, 2, 4, 6, 8], "0, 2, 4, 6, 8"),
        ([0, 2, 4, 6, 8, 10], "0, 2, 4, 6, 8, and 1 more range"),
        ([0, 2, 4, 6, 8, 10, 11, 13], "0, 2, 4, 6, 8, and 2 more ranges"),
    ],
)
def test_missing_rows_in_words(numbers: list[int], text: str, tmp_path: Path) -> None:
    """Ranges of missing rows are named, at most five of them."""
    path = write(tmp_path / "part.parquet", [row for row in rows(20) if row["row"] not in numbers])
    missing = f"{len(numbers)} of 20 rows are missing: {text}"
    assert Report.open(path, rows=20).stopped == missing
    assert Report.open(write(path, rows(20)), rows=20).stopped is None
