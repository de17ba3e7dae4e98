"""Recall of lists that a change would make, by the scorers that made the report.

A saved report names its scorers and their parameters. Those that ask nobody are built again from
that, and trusted if they give the recorded scores of recorded samples. Recall by ID is counted
from the targets. A judge is not asked: what only it could tell is not promised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import TypeAlias

from fullrecall.measures import Recall
from fullrecall.samples.context import Context
from fullrecall.scorers import IdRecall
from fullrecall.scorers.derived import rebuilt
from fullrecall.scorers.result import Status
from fullrecall.scorers.scorer import DeterministicScorer
from fullrecall.stats.evaluation import Evaluation
from fullrecall.table.row import Row

_CHECKED = 20
"""So many recorded samples a scorer that was built again must score as they were."""

Rescore: TypeAlias = Callable[[Row, Sequence[Context]], "float | None"]
"""Returns recall of a row's sample over a whole list, None where it is unknown."""


def rescoring(report: Evaluation) -> dict[int, Rescore]:
    """Return what scores other lists, by the index of each score that can be scored again."""
    rescored: dict[int, Rescore] = {}
    for score_index, method in enumerate(report.methods):
        scorer = rebuilt(method)
        if method.headline != Recall or not isinstance(scorer, DeterministicScorer):
            continue
        rows = (row for row in report.rows if row.results[score_index].status is Status.SCORED)
        # Where the saved scores are not given any more, no gain is promised.
        if all(
            _by_scorer(scorer, row, None) == row.results[score_index].score
            for row in islice(rows, _CHECKED)
        ):
            by_id = partial(_by_ids, score_index)
            rescored[score_index] = (
                by_id if isinstance(scorer, IdRecall) else partial(_by_scorer, scorer)
            )
    return rescored


def _by_ids(score_index: int, row: Row, contexts: Sequence[Context]) -> float | None:
    """Return the share of targets of which an ID is among the contexts'."""
    ids = {context.id for context in contexts}
    if ids == {None}:
        return None
    targets = row.results[score_index].targets
    return sum(not ids.isdisjoint(target.any_of) for target in targets) / len(targets)


def _by_scorer(
    scorer: DeterministicScorer, row: Row, contexts: Sequence[Context] | None
) -> float | None:
    """Return recall by a scorer that asks nobody; over the recorded list without another one."""
    sample = row.sample if contexts is None else row.sample.with_retrieval(contexts)
    result = scorer.score(sample)
    return result[Recall] if result.status is Status.SCORED else None
