"""Recall of lists that a change would make, by the scorers that made the report.

A saved report names its scorers and their parameters. Those that ask nobody are built again from
that, and trusted if they give the recorded scores of recorded samples. Recall by ID is counted
from the targets. A judge is not asked: what only it could tell is not promised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Protocol

from fullrecall.context import Context
from fullrecall.measures import Recall
from fullrecall.report.report import Report
from fullrecall.result import Result, Status
from fullrecall.scorers import EntityRecall, IdRecall
from fullrecall.scorers.derived import rebuilt
from fullrecall.scorers.scorer import DeterministicScorer, Scorer
from fullrecall.table.row import Row

_CHECKED = 20
"""So many recorded samples a scorer that was built again must score as they were."""


class Rescored(Protocol):
    """Scores lists of one score's samples."""

    def recall(self, row: Row, contexts: Sequence[Context]) -> float | None:
        """Return recall over a whole list, None where it is unknown."""
        ...


class ByIds:
    """Recall by ID, counted from the targets of the recorded result."""

    def __init__(self, score_index: int) -> None:
        self._score_index = score_index

    def recall(self, row: Row, contexts: Sequence[Context]) -> float | None:
        """Return recall over a whole list, None where none of its contexts has an ID."""
        ids = {context.id for context in contexts}
        return None if ids == {None} else self.of_ids(row, ids)

    def of_ids(self, row: Row, ids: set[str | None]) -> float:
        """Return the share of targets of which an ID is among these."""
        targets = row.results[self._score_index].targets
        return sum(not ids.isdisjoint(target.any_of) for target in targets) / len(targets)


class ByScorer:
    """Recall by a scorer that asks nobody."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def recall(self, row: Row, contexts: Sequence[Context]) -> float | None:
        """Return recall over a whole list, None where the scorer cannot compute it."""
        result = self._scorer.score(row.sample.with_retrieval(contexts))
        return result[Recall] if result.status is Status.SCORED else None


def rescoring(report: Report, scorers: Mapping[str, Scorer]) -> dict[int, Rescored]:
    """Return what scores other lists, by the index of each score that can be scored again."""
    rescored: dict[int, Rescored] = {}
    for score_index, method in enumerate(report.methods):
        scorer = scorers.get(method.name) or rebuilt(method)
        if method.headline != Recall or scorer is None or not _asks_nobody(scorer):
            continue
        rows = (row for row in report.rows if row.results[score_index].status is Status.SCORED)
        checked = list(islice(rows, _CHECKED))
        if all(_reproduces(scorer, row, row.results[score_index]) for row in checked):
            rescored[score_index] = (
                ByIds(score_index) if isinstance(scorer, IdRecall) else ByScorer(scorer)
            )
    return rescored


def _asks_nobody(scorer: Scorer) -> bool:
    if isinstance(scorer, EntityRecall):
        return scorer.judge is None
    return isinstance(scorer, DeterministicScorer)


def _reproduces(scorer: Scorer, row: Row, recorded: Result) -> bool:
    again = scorer.score(row.sample)
    return again.status is recorded.status and again.score == recorded.score
