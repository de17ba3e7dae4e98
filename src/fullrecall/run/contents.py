"""What is in a store: how much, of which models and scorers, and what it cost to make."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fullrecall.errors import StoreError
from fullrecall.run.store_file import VERSION, check, reading


@dataclass(frozen=True)
class ModelContents:
    """The completions of one model, and the tokens that they took when they were made."""

    model: str
    completions: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class ScorerContents:
    """The finished results of one scorer with these parameters, counted by status."""

    scorer: str
    parameters: Mapping[str, Any]
    statuses: Mapping[str, int]


@dataclass(frozen=True)
class Contents:
    """What a store holds. `first` and `last` are when rows were kept, in UTC; `size` in bytes."""

    version: int
    size: int
    completions: int
    results: int
    first: str | None
    last: str | None
    models: tuple[ModelContents, ...]
    scorers: tuple[ScorerContents, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def read_contents(path: str | Path) -> Contents:
    """Return what is in a store; writes nothing.

    Raises `StoreError` for a file that is none.
    """
    path = Path(path)
    if not path.exists():
        raise StoreError(f"no store {path}")
    check(path)
    try:
        with closing(reading(path)) as connection:
            return _contents(path, connection)
    except sqlite3.Error as error:
        raise StoreError(f"the store {path} cannot be read: {error}") from None


def _contents(path: Path, connection: sqlite3.Connection) -> Contents:
    if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return Contents(VERSION, _size(path), 0, 0, None, None, (), ())
    connection.execute("BEGIN")  # one view of all tables, whatever another process writes
    models: dict[str, list[int]] = {}
    scorers: dict[str, Counter[str]] = {}
    for key, name, value, _ in connection.execute(_KEPT):
        plain = _plain(value)
        if plain is None:
            continue
        if key.startswith("answer:"):
            counts = models.setdefault(name or "unknown", [0, 0, 0])
            tokens = plain.get("prompt_tokens", 0), plain.get("completion_tokens", 0)
            for place, count in enumerate((1, *tokens)):
                counts[place] += count
        else:
            scorers.setdefault(name or "{}", Counter())[plain.get("status", "unknown")] += 1
    first, last = connection.execute(_TIMES).fetchone()
    return Contents(
        VERSION,
        _size(path),
        sum(counts[0] for counts in models.values()),
        sum(counts.total() for counts in scorers.values()),
        _date(first),
        _date(last),
        tuple(ModelContents(name, *counts) for name, counts in sorted(models.items())),
        tuple(_scorer(name, counts) for name, counts in sorted(scorers.items())),
    )


_KEPT = """SELECT key, names.name, value, made FROM asks LEFT JOIN names ON names.id = asks.name
    WHERE value IS NOT NULL AND (key GLOB 'answer:*' OR key GLOB 'result:*')"""

_TIMES = f"SELECT min(made), max(made) FROM ({_KEPT})"  # noqa: S608 - text of our own


def _plain(value: str) -> dict[str, Any] | None:
    """Return what a row holds; None for a damaged one, which is to be asked for again."""
    with suppress(ValueError):
        plain = json.loads(value)
        if isinstance(plain, dict):
            return plain
    return None


def _scorer(told: str, statuses: Mapping[str, int]) -> ScorerContents:
    parameters = _plain(told) or {}
    counts = dict(sorted(statuses.items()))
    return ScorerContents(parameters.pop("scorer", "unknown"), parameters, counts)


def _size(path: Path) -> int:
    """Return the bytes of a store with its log."""
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


def _date(made: float | None) -> str | None:
    return None if made is None else datetime.fromtimestamp(made, UTC).isoformat(timespec="seconds")
