"""Unusable files, read-only files, and full disks are handled."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.run.ledgers import answers_in, keep, kept
from tests.run.stored import CALLS, SAMPLES, answers, run, saved

from fullrecall import IdRecall, Sample, aevaluate, evaluate
from fullrecall.errors import ParameterError, StoreError
from fullrecall.judge.models import ChatRequest, Completion
from fullrecall.run.sqlite import SQLiteLedger, writing
from fullrecall.scorers.result import Status


def test_a_damaged_row_is_asked_for_again(tmp_path: Path) -> None:
    """An answer with a flipped letter, which SQLite does not notice, is replaced."""
    store = tmp_path / "runs.sqlite"
    good = saved(run(store), tmp_path)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE asks SET value = replace(value, 'A stands', 'X stands')")
        connection.execute("UPDATE asks SET value = replace(value, 'supported', 'SUPPORTED')")
    assert saved(run(store), tmp_path) == good
    report = run(store)
    assert report.spent is not None
    assert report.spent.calls == 0


# --- files that cannot serve


def other_sqlite(path: Path) -> None:
    """Make another program's database."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE completions (theirs)")


def newer(path: Path) -> None:
    """Make a store of a later fullrecall."""
    SQLiteLedger(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 6")


def damaged(path: Path) -> None:
    """Make a store, and overwrite its middle."""
    run(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 2] = b"\xff" * (
        len(content) // 2 - len(content) // 3
    )
    path.write_bytes(content)


def cut_off(path: Path) -> None:
    """Make a store, and cut off its second half."""
    run(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: path.write_text("a report\n" * 100), "file is not a database"),
        (lambda path: path.write_text("x"), "nor any SQLite file"),
        (lambda path: path.write_bytes(b"SQLite format 3\x00" + b"junk" * 500), "damaged"),
        (other_sqlite, "not a store of fullrecall's"),
        (newer, "version 6 .* knows 5: upgrade"),
        (damaged, "damaged"),
        (cut_off, "damaged"),
    ],
)
def test_a_file_that_cannot_serve_is_refused_and_left_as_it_is(
    tmp_path: Path, make: Callable[[Path], Any], problem: str
) -> None:
    """The error names the problem; no model is asked, and the file stays byte for byte."""
    path = tmp_path / "runs.sqlite"
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=problem) as told:
        run(path, lambda _: pytest.fail("a model was asked"))
    assert str(path) in str(told.value)
    assert path.read_bytes() == before


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A mistyped path is an error at once."""
    with pytest.raises(StoreError, match="no directory"):
        run(tmp_path / "there" / "runs.sqlite")
    with pytest.raises(StoreError, match="cannot be read"):
        run(tmp_path)


def test_a_bad_path_is_an_error_also_where_nobody_is_asked(tmp_path: Path) -> None:
    """A bad path is an error before the first sample, even for scorers without a model."""
    sample = Sample(retrieved_context_ids=[1], reference_context_ids=[1])

    def drawn() -> Iterator[Sample]:
        pytest.fail("a sample was read")
        yield sample

    bad = tmp_path / "there" / "runs.sqlite"
    with pytest.raises(StoreError, match="no directory"):
        evaluate(drawn(), IdRecall(), store=bad, progress=False)
    with pytest.raises(StoreError, match="no directory"):
        asyncio.run(aevaluate(drawn(), IdRecall(), store=bad, progress=False))
    with pytest.raises(ParameterError, match="store must be a path, got 3"):
        evaluate(drawn(), IdRecall(), store=3, progress=False)  # type: ignore[arg-type]
    good = tmp_path / "runs.sqlite"
    assert evaluate([sample], IdRecall(), store=good, progress=False).rows[0].results[0].score == 1
    assert good.exists()


# --- disks that take no more


@contextmanager
def without_privileges(folder: Path) -> Iterator[None]:
    """Run as a user whom file modes restrict, which they do not for root."""
    root = os.geteuid() == 0
    if root:
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, 65_534)
        os.seteuid(65_534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize("filled", [True, False], ids=["filled", "new"])
def test_a_read_only_store_serves_what_it_has(folder: Path, *, filled: bool) -> None:
    """A read-only store serves its answers, with one warning and all results."""
    store = folder / "runs.sqlite"
    if filled:
        run(store, samples=SAMPLES[:4])
        store.chmod(0o444)
    folder.chmod(0o555)
    why = "readonly database" if filled else "unable to open"
    with without_privileges(folder), pytest.warns(UserWarning, match=why) as told:
        report = run(store)
    assert len(told) == 1
    assert {row.results[0].status for row in report.rows} == {Status.SCORED}
    assert report.spent is not None
    assert report.spent.calls == (3 if filled else CALLS)


def test_a_full_disk_ends_the_keeping_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk gives one warning and all results, and earlier answers stay."""
    path = tmp_path / "runs.sqlite"
    run(path, samples=SAMPLES[:2])
    kept = len(answers_in(path))

    def limited(path: Path) -> sqlite3.Connection:
        connection = writing(path)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        return connection

    monkeypatch.setattr("fullrecall.run.sqlite.writing", limited)
    with pytest.warns(UserWarning, match="disk is full") as told:
        report = run(path, padded)
    assert len(told) == 1
    assert {row.results[0].status for row in report.rows} == {Status.SCORED}
    assert len(answers_in(path)) >= kept
    monkeypatch.undo()
    # Leases that could not be ended expire: the next run does not wait long for any.
    with closing(sqlite3.connect(path)) as connection:
        leased = [key for (key,) in connection.execute("SELECT key FROM leases")]
    assert leased
    with monkeypatch.context() as patched:
        patched.setattr("fullrecall.run.ledger.LEASE_SECONDS", 0.04)
        time.sleep(0.08)
        with SQLiteLedger(path) as ledger:
            assert all(ledger.lease(key)[1].result() for key in leased)
    assert saved(run(path), tmp_path) == saved(run(None), tmp_path)


