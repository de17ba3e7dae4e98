"""Which score of a report is meant."""

from __future__ import annotations

from typing import Protocol

from fullrecall.errors import ReportError
from fullrecall.measures import Recall
from fullrecall.result import Method


class Scored(Protocol):
    """What has scores: a report, or its table."""

    @property
    def methods(self) -> tuple[Method, ...]:
        """How each score was made, in order."""
        ...


def index_of(report: Scored, score: str | None) -> int:
    """Return the index of a score in each row, by its name.

    None is the only score, or the only recall beside others. Raises `ReportError` for a name that
    the report does not have, and for None where that leaves several.
    """
    names = [method.name for method in report.methods]
    if score is None:
        if len(names) == 1:
            return 0
        recalls = [n for n, method in enumerate(report.methods) if method.headline == Recall]
        if len(recalls) == 1:
            return recalls[0]
        raise ReportError(
            f"the report has {len(names)} scores ({', '.join(names)}): choose one by its name"
        )
    if score in names:
        return names.index(score)
    raise ReportError(f"no score {score!r} in the report: choose one of {', '.join(names)}")
