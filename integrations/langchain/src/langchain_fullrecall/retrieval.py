"""What was seen of a retrieval, wherever it was seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fullrecall import Context
from fullrecall.context import ID


class Retrieval(NamedTuple):
    """What a retriever brought, or why that is not known; one of the four is given.

    - `contexts`: what it brought, best first; empty where it brought nothing. `ids`: the same
      as IDs, with or without the contexts.
    - `error`: why the retriever failed.
    - `unseen`: why no retrieval was observed at all.
    """

    contexts: Sequence[Context] | None = None
    ids: Sequence[ID | None] | None = None
    error: str | None = None
    unseen: str | None = None

    def sample_fields(self) -> dict[str, Any]:
        """Return the fields of a `Sample` that say the same."""
        return {
            "retrieved_contexts": self.contexts,
            "retrieved_context_ids": self.ids,
            "retrieval": None if self.error is None else {"error": self.error},
        }


def brief(error: BaseException | str, limit: int = 200) -> str:
    """Return an error as one line: of an exception its type and message, without a traceback."""
    if isinstance(error, BaseException):
        error = f"{type(error).__name__}: {error}"
    # A run's `error` is the exception's repr with the traceback right behind it.
    line = " ".join(error.partition("Traceback (most recent call last)")[0].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