def padded(request: ChatRequest) -> str:
    """Return a long answer."""
    return json.dumps({**json.loads(answers(request)), "thoughts": "x" * 60_000})


FULL = """
import resource, sys, warnings
sys.path.insert(0, {folder!r})
from tests.run import test_store_file
warnings.simplefilter("always")
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
report = test_store_file.run(sys.argv[1], test_store_file.padded)
print(report.summary()[0].scored, report.summary()[0].unscored)
"""


def test_a_file_that_may_grow_no_further(tmp_path: Path) -> None:
    """If the system refuses to write, by a quota or a full disk, results come with one warning."""
    program = FULL.format(folder=str(Path(__file__).parents[2]))
    store = tmp_path / "runs.sqlite"
    done = subprocess.run(
        [sys.executable, "-c", program, str(store)], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == [str(len(SAMPLES)), "0"], done.stderr
    assert done.stderr.count("keeps nothing from here on") == 1
    assert 0 < len(answers_in(store)) < CALLS
    assert run(store).spent.calls < CALLS  # type: ignore[union-attr]


@pytest.mark.skipif(os.name != "posix", reason="Windows locks otherwise")
@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_named_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """A file system without locks is an error at once; SQLite would wait for half a minute."""

    def lockf(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.lockf", lockf)
    with pytest.raises(StoreError, match=r"has no locks .*: name a store on a local disk"):
        run(tmp_path / "runs.sqlite")
    assert list(tmp_path.iterdir()) == []


FULL_FOR_A_WHILE = """
import resource, sys, warnings
sys.path.insert(0, {folder!r})
from tests.run import test_store_file
from tests.run.test_store_file import padded, run
from fullrecall.run import ledger
warnings.simplefilter("ignore")
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
sent = [0]

def script(request):
    sent[0] += 1
    if sent[0] == 3:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    if sent[0] == int(sys.argv[2]):
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        if sys.argv[3] == "again":
            opened[0].save_again()
    return padded(request)

opened = []
remember = ledger.Ledger.__init__
def made(self, *arguments):
    remember(self, *arguments)
    opened.append(self)
ledger.Ledger.__init__ = made
report = run(sys.argv[1], script)
print(report.summary()[0].scored, report.spent.calls, opened[0].problem == "")
"""


@pytest.mark.parametrize("when", ["again", "at the end"])
@pytest.mark.parametrize("room", [6, 8, 9])
def test_answers_that_a_full_disk_refused_are_written_later(
    tmp_path: Path, when: str, room: int
) -> None:
    """Answers that a full disk refused are written once there is room, so none is paid again."""
    program = FULL_FOR_A_WHILE.format(folder=str(Path(__file__).parents[2]))
    store = tmp_path / "runs.sqlite"
    done = subprocess.run(
        [sys.executable, "-c", program, str(store), str(room), when],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [str(len(SAMPLES)), str(CALLS), "True"], done.stderr
    assert len(answers_in(store)) == CALLS
    assert run(store).spent.calls == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["fifo", "directory"])
def test_a_special_file_is_refused(tmp_path: Path, kind: str) -> None:
    """A path that is not a regular file is refused at once, without waiting for a writer."""
    path = tmp_path / "runs.sqlite"
    if kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(StoreError, match="not a regular file"):
        SQLiteLedger(path)


def test_a_record_that_is_no_utf_8(tmp_path: Path) -> None:
    """A record that is not UTF-8 counts as missing, and the other answers are returned."""
    path = tmp_path / "runs.sqlite"
    answers = {f"answer:{n}": Completion(f"{n}: é", 900 + n, 90) for n in range(3)}
    with SQLiteLedger(path) as store:
        for key, answer in answers.items():
            keep(store, key, answer).result(60)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE asks SET value = CAST(x'ff' AS TEXT) WHERE key = 'answer:1'")
    with SQLiteLedger(path) as store:
        assert {key for key in answers if kept(store, key) == answers[key]} == {
            "answer:0",
            "answer:2",
        }
    assert answers_in(path) == ["answer:0", "answer:2"]


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_store_that_is_gone_is_noticed(tmp_path: Path, how: str) -> None:
    """A store whose file is gone raises at once, and does not touch a new file in its place."""
    path = tmp_path / "runs.sqlite"
    store = SQLiteLedger(path)
    keep(store, "answer:1", Completion("1")).result(60)
    for file in tmp_path.glob("runs.sqlite*"):
        file.unlink()
    if how == "replaced":
        SQLiteLedger(path).close()
    keep(store, "answer:2", Completion("2")).result(60)
    assert "was deleted or replaced while it was in use" in store.problem
    assert store.lease("answer:3")[1].result(60) is True, "the run goes on without it"
    store.close()
    assert path.exists() == (how == "replaced")
    if how == "replaced":
        assert len(answers_in(path)) == 0


def test_a_store_that_is_opened_again_keeps_its_locks(tmp_path: Path) -> None:
    """Opening a store twice keeps its locks, so no other process deletes the log in use."""
    path = tmp_path / "s"

    def counted_elsewhere() -> int:
        command = [sys.executable, "-c", _COUNT, str(path)]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    with SQLiteLedger(path) as store:
        for number in (1, 2):
            keep(store, f"answer:{number}", Completion("yes")).result()
            SQLiteLedger(path).close()
            assert counted_elsewhere() == number


_COUNT = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT count(*) FROM asks").fetchone()[0])
connection.close()
"""
