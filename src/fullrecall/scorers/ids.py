"""Recall by document ID."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import ClassVar

from fullrecall._util.pieces import paused
from fullrecall.measures import CutBudget, Measure
from fullrecall.measures.findings import CreditStep, Finding, Target, found_at_once
from fullrecall.measures.row import FoundRow
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Result, ResultSource, Status, result_view
from fullrecall.scorers.scorer import (
    DeterministicScorer,
    Found,
    Unmeasured,
    first_positions,
    first_ranks,
    require,
    require_retrieval,
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class IdRecall(DeterministicScorer):
    """The share of the reference IDs that the retriever returned.

    A target is a reference ID, or an any-of group of IDs, whose grade is above 0; it is found at
    the first rank that has one of its IDs. IDs are compared as `str`. A repeated ID keeps its rank
    but counts once. `Recall(min_grade=2)` counts only the targets of grade 2 or more,
    `Recall(weight="grade")` weighs each target by its grade.
    """

    kind: ClassVar[str] = "id_recall"
    labels: ClassVar[Collection[str]] = ("reference_context_ids",)

    def _scored(self, sample: Sample) -> Result:
        if type(self) is not IdRecall:  # a subclass may find targets differently
            return super()._scored(sample)
        ids, single = sample.retrieved_context_ids, sample.single_ids
        if not (single and ids and single.ids and single.grades is None):
            return super()._scored(sample)
        if sample.retrieval is not None or sample.answerable is False:
            return super()._scored(sample)
        try:
            found = first_positions(ids, single.ids)
        except Unmeasured as reason:  # a deadline passed during the scoring
            return self._without_score(reason, sample).asked_of(sample)
        if len(found) > len(single.ids):  # "" or None was found, too: a context has no ID
            return super()._scored(sample)
        source = _IdSource(self, sample, FoundRow([*found.values()], len(ids)))
        return result_view(source, 0, self._method, Status.SCORED, len(ids))

    def _find(self, sample: Sample) -> Found:
        require_retrieval(sample)
        references = require(sample.reference_context_ids, "reference_context_ids")
        ids = sample.retrieved_context_ids or ()
        rank_of = first_ranks(ids)
        findings = [
            _finding(members, grade, sorted(rank_of[name] for name in members if name in rank_of))
            for members, grade in paused(references)
            if grade > 0
        ]
        return Found(findings, len(ids), _missing_ids_note(sample) if None in rank_of else "")


class _IdSource(ResultSource):
    """The source of an `IdRecall` result for one sample; creates findings only if they are read."""

    def __init__(self, scorer: IdRecall, sample: Sample, found: FoundRow) -> None:
        super().__init__()
        self._scorer, self._sample, self._found = scorer, sample, found

    def read(self, measure: Measure) -> Sequence[float | None]:
        """Return a measure's value; `plain` measures need only the positions, not the findings."""
        if measure.plain and not isinstance(measure.k, CutBudget):
            value: float | None = measure.values(self._found)  # type: ignore[arg-type, assignment]
            return (value,)
        return (self._made.counted(measure),)

    @cached_property
    def _made(self) -> Result:
        return self.made(0)

    def made(self, row: int) -> Result:  # noqa: ARG002 - there is one
        """Return the result with its findings."""
        single, found = self._sample.single_ids, self._found
        findings = [
            found_at_once(Target((name,)), position)
            for name, position in zip(single.ids if single else (), found.positions, strict=True)
        ]
        result = Result(self._scorer.method, Status.SCORED, tuple(findings), found.retrieved)
        return result.asked_of(self._sample)

    def sample(self, row: int) -> Sample:  # noqa: ARG002 - there is one
        """Return the sample."""
        return self._sample


def _finding(members: tuple[str, ...], grade: float, ranks: Sequence[int]) -> Finding:
    steps = (CreditStep(ranks[0], 1.0),) if ranks else ()
    return Finding(Target(members, grade), steps, tuple(ranks))


def _missing_ids_note(sample: Sample) -> str:
    """Return a note on how many contexts have no ID; raise `Unmeasured` if none has one."""
    ids = sample.retrieved_context_ids or ()
    without = ids.count(None)
    if without < len(ids):
        return f"{without} of {len(ids)} retrieved contexts have no ID"
    from fullrecall.samples.id_keys import field_paths  # imported here: only this error needs it

    first = next(iter(sample.retrieved_contexts or ()), None)
    fields = [*islice(field_paths(first), _SHOWN)]
    having = f" (it has {', '.join(map(repr, fields))})" if fields else ""
    raise Unmeasured(
        "no retrieved context has an ID: return the id of each, or name its field with "
        f"id_key={having}"
    )


_SHOWN = 8
"""The most fields of a context that a reason names."""
