"""Recall of lists that a change would make, by the scorers that made the report.

A saved report names its scorers and their parameters. Deterministic scorers are rebuilt from these,
and trusted if they reproduce the recorded scores of recorded samples. Recall by ID is counted from
the targets. Scores by a judge are not computed again.
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
"""A rebuilt scorer must reproduce the scores of this many recorded samples."""

Rescore: TypeAlias = Callable[[Row, Sequence[Context]], "float | None"]
"""Returns recall of a row's sample over a whole list, None where it is unknown."""


def rescoring(report: Evaluation) -> dict[int, Rescore]:
    """Return the function that scores another list, by the index of each score that has one."""
    rescored: dict[int, Rescore] = {}
    for score_index, method in enumerate(report.methods):
        scorer = rebuilt(method)
        if method.headline != Recall or not isinstance(scorer, DeterministicScorer):
            continue
        rows = (row for row in report.rows if row.results[score_index].status is Status.SCORED)
        # A scorer that does not reproduce the saved scores gives no gain.
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
    """Return the share of targets with an ID among the contexts' IDs; None without any ID."""
    ids = {context.id for context in contexts}
    if ids == {None}:
        return None
    targets = row.results[score_index].targets
    return sum(not ids.isdisjoint(target.any_of) for target in targets) / len(targets)


def _by_scorer(
    scorer: DeterministicScorer, row: Row, contexts: Sequence[Context] | None
) -> float | None:
    """Return recall by a deterministic scorer, over the recorded list if `contexts` is None."""
    sample = row.sample if contexts is None else row.sample.with_retrieval(contexts)
    result = scorer.score(sample)
    return result[Recall] if result.status is Status.SCORED else None
