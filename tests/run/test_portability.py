"""Fullrecall works without forks, POSIX locks, and some file names and open files."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.run.paid import BOUND, Paid, judge

from fullrecall import IdRecall, Report, evaluate
from fullrecall.errors import ReportError

WITHOUT = """
import sys
sys.modules["fcntl"] = sys.modules["resource"] = None
from pathlib import Path
from tests.run.paid import Paid, judge
from fullrecall import IdRecall, Report, Sample, evaluate

folder = Path(sys.argv[1])
for _ in range(2):
    report = judge([1, 2, 1], Paid(folder / "paid"), folder / "store")
    print(report.spent.calls, [row.results[0].score for row in report])
sample = Sample(retrieved_context_ids=["a"], reference_context_ids=["a"])
written = evaluate([sample], IdRecall(), output=folder / "report.jsonl", progress=False)
print(len(written), len(Report.open(folder / "report.jsonl")))
"""


def test_without_the_locks_and_limits_of_posix(tmp_path: Path) -> None:
    """Stores, limits and streamed reports work without `fcntl` and `resource`."""
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    told = ["2 [0.0, 0.0, 0.0]", "0 [0.0, 0.0, 0.0]", "1 1"]
    assert ended.stdout.splitlines() == told, ended.stderr


def work(folder: Path) -> None:
    """Evaluate with a store and save the report, in a process that inherits nothing."""
    judge([1, 2], Paid(folder / "paid"), folder / "store").save(folder / "report.jsonl")


def test_a_process_that_is_spawned(tmp_path: Path) -> None:
    """A spawned process answers from the store of its parent, which paid."""
    judge([1, 2], Paid(tmp_path / "paid"), tmp_path / "store")
    process = multiprocessing.get_context("spawn").Process(target=work, args=(tmp_path,))
    process.start()
    process.join(BOUND)
    assert process.exitcode == 0
    assert Paid(tmp_path / "paid").paid().total() == 2
    assert len(Report.load(tmp_path / "report.jsonl")) == 2


ROWS: list[Any] = [{"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}]


@pytest.mark.skipif(sys.platform == "win32", reason="no such names of files")
@pytest.mark.parametrize("name", ["C:\\runs\\a", "a:b", "\\\\host\\share", "a b\\", "C:a"])
def test_names_with_backslashes_and_colons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """On POSIX, backslashes and colons are part of a file's name, and no other file is written."""
    monkeypatch.chdir(tmp_path)
    report = evaluate(ROWS, IdRecall(), progress=False)
    for ending, save in (
        (".jsonl", report.save),
        (".parquet", report.save),
        (".csv", report.to_csv),
    ):
        save(f"{name}{ending}")
    assert len(Report.load(f"{name}.jsonl")) == len(Report.open(f"{name}.parquet")) == 1
    judge([1], Paid(tmp_path / "paid"), Path(f"{name}.sqlite"))
    endings = (".csv", ".jsonl", ".parquet", ".sqlite")
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}{e}" for e in endings} | {"paid"}


@pytest.mark.parametrize(
    "name",
    [
        "report.jsonl",
        "report.parquet",
        "table.csv",
        pytest.param("page.html", marks=pytest.mark.rooms),
    ],
)
def test_a_file_that_another_program_has_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """If Windows refuses to replace an open file, the error says so, and the old file stays."""
    report = evaluate(ROWS, IdRecall(), progress=False)
    path = tmp_path / name
    save: Any = {".csv": report.to_csv, ".html": report.to_html}.get(path.suffix, report.save)
    save(path)
    before = contents(tmp_path)
    replace, refused = Path.replace, []

    def refuse_once(self: Path, target: Path) -> Path:
        if Path(target) == path and not refused:
            refused.append(self)
            raise PermissionError(13, "The process cannot access the file", str(target))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refuse_once)
    options = {"replace": True} if save == report.save else {}
    with pytest.raises((ReportError, PermissionError), match="cannot access") as caught:
        save(path, **options)
    assert name in str(caught.value)
    assert ".part" not in str(caught.value)
    assert contents(tmp_path) == before
    save(path, **options)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of each file below a folder."""
    return {str(each): each.read_bytes() for each in folder.rglob("*") if each.is_file()}
