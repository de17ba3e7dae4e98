"""What is in a store: how much, of which models, and what it cost to make."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from fullrecall.errors import StoreError
from fullrecall.run.store_file import VERSION, check, reading


class ModelContents(NamedTuple):
    """The completions of one model, and the tokens that they took when they were made."""

    model: str
    completions: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Contents:
    """What a store holds. `first` and `last` are when rows were kept, in UTC; `size` in bytes."""

    version: int
    size: int
    completions: int
    first: str | None
    last: str | None
    models: tuple[ModelContents, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**asdict(self), "models": [model._asdict() for model in self.models]}


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
    log = path.with_name(f"{path.name}-wal")
    size = path.stat().st_size + (log.stat().st_size if log.exists() else 0)
    if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return Contents(VERSION, size, 0, None, None, ())
    connection.execute("BEGIN")  # one view of all tables, whatever another process writes
    models = tuple(ModelContents(*row) for row in connection.execute(_MODELS))
    first, last = map(_date, connection.execute(_TIMES).fetchone())
    return Contents(VERSION, size, sum(model.completions for model in models), first, last, models)


_KEPT = """FROM asks LEFT JOIN names ON names.id = asks.name
    WHERE json_valid(value) AND key GLOB 'answer:*'"""
"""A damaged row is left out: it is to be asked for again."""

_MODELS = f"""SELECT coalesce(names.name, 'unknown') AS model, count(*),
    cast(total(json_extract(value, '$.prompt_tokens')) AS INTEGER),
    cast(total(json_extract(value, '$.completion_tokens')) AS INTEGER)
    {_KEPT} GROUP BY model ORDER BY model"""
_TIMES = f"SELECT min(made), max(made) {_KEPT}"


def _date(timestamp: float | None) -> str | None:
    if timestamp is None:
        return None
    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="seconds")
