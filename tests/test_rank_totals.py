"""ID recall of which only totals are kept is counted by ranks: the numbers of results, each bit."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.distributed.batches import BatchScorer
from fullrecall.distributed.totals.summed_rows import SummedRows
from fullrecall.errors import InputError, Interrupted
from fullrecall.evaluation import id_ranks
from fullrecall.measures import (
    AP,
    F1,
    RR,
    AllFound,
    ContextPrecision,
    Hit,
    Measure,
    Precision,
    Recall,
    nDCG,
)  # fmt: skip
from fullrecall.report.report import Report
from fullrecall.table.row import Row

RUNS = int(os.environ.get("FULLRECALL_RUNS", "6"))
PLAIN: tuple[Measure, ...] = (Recall, Precision, F1, Hit, AllFound, RR, AP, ContextPrecision, nDCG)
VARIED: tuple[Measure, ...] = (
    Recall(weight="grade"), Recall(weight="size"), Recall(min_grade=1.0), Recall(min_grade=2.0),
    Recall(zero_division=1.0), AllFound(min_grade=2.0, zero_division=0.5), RR(min_grade=2.0),
    Precision(denominator="k"), F1(zero_division=0.0), nDCG(gain="exponential"),
)  # fmt: skip
MEASURES = tuple(
    measure if k is None else measure @ k for measure in (*PLAIN, *VARIED) for k in (None, 1, 3, 7)
)
PLAIN_SHARE = 0.7


def row_of(rng: random.Random, number: int) -> dict[str, Any]:
    """Return the fields of a sample, mostly plain: few IDs, so that they meet, with duplicates."""
    letters = rng.choice(("ab", "abcdefghijklmn"))
    row: dict[str, Any] = {
        "retrieved_ids": rng.choices(letters, k=rng.choice((0, 1, 4, 12))),
        "expected_ids": rng.choices(letters, k=rng.choice((0, 1, 2, 5))),
    }
    if rng.random() < 0.5:
        row["id"] = f"s{number}"
    if rng.random() < 0.5:
        row["question"] = rng.choice(("What?", None, "Wer?"))
    if rng.random() < 0.3:
        row["group"] = rng.choice("xyz")
    if rng.random() > PLAIN_SHARE:
        row |= rng.choice((
            {"expected_ids": {"a": 2, "b": 1, "c": 0}},
            {"expected_ids": [["a", "b"], "c"]},
            {"expected_ids": ["", "a"]},
            {"expected_ids": [1, 2]},
            {"retrieved_ids": ["", "a", None]},
            {"retrieved_ids": [None, None]},
            {"retrieved_ids": None},
            {"expected_ids": None},
            {"retrieved_ids": ("a", "b")},
            {"contexts": ["text", {"id": "a"}], "retrieved_ids": None},
            {"retrieval": {"contexts": [{"id": "a"}]}, "retrieved_ids": None},
            {"id": 7},
            {"group": ""},
            {"metadata": {"kind": "x"}},
        ))  # fmt: skip
    return row


def by_results(items: list[Any], scorers: list[IdRecall]) -> Report:
    """Return the totals of samples, each scored, row by row."""
    report = Report([scorer.method for scorer in scorers], keep_rows=False, measures=MEASURES)
    for position, item in enumerate(items, start=1):
        sample = item if isinstance(item, Sample) else Sample(**item)
        report.add(Row(position, sample, tuple(scorer.score(sample) for scorer in scorers)))
    return report


def test_totals_are_those_of_results() -> None:
    """Every measure and parameter, over plain and other samples, mappings and objects mixed."""
    rng = random.Random(3)
    scorers = [IdRecall(), IdRecall(name="again")]
    for _ in range(RUNS):
        rows = [row_of(rng, number) for number in range(rng.choice((1, 5, 120)))]
        items = [Sample(**row) if rng.random() < 0.4 else row for row in rows]
        counted = evaluate(items, scorers, keep="summary", measures=MEASURES, progress=False)
        assert counted.totals() == by_results(items, scorers).totals()


@pytest.mark.parametrize("keep", ["rows", "summary"])
def test_plain_samples_make_no_result(
    keep: Literal["rows", "summary"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither mappings nor samples of plain IDs are scored one by one; the others are."""
    scored = []
    own = IdRecall._find
    monkeypatch.setattr(IdRecall, "_find", lambda *args: scored.append(args[1]) or own(*args))
    fields = {"retrieved_ids": ["a", "b"], "expected_ids": ["b", "c"], "id": "1"}
    items = [fields, Sample(**{**fields, "id": "2"})]
    either = Sample(retrieved_ids=["a"], expected_ids=[["a", "b"]])
    monkeypatch.setattr(IdRecall, "by_ranks", None)
    report = evaluate([*items, either], IdRecall(), keep=keep, progress=False)
    assert scored == [either]
    assert (len(report), report.summary()["id_recall"].mean) == (3, pytest.approx(2 / 3))


