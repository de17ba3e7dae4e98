"""Files that are cut off, edited, or foreign raise an error with the file's name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.files.reports import made

from fullrecall import IdRecall, Report, evaluate
from fullrecall.errors import ReportError
from fullrecall.measures import Recall

pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory of one file."""
    path = tmp_path / "r.parquet"
    evaluate(made.samples(40), IdRecall(), output=path, progress=False)
    return path


def test_a_file_that_is_cut_off(directory: Path) -> None:
    """A file that is cut off is an error with the file's name."""
    (part,) = directory.glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-100])
    with pytest.raises(ReportError, match=r"part-00000\.parquet is not a Parquet file, or cut off"):
        Report.open(directory)


def test_a_file_that_is_missing(directory: Path) -> None:
    """A file that the manifest lists and the directory lacks is an error."""
    (part,) = directory.glob("*.parquet")
    part.rename(directory / "other.parquet")
    with pytest.raises(ReportError, match=r"part-00000\.parquet is missing"):
        Report.open(directory)


def test_a_file_that_was_exchanged(directory: Path) -> None:
    """`load` refuses a file whose digest differs from the manifest's."""
    (part,) = directory.glob("*.parquet")
    table = pq.read_table(part)
    pq.write_table(table.slice(0, 39), part)
    with pytest.raises(ReportError, match=r"part-00000\.parquet was changed"):
        Report.load(directory)


def test_a_manifest_that_was_edited(directory: Path) -> None:
    """`load` refuses a manifest whose own digest differs."""
    manifest = directory / "_manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace("null", '"stopped early"', 1), "utf-8")
    with pytest.raises(ReportError, match=r"_manifest\.json was changed"):
        Report.load(directory)


def test_no_run_goes_on_in_a_single_file(directory: Path, tmp_path: Path) -> None:
    """One file of a report is no output of a run: it has no manifest."""
    (part,) = directory.glob("*.parquet")
    alone = part.rename(tmp_path / "part.parquet")
    with pytest.raises(ReportError, match=r"part\.parquet has no _manifest\.json: no run wrote it"):
        evaluate(made.samples(41), IdRecall(), output=alone, progress=False)


def test_other_parquet(tmp_path: Path) -> None:
    """A foreign table, an empty directory, and a missing file are errors."""
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(ReportError, match="is not a saved report"):
        Report.open(tmp_path / "a.parquet")
    pq.write_table(pa.table({"fullrecall": [""]}), tmp_path / "b.parquet")
    with pytest.raises(ReportError, match="not a saved report: its column fullrecall is empty"):
        Report.open(tmp_path / "b.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReportError, match="has no Parquet files"):
        Report.open(tmp_path / "empty")
    with pytest.raises(ReportError, match="does not exist"):
        Report.open(tmp_path / "none.parquet")


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("id_recall_status", "good", "must be one of"),
        ("id_recall_first", [99], "row 0: id_recall_first"),
        ("id_recall_position", [99], "row 0: id_recall_position"),
        ("id_recall_position", [-1], "row 0: id_recall_position"),
        ("id_recall_grade", [-1.0], "row 0: id_recall_grade.0. must be 1.0"),
        ("id_recall_details", "{}", "row 0: id_recall_details must be None"),
        ("metadata", "{", "row"),
        ("fullrecall", "{}", "kind"),
    ],
)
def test_values_that_no_run_gives(column: str, value: object, told: str, tmp_path: Path) -> None:
    """`load` checks every value, and its error names the column or the row."""
    with pytest.raises(ReportError, match=told):
        Report.load(edited(column, value, tmp_path))


def test_a_null_among_numbers(tmp_path: Path) -> None:
    """A summary of an opened report refuses a list with a null."""
    with pytest.raises(ReportError, match="a number is null"):
        Report.open(edited("id_recall_position", [None], tmp_path)).summary()


def test_columns_that_were_left_out(tmp_path: Path) -> None:
    """Columns that a file lacks have no values."""
    report = made.report(12, by=(IdRecall(),))
    report.save(tmp_path / "saved.parquet")
    table = pq.read_table(tmp_path / "saved.parquet")
    pq.write_table(table.drop_columns(["id", "metadata"]), tmp_path / "a.parquet")
    opened = Report.open(tmp_path / "a.parquet")
    assert opened.table.ids == [None] * 12
    assert np.array_equal(opened.values(Recall), report.values(Recall), equal_nan=True)


def edited(column: str, value: object, folder: Path) -> Path:
    """Return the path of a report in which the first cell of a column has another value."""
    made.report(12, by=(IdRecall(),)).save(folder / "saved.parquet")
    table = pq.read_table(folder / "saved.parquet")
    index = table.column_names.index(column)
    cells = [value, *table[column].to_pylist()[1:]]
    kind = table.schema.field(column).type
    pq.write_table(table.set_column(index, column, pa.array(cells, kind)), folder / "a.parquet")
    return folder / "a.parquet"


@pytest.mark.parametrize("cell", [{"a": "x"}, ["x"], {"fullrecall": "x"}])
def test_a_column_of_that_name_that_holds_no_text_makes_no_report(
    tmp_path: Path, cell: object
) -> None:
    """A foreign column with a report's column name does not make a report."""
    pq.write_table(pa.table({"fullrecall": [cell]}), tmp_path / "x.parquet")
    with pytest.raises(ReportError, match="is not a saved report"):
        Report.open(tmp_path / "x.parquet")


def test_fields_of_a_users_own_column_are_not_taken_for_a_scores(tmp_path: Path) -> None:
    """A user's column of mappings is kept apart from scores, even if its keys look like theirs."""
    path = tmp_path / "r.parquet"
    report = evaluate(made.samples(40), IdRecall(), progress=False)
    report.save(path)
    table = pq.read_table(path)
    own = [{"order": "1", "order_status": "sent", "fullrecall": "x"}] * table.num_rows
    pq.write_table(table.append_column("shop", pa.array(own)), tmp_path / "own.parquet")
    assert Report.open(tmp_path / "own.parquet").summary().to_dict() == report.summary().to_dict()
