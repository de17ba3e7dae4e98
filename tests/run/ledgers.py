"""Completions in a ledger."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

from fullrecall.judge.models import Completion
from fullrecall.run.ledger import Ledger
from fullrecall.run.request import completion_of, text_of
from fullrecall.run.sqlite import reading


def keep(ledger: Ledger, key: str, completion: Completion, lease: str = "") -> Future[str]:
    """Keep a completion; the future is done when it is kept."""
    return ledger.put(key, text_of(completion), lease)


def kept(ledger: Ledger, key: str) -> Completion | None:
    """Return the completion under a key; None if it is missing."""
    value = ledger.get(key)
    return None if value is None else completion_of(value)


def answers_in(path: Path) -> list[str]:
    """Return the key of each answer in a store that can be read; writes nothing."""
    with closing(reading(path)) as connection:
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return []
        answers = connection.execute(
            "SELECT key FROM asks WHERE key GLOB 'answer:*' "
            "AND sum = crc32(CAST(key || value AS BLOB)) ORDER BY key"
        )
        return [key for (key,) in answers]