@pytest.mark.parametrize(
    "options",
    [{"sink": print}, {"deadline": 60.0}, {"retriever": lambda _: ["a"]}],
    ids=["sink", "deadline", "retriever"],
)
def test_who_wants_rows_at_once_gets_them(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sink, a deadline, or a retriever: each sample is scored as it comes."""
    monkeypatch.setattr(id_ranks, "ranks_of", None)
    samples = [{"user_input": "?", "expected_ids": ["a"]}]
    given = {"keep": "summary", "progress": False, **options}
    assert len(evaluate(samples, IdRecall(), **given)) == 1
    capsys.readouterr()


def test_a_scorer_or_a_measure_of_ones_own_is_asked() -> None:
    """Neither a subclass nor a measure that reads names is counted by ranks."""

    class Named(Measure):
        text = "named"

        def count(self, findings: Any, retrieved: int) -> float:
            return float(findings[0].target.label == "a")

    class Own(IdRecall):
        def score(self, *args: Any, **fields: Any) -> Any:
            return super().score(*args, **fields)

    sample = {"retrieved_ids": ["a"], "expected_ids": ["a"]}
    for scorer, measure in ((IdRecall(), Named()), (Own(), Recall)):
        report = evaluate([sample], scorer, keep="summary", measures=[measure], progress=False)
        assert report.summary(measure)[0][measure].mean == 1.0


def test_errors_name_the_same_item_with_the_same_report() -> None:
    """What is no sample, and what the samples raise, ends the run with what came before."""
    good = {"retrieved_ids": ["a"], "expected_ids": ["a"]}
    for bad in ({"retrieved_ids": "a", "expected_ids": ["a"]}, {**good, "colour": 1}, 7):
        found = []
        for keep in ("rows", "summary"):
            with pytest.raises(InputError) as caught:
                evaluate([good, good, bad, good], IdRecall(), keep=keep, progress=False)  # type: ignore[list-item,arg-type]
            report = caught.value.report  # type: ignore[attr-defined]
            found.append(
                (str(caught.value), len(report), report.stopped, report.summary().to_dict())
            )
        assert found[0] == found[1]
    with pytest.raises(InputError, match="must be an iterable"):
        evaluate(good, IdRecall(), keep="summary", progress=False)  # type: ignore[arg-type]


def test_ctrl_c_and_progress() -> None:
    """Ctrl-C keeps what was counted; progress counts each sample."""
    seen = []

    def items() -> Iterator[dict[str, Any]]:
        for n in range(9):
            if n == 5:
                os.kill(os.getpid(), 2)
            yield {"retrieved_ids": ["a"], "expected_ids": ["a"] if n else []}

    with pytest.raises(Interrupted) as caught:
        evaluate(items(), IdRecall(), keep="summary", progress=False, on_progress=seen.append)
    assert len(caught.value.report) == len(seen) == 6
    assert (seen[-1].done, seen[-1].scored) == (6, 5)


def tables_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the rows as tables of several libraries."""
    pa = pytest.importorskip("pyarrow")
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    table = pa.Table.from_pylist(rows)
    return {
        "arrow": table,
        "chunks": pa.concat_tables([table.slice(0, 2), table.slice(2)]),
        "batch": table.combine_chunks().to_batches()[0],
        "polars": pl.DataFrame(rows, schema_overrides=None),
        "pandas": pd.DataFrame(rows),
    }


@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_columns_count_as_rows_do(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of lists, by columns and row by row: the same totals, and no sample is made."""
    rng = random.Random(kind)
    for run in range(max(2, RUNS // 5)):
        rows = []
        for number in range(rng.choice((3, 30))):
            ids = [rng.choices("abcdefg", k=rng.choice((0, 1, 5, 9))) for _ in range(2)]
            if kind == "numbers":
                ids = [[ord(one) for one in some] for some in ids]  # type: ignore[misc]
            row = {"retrieved_ids": ids[0] or ids[1], "expected_ids": ids[1], "n": number}
            rows.append(row | ({"id": f"s{number}"} if run % 2 else {}))
        scorer = BatchScorer(IdRecall(), keep="summary", measures=MEASURES, position="n")
        expected = None
        for name, table in tables_of(rows).items():
            by_columns = scorer.report(scorer(table), rows=len(rows))
            with monkeypatch.context() as patched:
                patched.setattr(SummedRows, "count_columns", lambda *_: None)
                by_rows = scorer.report(scorer(table), rows=len(rows))
            assert by_columns.totals() == by_rows.totals(), name
            expected = expected or by_columns.summary(*MEASURES).to_dict()
            assert by_columns.summary(*MEASURES).to_dict() == expected
    with monkeypatch.context() as patched:
        patched.setattr("fullrecall.distributed.job.evaluate", None)
        for table in tables_of(rows).values():
            scorer(table)


@pytest.mark.parametrize(
    "column",
    [
        {"group": "x"}, {"colour": "red"}, {"user_input": 7}, {"metadata": {"a": 1}},
        {"retrieved_ids": None}, {"expected_ids": [""]}, {"retrieved_ids": [-1]}, {"n": 1.5},
        {"expected_ids": [["a", "b"]]}, {"retrieved_context_ids": ["b"]},
    ],
    ids=str,
)  # fmt: skip
def test_a_table_that_is_not_plain_is_read_row_by_row(
    column: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups, unknown columns, gaps, and blanks: the totals or the error of rows."""
    pa = pytest.importorskip("pyarrow")
    row = {"retrieved_ids": ["a"], "expected_ids": ["a"], "user_input": "?", "n": 0}
    rows = [{**row, **column}, {**row, **column, "n": 1}]
    scorer = BatchScorer(IdRecall(), keep="summary", position="n")

    def outcome() -> object:
        try:
            return scorer.report(scorer(pa.Table.from_pylist(rows)), rows=2).totals()
        except InputError as error:
            return str(error)

    first = outcome()
    monkeypatch.setattr(SummedRows, "count_columns", lambda *_: None)
    assert outcome() == first
