"""Files are replaced whole, and no other program's file is opened, followed, or removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fullrecall import IdRecall, Sample, compare, evaluate
from fullrecall._util.whole_files import temporary_path, write_whole
from fullrecall.errors import ReportError
from fullrecall.read import write_jsonl
from fullrecall.report import Report

SAMPLES = [Sample(user_input="q", retrieved_context_ids=["1"], reference_context_ids=["1"])]


@pytest.fixture
def report() -> Report:
    """A report of one sample."""
    return evaluate(SAMPLES, IdRecall(), progress=False)


def listing(folder: Path) -> dict[str, bytes]:
    """Return the content of each file of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


WRITERS = {
    "csv": lambda report, path: report.to_csv(path),
    "markdown": lambda report, path: report.to_markdown(path),
    "html": lambda report, path: report.to_html(path),
    "jsonl": lambda report, path: report.save(path, replace=True),
    "comparison": lambda report, path: compare(report, report).to_html(path),
    "samples": lambda _, path: write_jsonl(SAMPLES, path),
}


@pytest.mark.rooms
@pytest.mark.parametrize("kind", WRITERS)
def test_neighbors_with_likely_names_stay(tmp_path: Path, report: Report, kind: str) -> None:
    """A write leaves other files alone that end in .part, .tmp or a process ID."""
    target = tmp_path / f"report.{'jsonl' if kind == 'jsonl' else kind}"
    target.write_text("old")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    names = [f"{target.name}.part", f"{target.name}.tmp", f".{target.name}.{os.getpid()}.part"]
    for name in names[:2]:
        (tmp_path / name).write_text("mine")
    (tmp_path / names[2]).symlink_to(victim)
    WRITERS[kind](report, target)
    after = listing(tmp_path)
    assert after.pop(target.name) not in (b"", b"old")
    assert after == dict.fromkeys([*names, "victim"], b"mine")
    assert (tmp_path / names[2]).is_symlink()


@pytest.mark.rooms
@pytest.mark.parametrize("kind", WRITERS)
def test_a_link_stays_and_leads_to_the_new_file(tmp_path: Path, report: Report, kind: str) -> None:
    """A write through a link replaces the file that the link names, even a missing one."""
    (tmp_path / "there").mkdir()
    name = f"report.{'jsonl' if kind == 'jsonl' else kind}"
    for target in (tmp_path / "there" / "run7", tmp_path / "there" / "new"):
        link = tmp_path / name
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        WRITERS[kind](report, link)
        assert link.is_symlink()
        assert target.stat().st_size > 3
    assert sorted(listing(tmp_path / "there")) == ["new", "run7"]


def test_a_report_folder_with_another_file_is_not_replaced(tmp_path: Path, report: Report) -> None:
    """`replace=True` removes the files of a report, and refuses a folder with any other file."""
    path = tmp_path / "u.parquet"
    report.save(path)
    report.save(path, replace=True)
    (path / "notes.txt").write_text("mine")
    before = listing(path)
    with pytest.raises(ReportError, match=r"has 'notes\.txt', which no report wrote"):
        report.save(path, replace=True)
    assert listing(path) == before
    (path / "notes.txt").unlink()
    (path / "deeper").mkdir()
    with pytest.raises(ReportError, match="has 'deeper', which no report wrote"):
        report.save(path, replace=True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["u.parquet"]


def test_a_linked_report_folder_is_replaced_where_it_is(tmp_path: Path, report: Report) -> None:
    """A link to a folder stays a link, and its target holds the new report."""
    real, link = tmp_path / "run7.parquet", tmp_path / "latest.parquet"
    report.save(real)
    link.symlink_to(real, target_is_directory=True)
    two = evaluate(SAMPLES * 2, IdRecall(), progress=False)
    with pytest.raises(ReportError, match="exists: pass replace=True"):
        two.save(link)
    two.save(link, replace=True)
    assert link.is_symlink()
    assert len(Report.load(real)) == len(Report.load(link)) == 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["latest.parquet", "run7.parquet"]


def test_a_link_that_leads_nowhere_is_there(tmp_path: Path) -> None:
    """A run writes its rows to a new file, never through a broken link in its place."""
    link = tmp_path / "out.jsonl"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(ReportError, match="exists"):
        evaluate(SAMPLES, IdRecall(), output=link, progress=False)
    assert not (tmp_path / "nowhere").exists()


def test_an_error_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that fails, by a full disk or Ctrl-C, leaves the old file and no other."""
    path = tmp_path / "t.csv"
    path.write_text("old")
    for error in (OSError("full"), KeyboardInterrupt()):

        def fails(*_: object, raised: BaseException = error) -> None:
            raise raised

        monkeypatch.setattr(Path, "replace", fails)
        with pytest.raises(type(error)):
            write_whole(path, b"new")
        assert listing(tmp_path) == {"t.csv": b"old"}


def test_a_write_that_fails_at_the_end_keeps_the_old_file(tmp_path: Path) -> None:
    """A write that fails only when the file is closed leaves the old file unchanged."""
    resource = pytest.importorskip("resource", reason="this system limits no files")
    path = tmp_path / "t.csv"
    path.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            write_whole(path, b"x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert listing(tmp_path) == {"t.csv": b"old"}


def test_a_name_that_is_taken_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write neither follows nor removes a file that already has its temporary name."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr("secrets.token_hex", lambda _: "00")
    temporary_path(tmp_path / "t.csv").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "t.csv", b"new")
    assert victim.read_text() == "mine"
    assert temporary_path(tmp_path / "t.csv").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """A pipe stays a pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"text")
    reader.join()
    assert read == [b"text"]
    assert pipe.is_fifo()


KILLED = """
import sys, time
from fullrecall._util import whole_files
big = b"x" * 1_000_000
print("ready", flush=True)
while True:
    whole_files.write_whole(sys.argv[1], big)
"""


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    """A writer that is killed at any moment leaves a whole file."""
    path = tmp_path / "t.bin"
    path.write_bytes(b"old")
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            while path.stat().st_size == 3:  # Wait until the writer wrote once.
                pass
            process.send_signal(signal.SIGKILL)
        assert path.stat().st_size == 1_000_000
