"""A batch of any kind comes back as that kind, with its columns and those of a report."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.batches.made import KINDS, SCORERS, pa, pd, plain, rows, saved

from fullrecall import BatchScorer, Budget, ClaimRecall, Context, IdRecall, Report

pq = pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")


def as_table(scores: Any) -> Any:
    """Return scores of any kind as an Arrow table."""
    if isinstance(scores, pa.RecordBatch):
        return pa.Table.from_batches([scores])
    return scores if isinstance(scores, pa.Table) else pa.table(scores)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_every_kind_make_the_plain_report(kind: str, tmp_path: Path) -> None:
    """Batches of every kind, written in any order, make the plain report byte for byte."""
    every = rows()
    scorer = BatchScorer(SCORERS, position="place")
    folder = tmp_path / "scores"
    folder.mkdir()
    for first in (16, 0, 8):
        batch = KINDS[kind](every[first : first + 8])
        scores = scorer(batch)
        assert type(scores) is type(batch)
        pq.write_table(as_table(scores), folder / f"{24 - first}.parquet")
    report = Report.open(folder, rows=24)
    assert report.complete
    assert report.summary().to_dict() == plain(every).summary().to_dict()
    if kind in {"table", "record batch", "frame of polars"}:
        (tmp_path / "plain").mkdir()
        assert saved(report, tmp_path) == saved(plain(every), tmp_path / "plain")


def test_own_columns_pass_through() -> None:
    """The user's columns keep their values and places; a sample's field keeps its name."""
    batch = KINDS["frame"](rows()).rename(columns={"user_input": "question"})
    batch = batch.assign(tenant=list("ab") * 12, when=[object()] * 24)
    scores = BatchScorer(IdRecall(), position="place")(batch)
    assert list(scores)[:2] == ["tenant", "when"]
    for own, came in (("tenant", "tenant"), ("when", "when"), ("question", "user_input")):
        assert list(scores[came].dropna()) == list(batch[own].dropna())
    assert list(scores["row"]) == list(range(24))
    assert "question" not in scores


def test_a_row_that_is_no_sample_is_unscored(tmp_path: Path) -> None:
    """The other rows are scored; the report has the reason by position."""
    batch = pa.table(
        {
            "n": [5, 6, 7],
            "id": ["a", "b", "c"],
            "retrieved_ids": [["x"], ["x"], ["x"]],
            "expected_ids": [["x"], [None], ["y"]],
        }
    )
    scores = BatchScorer(IdRecall(), position="n")(batch)
    assert scores["row"].to_pylist() == batch["n"].to_pylist()
    pq.write_table(scores, tmp_path / "a.parquet")
    report = Report.open(tmp_path / "a.parquet")
    assert [row.results[0].score for row in report] == [1.0, None, 0.0]
    assert "bad row: reference_context_ids: item 0" in report[1].results[0].note
    assert report[1].sample.id == "b"


def test_a_map_that_repeats_a_key_is_unscored() -> None:
    """Arrow's maps may repeat a key, which leaves the grade of an ID open."""
    grades = [[("a", 1.0)], [("a", 1.0), ("a", 2.0)]]
    batch = pa.table(
        {
            "retrieved_ids": [["a"], ["a"]],
            "expected_ids": pa.array(grades, pa.map_(pa.string(), pa.float64())),
        }
    )
    scores = BatchScorer(IdRecall())(batch).to_pylist()
    assert [row["id_recall"] for row in scores] == [1.0, None]
    assert "a key occurs twice" in scores[1]["id_recall_reason"]


def test_labels_that_the_corpus_no_longer_has_are_unscored() -> None:
    """A pickled scorer leaves labels unscored that the corpus no longer has.

    A corpus that can be iterated once is read once, for all batches.
    """
    corpus = iter([Context("Paris.", id="a")])
    pickled = pickle.dumps(BatchScorer(IdRecall(), corpus=corpus))
    scorer = pickle.loads(pickled)  # noqa: S301 - our own
    table = pa.table({"expected_ids": [["a"], ["b"]], "retrieved_ids": [["a"], ["a"]]})
    for _ in range(2):
        scores = scorer(table).to_pydict()
        assert scores["id_recall_status"] == ["scored", "unscored"]
        assert scores["id_recall_reason"][1] == "stale label: 'b' is not in the corpus"


def test_workers_show_no_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Workers show no progress bar, since a bar for each batch would fill their logs."""
    monkeypatch.setattr("fullrecall.run.progress._LOG_SECONDS", 0.0)
    BatchScorer(SCORERS, position="place")(KINDS["table"](rows()[:8]))
    assert capsys.readouterr().err == ""


def test_engines_learn_the_columns_without_a_row() -> None:
    """Dask's empty frame has the columns of a result; `over` scores one batch after another."""
    given = [{"id": "q", "retrieved_ids": ["a"], "expected_ids": ["a"], "own": "x"}]
    scorer = BatchScorer(IdRecall())
    scores = scorer(pd.DataFrame(given))
    empty = scorer.meta(SimpleNamespace(_meta=pd.DataFrame(given).iloc[:0]))
    assert (len(empty), [*empty.columns]) == (0, [*scores.columns])
    assert [len(each) for each in scorer.over([pd.DataFrame(given)] * 2)] == [1, 1]


def test_only_a_scorer_with_a_budget_has_an_account(tmp_path: Path) -> None:
    """`spent` is None unless the scorer has a budget, whose account is in the store."""
    store = tmp_path / "answers.sqlite"
    assert BatchScorer(ClaimRecall(), store=store).spent is None
    assert BatchScorer(ClaimRecall()).spent is None
    spent = BatchScorer(ClaimRecall(), store=store, budget=Budget(calls=5)).spent
    assert spent is not None
    assert spent.calls == 0
