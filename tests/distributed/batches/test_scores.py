"""What comes out of a batch, in a table of its kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fullrecall.distributed.batches import score_batch
from tests.distributed.batches.made import KINDS, SCORERS, arrow_table, frame, plain, rows, saved

from fullrecall import BatchScorer, IdRecall

np = pytest.importorskip("numpy", reason="needs the pandas extra")
pd = pytest.importorskip("pandas", reason="needs the pandas extra")


class TestWhatComesOut:
    """A table of the kind that came in: flat columns for people, one with everything."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_report_is_the_plain_one(self, kind: str, tmp_path: Path) -> None:
        """From every kind of table, byte for byte: gaps, arrays and nested contexts included."""
        scorer = BatchScorer(SCORERS, position="place")
        scores = scorer(KINDS[kind](rows()))
        assert type(scores) is type(KINDS[kind](rows()))
        report = scorer.report(scores)
        assert saved(report, tmp_path) == saved(plain(rows()), tmp_path)
        assert str(report.summary()) == str(plain(rows()).summary())
        statuses = {result.status for row in report for result in row.results}
        assert len(statuses) == 3

    def test_the_columns_are_those_of_the_data_frame(self) -> None:
        """`to_frame` and a batch agree in names and values; a sample without an ID has none."""
        scores = score_batch(frame(rows()), SCORERS, rename={"place": None})
        expected = plain(rows()).to_frame()
        own = ["fullrecall_problem", "fullrecall_row"]
        assert list(scores.columns) == [*expected.columns, *own]
        for name in expected.columns.drop("sample"):
            left, right = list(scores[name]), list(expected[name])
            assert [x if x == x else None for x in left] == [x if x == x else None for x in right]  # noqa: PLR0124 - NaN
        named = [None if pd.isna(own) else own for own in scores["sample"]]
        assert named == [row["id"] for row in rows()]

    def test_a_frame_keeps_its_labels(self) -> None:
        """Scores of a data frame can be joined to it."""
        scores = score_batch(frame(rows()), IdRecall(), position="place")
        assert list(scores.index) == list(frame(rows()).index)

    def test_a_lazy_index_of_batches(self) -> None:
        """`over` takes a batch at a time, as Spark hands them out."""
        scorer = BatchScorer(IdRecall(), position="place")
        taken = []

        def batches() -> Iterator[Any]:
            for start in (0, 10, 20):
                taken.append(start)
                yield arrow_table(rows()[start : start + 10])

        scored = scorer.over(batches())
        assert not taken
        assert len(next(scored)) == 10
        assert taken == [0]

    @pytest.mark.parametrize("keep", ["rows", "summary"])
    def test_schema_and_meta_are_what_comes_out(self, keep: Any) -> None:
        """What Spark and Dask are told beforehand is what they get."""
        scorer = BatchScorer(SCORERS, position="place", keep=keep)
        made = scorer(frame(rows()))
        assert list(scorer.meta.columns) == list(made.columns)
        assert list(scorer.meta.dtypes) == list(made.dtypes)
        assert not len(scorer.meta)
        table = scorer(arrow_table(rows()))
        spark = {"string": "string", "double": "double", "int64": "long"}
        told = [f"`{field.name}` {spark[str(field.type)]}" for field in table.schema]
        assert scorer.schema == ", ".join(told)

    def test_no_rows_no_scores(self) -> None:
        """A partition may be empty; the columns are there all the same."""
        scorer = BatchScorer(SCORERS, position="place")
        scores = scorer(frame([]))
        assert list(scores.columns) == list(scorer.meta.columns)
        assert len(scores) == len(scorer.report(scores)) == len(scorer.report([])) == 0
        totals = BatchScorer(SCORERS, position="place", keep="summary")
        assert len(totals.report(totals(frame([])), rows=0)) == len(totals.report([], rows=0)) == 0

    def test_a_number_may_have_become_a_float(self) -> None:
        """A position that a gap elsewhere made a float is the whole number that it was."""
        batch = {"n": np.array([1.0, 0.0]), "expected_ids": [["a"], ["b"]]}
        scorer = BatchScorer(IdRecall(), position="n")
        report = scorer.report(scorer({**batch, "retrieved_ids": [["a"], ["a"]]}))
        assert [row.results[0].score for row in report] == [0.0, 1.0]
