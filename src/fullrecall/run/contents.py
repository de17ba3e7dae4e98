"""What is in a store: how much, of which models and scorers, and what it cost to make."""

from __future__ import annotations

import json
import sqlite3
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
    models = [ModelContents(*row) for row in connection.execute(_MODELS)]
    statuses: dict[str, dict[str, int]] = {}
    for scorer, status, count in connection.execute(_STATUSES):
        statuses.setdefault(scorer, {})[status] = count
    first, last = connection.execute(_TIMES).fetchone()
    return Contents(
        VERSION,
        _size(path),
        sum(model.completions for model in models),
        sum(sum(counts.values()) for counts in statuses.values()),
        _date(first),
        _date(last),
        tuple(models),
        tuple(_scorer(scorer, counts) for scorer, counts in statuses.items()),
    )


_KEPT = """FROM asks LEFT JOIN names ON names.id = asks.name
    WHERE json_valid(value) AND key GLOB"""
"""A damaged row is left out: it is to be asked for again."""

_MODELS = f"""SELECT coalesce(names.name, 'unknown') AS model, count(*),
    cast(total(json_extract(value, '$.prompt_tokens')) AS INTEGER),
    cast(total(json_extract(value, '$.completion_tokens')) AS INTEGER)
    {_KEPT} 'answer:*' GROUP BY model ORDER BY model"""
_STATUSES = f"""SELECT coalesce(names.name, '{{}}') AS scorer,
    json_extract(value, '$.status') AS status, count(*)
    {_KEPT} 'result:*' GROUP BY scorer, status ORDER BY scorer, status"""
_TIMES = f"SELECT min(made), max(made) {_KEPT} '*:*'"


def _scorer(name: str, statuses: Mapping[str, int]) -> ScorerContents:
    parameters = {}
    with suppress(ValueError):  # a damaged name
        parameters = json.loads(name)
    return ScorerContents(parameters.pop("scorer", "unknown"), parameters, statuses)


def _size(path: Path) -> int:
    """Return the bytes of a store with its log."""
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


def _date(timestamp: float | None) -> str | None:
    return (
        None
        if timestamp is None
        else datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="seconds")
    )
