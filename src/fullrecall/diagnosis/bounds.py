"""What the misses of one cause cost: the most that its fix could bring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from fullrecall.counts import counted
from fullrecall.diagnosis.causes import Cause, Diagnosed
from fullrecall.diagnosis.change import ChangeKind
from fullrecall.diagnosis.effects import Baseline, Proposal, Values, recall_at
from fullrecall.findings import Step


class Miss(NamedTuple):
    """A diagnosed miss with where it is: the row, the score, and the target among its findings."""

    position: int
    score_index: int
    target: int
    diagnosed: Diagnosed


_FIXES: Mapping[Cause, tuple[ChangeKind, str]] = {
    Cause.NEAR_DUPLICATE: (
        ChangeKind.ACCEPT_DUPLICATES,
        "accept duplicates of the references as alternatives",
    ),
    Cause.NOT_IN_CORPUS: (ChangeKind.INDEX_MISSING, "index what the corpus does not have"),
    Cause.TEXT_DIFFERS: (
        ChangeKind.INDEX_IN_FULL,
        "index in full, and in its present version, what differs from its reference",
    ),
    Cause.SPLIT_ACROSS_CHUNKS: (
        ChangeKind.MERGE_CHUNKS,
        "use chunks that hold it whole",
    ),
    Cause.FAILED_CALL: (ChangeKind.MEND_CALLS, "make the calls that failed succeed"),
}
"""The fixes that can be bounded: if all misses of the cause were found, and nothing was lost."""


def bounds(baseline: Baseline, misses: Sequence[Miss], *, corpus_known: bool) -> Iterator[Proposal]:
    """Yield for each such cause recall with all of its misses found.

    A text that is indexed in full may be retrieved where it was not: how many are cut, only the
    corpus tells.
    """
    for cause, (kind, action) in _FIXES.items():
        fixed = [miss for miss in misses if miss.diagnosed.cause is cause]
        if not fixed or (cause is Cause.TEXT_DIFFERS and not corpus_known):
            continue
        targets = {miss.diagnosed.target for miss in fixed}
        after = {
            score_index: _with(
                baseline, score_index, [miss for miss in fixed if miss.score_index == score_index]
            )
            for score_index in baseline.score_indices
        }
        yield Proposal(kind, f"{action} ({counted(len(targets), 'target')})", after)


def _with(baseline: Baseline, score_index: int, fixed: Sequence[Miss]) -> Values:
    """Return recall of every row, with the targets of these misses found."""
    values = list(baseline.values[score_index])
    targets_by_row: dict[int, set[int]] = defaultdict(set)
    for miss in fixed:
        targets_by_row[miss.position].add(miss.target)
    for position, targets in targets_by_row.items():
        result = baseline.rows[position].results[score_index]
        findings = [
            finding._replace(steps=(Step(1, 1.0),)) if nth in targets else finding
            for nth, finding in enumerate(result.ranked)
        ]
        measure = recall_at(baseline.k)
        values[position] = replace(result, findings=findings, ranks=None)[measure]
    return values
