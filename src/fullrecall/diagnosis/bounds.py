"""What the misses of one cause cost: the most that its fix could bring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from fullrecall.calls import identity
from fullrecall.context import Context
from fullrecall.diagnosis.causes import Cause, Diagnosed
from fullrecall.diagnosis.change import ChangeKind
from fullrecall.diagnosis.effects import Baseline, Proposal, Transform
from fullrecall.diagnosis.id_evidence import retrieved
from fullrecall.findings import Step
from fullrecall.measures import Recall


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


BOUNDED = frozenset({*_FIXES, Cause.NOT_IN_PROMPT})
"""The causes of which it is known what finding all of their misses would bring."""


def bounds(baseline: Baseline, misses: Sequence[Miss], *, corpus_known: bool) -> Iterator[Proposal]:
    """Yield for each such cause recall with all of its misses found.

    A text that is indexed in full may be retrieved where it was not: how many are cut, only the
    corpus tells.
    """
    for cause, (kind, action) in _FIXES.items():
        if cause is Cause.TEXT_DIFFERS and not corpus_known:
            continue
        found_targets: dict[int, dict[int, set[int]]] = {}
        for miss in misses:
            if miss.diagnosed.cause is cause:
                rows = found_targets.setdefault(miss.score_index, {})
                rows.setdefault(miss.position, set()).add(miss.target)
        if not found_targets:
            continue
        accepted = cause is Cause.NEAR_DUPLICATE
        targets = {miss.diagnosed.target for miss in misses if miss.diagnosed.cause is cause}
        number = f" ({len(targets):,} target{'s' if len(targets) > 1 else ''})"
        yield Proposal(
            kind,
            action + number,
            {
                score_index: _with(baseline, score_index, found_targets.get(score_index, {}))
                for score_index in baseline.score_indices
            },
            transform=_accepting(baseline, misses) if accepted else None,
        )


def _accepting(baseline: Baseline, misses: Sequence[Miss]) -> Transform:
    """Return what puts behind each duplicate of a missed target the target itself."""
    stands_for: dict[tuple[int, object], list[str]] = {}
    for miss in misses:
        if miss.diagnosed.cause is Cause.NEAR_DUPLICATE and miss.diagnosed.rank is not None:
            row = baseline.rows[miss.position]
            twin = retrieved(row)[miss.diagnosed.rank - 1]
            target = row.results[miss.score_index].targets[miss.target].any_of[0]
            stands_for.setdefault((miss.position, identity(twin)), []).append(target)

    def transform(position: int, contexts: Sequence[Context]) -> Sequence[Context]:
        return [
            accepted
            for context in contexts
            for accepted in (
                context,
                # By ID or by text: whichever the score looks for.
                *(
                    Context(target, id=target)
                    for target in stands_for.get((position, identity(context)), ())
                ),
            )
        ]

    return transform


def reading(baseline: Baseline, misses: Sequence[Miss]) -> Iterator[Proposal]:
    """Yield recall of what the model read, and what reading all that was retrieved would make it.

    Over the rows of which it is known what was read. A bound: a longer prompt may be read worse.
    """
    unread = [miss for miss in misses if miss.diagnosed.cause is Cause.NOT_IN_PROMPT]
    if not unread:
        return
    records = [row.sample.retrieval for row in baseline.rows]
    were_read = [record is not None and record.read is not None for record in records]
    after = {
        score_index: [value if of else None for value, of in zip(values, were_read, strict=True)]
        for score_index, values in baseline.values.items()
    }
    before = {score_index: list(values) for score_index, values in after.items()}
    for miss in unread:
        value = before[miss.score_index][miss.position]
        if value is not None:
            size = len(baseline.rows[miss.position].results[miss.score_index].findings)
            before[miss.score_index][miss.position] = max(0.0, value - 1 / size)
    yield Proposal(
        ChangeKind.READ_ALL,
        "put all that is retrieved into the prompt, for recall of what the model reads",
        after,
        before=before,
        of=" of what was read",
    )


def _with(
    baseline: Baseline, score_index: int, found_targets: Mapping[int, set[int]]
) -> Sequence[float | None]:
    """Return recall of every row, with some targets of some rows found."""
    values = list(baseline.values[score_index])
    for position, targets in found_targets.items():
        result = baseline.rows[position].results[score_index]
        findings = [
            finding._replace(steps=(Step(1, 1.0),)) if nth in targets else finding
            for nth, finding in enumerate(result.ranked)
        ]
        measure = Recall if baseline.k is None else Recall @ baseline.k
        values[position] = replace(result, findings=findings, ranks=None)[measure]
    return values
