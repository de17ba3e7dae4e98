"""IDs in Arrow columns give the same results as the same rows in Python lists."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fullrecall import IdRecall, Report, evaluate
from fullrecall.measures import AP, Recall, nDCG
from fullrecall.read import read
from fullrecall.scorers.arrow_ids import ArrowIds

Rows = list[dict[str, Any]]


def made(seed: int, *, numbers: bool = False, odd: bool = False) -> Rows:
    """Return random rows of IDs with repetitions; if `odd`, lists are null and IDs blank too."""
    rng = random.Random(seed)

    def one() -> Any:
        number = rng.randrange(30)
        name = f"d {number}" if number % 7 == 0 else f"é{number}"
        return number if numbers else rng.choice([name, "" if odd else name])

    def ids(most: int, gap: Any) -> list[Any] | None:
        cells = [gap if odd and rng.random() < 0.1 else one() for _ in range(rng.randrange(most))]
        return None if odd and rng.random() < 0.1 else cells

    return [{"retrieved_ids": ids(12, None), "expected_ids": ids(6, one())} for _ in range(150)]


def outcome(report: Report) -> list[Any]:
    """Return the measures, rows, misses and summary of a report."""
    return [
        [report.values(measure).tolist() for measure in (Recall, Recall @ 3, nDCG @ 5, AP)],
        [(row.sample.to_dict(), str(row.results[0]), row.results[0].findings) for row in report],
        list(report.missed(2)),
        str(report.summary()),
    ]


def scored(rows: Any) -> list[Any]:
    """Return the outcome of scoring rows or a frame."""
    return [str(each) for each in outcome(evaluate(rows, IdRecall(), progress=False))]


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("seed", range(2))
class TestAreThoseOfLists:
    """The results of frames are those of mappings with the same cells."""

    def test_of_an_arrow_table(self, seed: int, *, numbers: bool, odd: bool) -> None:
        """An Arrow table (texts and lists have 32-bit offsets) gives the results of its rows."""
        rows = made(seed, numbers=numbers, odd=odd)
        assert scored(pa.Table.from_pylist(rows)) == scored(rows)

    def test_of_a_slice(self, seed: int, *, numbers: bool, odd: bool) -> None:
        """A slice, which shares the columns of its table, gives the results of its rows."""
        rows = made(seed, numbers=numbers, odd=odd)
        assert scored(pa.Table.from_pylist(rows)[37:140]) == scored(rows[37:140])

    def test_of_polars(self, seed: int, *, numbers: bool, odd: bool) -> None:
        """A Polars frame (texts and lists have 64-bit offsets) gives the results of its rows."""
        rows = made(seed, numbers=numbers, odd=odd)
        assert scored(pl.DataFrame(rows, infer_schema_length=None)) == scored(rows)

    def test_of_a_file(self, seed: int, *, numbers: bool, odd: bool, tmp_path: Path) -> None:
        """Batches of a Parquet file are scored together, and give the same results when saved."""
        rows = made(seed, numbers=numbers, odd=odd)
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet", row_group_size=70)
        report = evaluate(read(tmp_path / "rows.parquet"), IdRecall(), progress=False)
        expected = evaluate(rows, IdRecall(), progress=False)
        assert list(map(str, outcome(report))) == list(map(str, outcome(expected)))
        report.save(tmp_path / "report.parquet")
        opened = Report.open(tmp_path / "report.parquet")
        assert opened.values(Recall).tolist() == pytest.approx(
            expected.values(Recall).tolist(), abs=0, nan_ok=True
        )


class TestArrowIds:
    """`ArrowIds` takes only Arrow arrays of lists of IDs."""

    @pytest.mark.parametrize(
        "cells",
        [
            [["a", None]],
            [["a"], None],
            [["a", ""]],
            [["a; b"]],
            [["a | b"]],
            [[1.5]],
            ["a"],
        ],
    )
    def test_other_cells(self, cells: list[Any]) -> None:
        """Other arrays, such as those with nulls, blanks or separators, give None."""
        assert ArrowIds.of(pa.array(cells), ("; ", " | ")) is None

    def test_positions_of_first_occurrences(self) -> None:
        """Repeated references count once, and each position is that of the first occurrence."""
        retrieved = ArrowIds.of(pa.array([["b", "a", "b", "c"], [], ["c"]]), ())
        references = ArrowIds.of(pa.array([["c", "b", "c", "x"], ["a"], ["b", "c", "b"]]), ())
        assert retrieved is not None
        assert references is not None
        own, positions = references.found_in(retrieved)
        assert [own.of_row(row) for row in range(3)] == [["c", "b", "x"], ["a"], ["b", "c"]]
        assert positions.tolist() == [4, 1, 0, 0, 0, 1]
