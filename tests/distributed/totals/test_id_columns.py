"""Arrow columns of IDs are counted as arrays."""

from __future__ import annotations

from typing import Any

import pytest
from fullrecall.distributed.tables import table_of as table_of_batch
from fullrecall.distributed.totals.summed_rows import SummedRows
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.distributed.totals.made import scorer

from fullrecall import BatchScorer, IdRecall, TextRecall


class TestColumns:
    """Arrow columns of IDs are counted as arrays: the totals are the same, to the byte."""

    @settings(max_examples=60, deadline=None)
    @given(
        rows=st.lists(
            st.fixed_dictionaries({
                "retrieved_ids": st.none()
                | st.lists(st.sampled_from([*"abcdefgh", "", None]), max_size=12),
                "expected_ids": st.none()
                | st.lists(st.sampled_from([*"abcxyz", "", None]), max_size=4),
                "id": st.none() | st.sampled_from(["q1", "q2", "", "é"]),
                "group": st.none() | st.sampled_from(["g1", "g2", ""]),
                "user_input": st.none() | st.just("question"),
            }),
            max_size=30,
        ),
        whole=st.booleans(),
        part_size=st.sampled_from([3, 1_000]),
    )  # fmt: skip
    def test_as_row_by_row(
        self, rows: list[dict[str, Any]], part_size: int, *, whole: bool
    ) -> None:
        """Rows with gaps, bad rows, no references, groups, repeated IDs; whole numbers too."""
        pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
        if whole:
            for each in rows:
                for name in ("retrieved_ids", "expected_ids"):
                    each[name] = each[name] and [ord(one) if one else None for one in each[name]]
        ids = pa.list_(pa.int64() if whole else pa.string())
        kinds = {name: pa.string() for name in ("id", "group", "user_input")}
        kinds |= {"retrieved_ids": ids, "expected_ids": ids, "place": pa.int64()}
        numbered = [each | {"place": place} for place, each in enumerate(rows)]
        arrow = pa.Table.from_pylist(numbered, schema=pa.schema(kinds.items()))
        how = scorer(part_size=part_size)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SummedRows, "count_columns", lambda *_: None)
            expected = how(arrow).to_pydict()
        assert how(arrow).to_pydict() == expected

    @pytest.mark.parametrize(
        ("change", "counted"),
        [
            ({}, True),
            ({"metadata": [{"a": 1}] * 3}, False),
            ({"reference_contexts": [["a"]] * 3}, False),
            ({"expected_ids": [["a"], ["a", None], ["b"]]}, True),
            ({"expected_ids": [["a"], [""], ["b"]]}, True),
            ({"expected_ids": [[1.5], [1.5], [1.5]]}, False),
            ({"group": [True, False, True]}, False),
            ({"retrieved_ids": [["a"], None, ["b"]]}, True),
        ],
    )
    def test_which_columns(self, change: dict[str, Any], *, counted: bool) -> None:
        """Whatever rows are needed for is read row by row."""
        pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
        columns = {"place": [0, 1, 2], "retrieved_ids": [["a"]] * 3, "expected_ids": [["a"]] * 3}
        read = table_of_batch(pa.table(columns | change))
        how = scorer()
        assert (how._kept.count_columns(read, how._batch_job.tallies) is not None) == counted

    @pytest.mark.parametrize(
        "how",
        [
            BatchScorer(TextRecall(), keep="summary", position="place"),
            BatchScorer([IdRecall(), TextRecall()], keep="summary", position="place"),
        ],
    )
    def test_which_scorers(self, how: BatchScorer) -> None:
        """Other scorers look at findings."""
        pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
        columns = {"place": [0], "retrieved_ids": [["a"]], "expected_ids": [["a"]]}
        read = table_of_batch(pa.table(columns))
        assert how._kept.count_columns(read, how._batch_job.tallies) is None
