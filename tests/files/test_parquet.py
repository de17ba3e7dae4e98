"""Parquet is read batch by batch, without the nulls that Arrow fills in."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from fullrecall import Sample
from fullrecall.errors import MissingExtraError
from fullrecall.files import containers
from fullrecall.read import read

if TYPE_CHECKING:
    from conftest import UntilError, Write

Save: TypeAlias = Callable[..., Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Write a table of rows, or a ready one, and return its path."""
    pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
    pq = pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")

    def save(rows: Any, **options: Any) -> Path:
        table = pa.Table.from_pylist(rows) if isinstance(rows, list) else rows
        pq.write_table(table, tmp_path / "a.parquet", **options)
        return tmp_path / "a.parquet"

    return save


def test_rows_and_gaps(save: Save) -> None:
    """Lists, nested contexts and graded mappings come back without Arrow's nulls."""
    rows = [
        {"question": "q", "contexts": [{"id": "d1", "score": 0.5}], "reference_ids": {"d1": 3}},
        {"question": "p", "contexts": [{"text": "t"}], "reference_ids": {"d2": 2}},
        {"question": "n"},
    ]
    assert list(read(save(rows))) == [Sample(**row) for row in rows]


def test_gaps_inside_lists(save: Save) -> None:
    """An any-of group without grades stays without, next to a graded group."""
    groups = [{"any_of": ["a", "b"], "grade": 2.0}, {"any_of": ["c"]}]
    path = save([{"reference_ids": groups}])
    assert list(read(path)) == [Sample(reference_context_ids=groups)]


def test_batches_make_no_difference(save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows keep their order and number across batches and row groups."""
    monkeypatch.setattr(containers, "_BATCH_ROWS", 7)
    path = save([{"id": str(n)} for n in range(100)], row_group_size=30)
    samples = list(read(path))
    assert [sample.id for sample in samples] == [str(n) for n in range(100)]


def test_errors_name_the_row(
    save: Save, until_error: UntilError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows count from 1 across batches, and the rows before the error are yielded."""
    monkeypatch.setattr(containers, "_BATCH_ROWS", 7)
    pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
    table = pa.table({"id": [1.0 if n == 50 else None for n in range(60)]})
    before, error = until_error(read(save(table)))
    assert len(before) == 50
    assert (error.line, error.field) == (51, "id")


def test_arrow_maps(save: Save, until_error: UntilError) -> None:
    """A map column is a mapping; a repeated key is an error, as in JSON."""
    pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
    pairs = [[("a", 1.0), ("b", 2.0)], None, [("a", 1.0), ("a", 2.0)]]
    maps = pa.array(pairs, type=pa.map_(pa.string(), pa.float64()))
    before, error = until_error(read(save(pa.table({"reference_ids": maps}))))
    assert before == [Sample(reference_context_ids={"a": 1, "b": 2}), Sample()]
    assert (error.line, error.field) == (3, "reference_ids")


def test_columns_left_out_are_not_read(save: Save, until_error: UntilError) -> None:
    """A column that is left out is not read, even if it cannot be decoded."""
    pq = pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")
    path = save([{"question": "q", "junk": f"{n:0100}"} for n in range(1000)], use_dictionary=False)
    chunk = pq.read_metadata(path).row_group(0).column(1)
    content = bytearray(path.read_bytes())
    begin = chunk.data_page_offset
    content[begin : begin + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(content)

    _, error = until_error(read(path))
    assert "not a Parquet file that can be read" in error.problem
    samples = list(read(path, rename={"junk": None}))
    assert samples == [Sample(user_input="q")] * 1000


def test_renamed_columns_are_looked_up_in_the_schema(save: Save, until_error: UntilError) -> None:
    """Renaming a column that the schema lacks is an error before the first row."""
    before, error = until_error(read(save([{"id": "1"}]), rename={"x": "question"}))
    assert not before
    assert "no row has anything at 'x': the columns are 'id'" in error.problem


def test_a_column_twice(save: Save, until_error: UntilError) -> None:
    """Two columns with one name are an error: neither is dropped silently."""
    pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
    _, error = until_error(read(save(pa.table([["1"], ["2"]], names=["id", "id"]))))
    assert "two columns 'id'" in error.problem


@pytest.mark.parametrize("content", [b"", b"PAR1", b'{"question": "q"}\n' * 10])
def test_a_file_of_another_format_is_an_input_error(
    write: Write, until_error: UntilError, content: str | bytes
) -> None:
    """A file that is not Parquet raises an input error with the path, not Arrow's own error."""
    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    path = write("a.parquet", content)
    _, error = until_error(read(path))
    assert error.path == str(path)
    assert "not a Parquet file" in error.problem


def test_no_samples(save: Save, until_error: UntilError) -> None:
    """A table without rows holds no samples."""
    pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
    _, error = until_error(read(save(pa.table({"id": pa.array([], pa.string())}))))
    assert "holds no samples" in error.problem


def test_without_pyarrow(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pyarrow, the call raises an error with the command that installs it."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"pip install pyarrow$"):
        read(write("a.parquet", b""))


def test_a_row_group_is_not_read_as_a_whole(save: Save) -> None:
    """A file of one row group, the default of writers, is read in batches too."""
    pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
    noise = random.Random(1)
    path = save(
        [{"question": noise.randbytes(4000).hex()} for _ in range(8000)],
        row_group_size=8000,
        use_dictionary=False,
    )
    assert path.stat().st_size > 32_000_000
    samples = read(path)
    before = pa.total_allocated_bytes()
    next(samples)
    assert pa.total_allocated_bytes() - before < 16_000_000
    assert sum(1 for _ in samples) == 7999
