"""Damaged stores: whatever page is lost, the answers on all others are in a new file."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.evaluation.ledgers import answers_in, keep, kept

from fullrecall.errors import StoreError
from fullrecall.models import Completion
from fullrecall.run.salvage import salvaged
from fullrecall.run.sqlite import SQLiteLedger

ROWS = 60
PAGE = 4096


def key(number: int) -> str:
    """Return a key as long as a store's are."""
    return f"answer:{number:064x}"


def answer(number: int) -> Completion:
    """Return an answer; each tenth is longer than a page."""
    long = 9_000 if number % 10 == 0 else 300
    return Completion(f"{number}: " + "é" * long, 900 + number, 90, requests=1 + number % 3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with answers of two models."""
    path = tmp_path_factory.mktemp("whole") / "runs.sqlite"
    with SQLiteLedger(path) as store:
        written = [keep(store, key(n), f"model {n % 2}", answer(n)) for n in range(ROWS)]
        for each in written:
            each.result(60)
    return path


def found(path: Path) -> int:
    """Return how many answers a store has, each as it was."""
    with SQLiteLedger(path) as store:
        found = {number: kept(store, key(number)) for number in range(ROWS)}
    assert all(one == answer(number) for number, one in found.items() if one is not None)
    return sum(one is not None for one in found.values())


@pytest.mark.long
def test_whichever_page_is_lost(whole: Path, tmp_path: Path) -> None:
    """The rows of a page are lost with it, no others, and the damaged file stays as it is."""
    content = whole.read_bytes()
    fewest = ROWS
    for number in range(0, len(content) // PAGE, 2):
        path = tmp_path / f"{number}.sqlite"
        damaged = bytearray(content)
        damaged[number * PAGE : (number + 1) * PAGE] = b"\xa5" * PAGE
        path.write_bytes(damaged)
        told = ""
        try:
            count = found(path)  # a page of nobody's: nothing is noticed
        except StoreError as refused:
            told = str(refused)
        if told:
            salvage = path.with_name(f"{number}-salvaged.sqlite")
            assert f"answers of it could be read, and are in {salvage}" in told
            count = found(salvage)
        assert path.read_bytes() == damaged
        fewest = min(fewest, count)
    assert fewest >= ROWS - 15, "a page holds some of the short answers"


def test_a_second_call_names_the_file_that_is_there(whole: Path, tmp_path: Path) -> None:
    """What a run added to the salvaged store is not written over."""
    path = tmp_path / "runs.sqlite"
    path.write_bytes(whole.read_bytes()[: -5 * PAGE])
    with pytest.raises(StoreError, match=r"runs-salvaged\.sqlite"):
        SQLiteLedger(path)
    salvage = tmp_path / "runs-salvaged.sqlite"
    with SQLiteLedger(salvage) as store:
        keep(store, "answer:new", "m", Completion("x")).result(60)
    with pytest.raises(StoreError, match=r"what could be read of it is in .*runs-salvaged\.sqlite"):
        SQLiteLedger(path)
    with SQLiteLedger(salvage) as store:
        assert kept(store, "answer:new") == Completion("x")
    assert sorted(file.name for file in tmp_path.glob("*.sqlite")) == [
        "runs-salvaged.sqlite",
        "runs.sqlite",
    ]


def test_names_and_times_are_salvaged_too(whole: Path, tmp_path: Path) -> None:
    """The copy has each answer's model and time."""
    path = tmp_path / "runs.sqlite"
    shutil.copy(whole, path)
    assert "60 answers" in salvaged(path)
    assert answers_in(tmp_path / "runs-salvaged.sqlite") == answers_in(whole)


def test_the_log_of_a_killed_run_is_salvaged_too(tmp_path: Path) -> None:
    """What was not yet tidied into the file stands in its log."""
    path = tmp_path / "runs.sqlite"
    with SQLiteLedger(path) as store:
        for number in range(5):
            keep(store, key(number), "m", answer(number)).result(60)
        copied = tmp_path / "killed.sqlite"
        shutil.copy(path, copied)
        shutil.copy(f"{path}-wal", f"{copied}-wal")
    assert "5 answers" in salvaged(copied)
    assert found(tmp_path / "killed-salvaged.sqlite") == 5


def test_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    """Nobody else's file is salvaged, and none is made beside it."""
    path = tmp_path / "notes.txt"
    path.write_text("notes\n" * 5_000)
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("CREATE TABLE completions (a, b)")
        connection.executemany("INSERT INTO completions VALUES (?, ?)", [(b"k", 1)] * 50)
    for each in (path, other):
        with pytest.raises(StoreError, match="not a store") as refused:
            SQLiteLedger(each)
        assert "salvaged" not in str(refused.value)
    assert len(list(tmp_path.iterdir())) == 2
