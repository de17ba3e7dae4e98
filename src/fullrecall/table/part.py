"""Parts of a table: rows that were scored, read or loaded together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from fullrecall.measures import Measure
from fullrecall.measures.findings import Finding, Target, found_at_once
from fullrecall.measures.found import SCORED, UNSCORED, FoundColumns
from fullrecall.measures.lists import Integers, count_sums, offsets_of
from fullrecall.measures.of_samples import Forbidden, SampleColumns
from fullrecall.samples.calls import failures
from fullrecall.samples.sample import Sample
from fullrecall.scorers.id_columns import columns_of
from fullrecall.scorers.id_samples import IdSamples
from fullrecall.scorers.result import Method, Result, Status
from fullrecall.scorers.scorer import NO_REFERENCES
from fullrecall.table.funnel import funnel_counts
from fullrecall.table.groups import IdRange

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fullrecall.table.distinct import DistinctRows
    from fullrecall.table.verdicts import VerdictSums

TIED = "fullrecall.tied_ranks"
"""The key of a sample's metadata with the first and the last rank of each tie in its run."""


class ColumnResults(NamedTuple):
    """Results that are computed when read, from columns, reference IDs, and notes by row index.

    A row that is not in `notes` has the note "" if it is scored, else `NO_REFERENCES`.
    """

    method: Method
    notes: Mapping[int, str]

    def result(self, sample: Sample, columns: FoundColumns, row: int) -> Result:
        """Return the result of a row."""
        is_scored = columns.status[row] == SCORED
        note = self.notes.get(row, "" if is_scored else NO_REFERENCES)
        if is_scored:
            return result_of(self.method, sample, columns, row, note)
        status = tuple(Status)[int(columns.status[row])]
        return Result(self.method, status, retrieved=int(columns.retrieved[row]), note=note)


Results: TypeAlias = Sequence[Result] | ColumnResults
"""The results of one score: objects, or columns from which they are computed when read."""


def result_of(method: Method, sample: Sample, columns: FoundColumns, row: int, note: str) -> Result:
    """Return the result of a row of columns; its targets are the sample's reference IDs."""
    status = tuple(Status)[int(columns.status[row])]
    references = [each for each in sample.reference_context_ids or () if each.grade > 0]
    blank = [Finding(Target(*each)) for each in references[: columns.targets[row]]]
    if columns.supports is None and columns.steps is None:
        positions = columns.first.of_row(row)
        findings = tuple(map(found_at_once, (each.target for each in blank), positions))
    else:
        findings = tuple(columns.placed(row, blank))
    ranks = tuple(columns.ranks.of_row(row)) if columns.ranks is not None else ()
    united = ranks if sample.ranks is not None else None
    return Result(method, status, findings, int(columns.retrieved[row]), note, ranks=united)


class Part(SampleColumns, ABC):
    """Rows with their columns, samples, and results.

    If possible, subclasses answer from columns, without creating samples and results.
    """

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def columns(self, score: int) -> FoundColumns:
        """Return the columns of the score at this index."""

    def outcomes(self, score: int) -> FoundColumns:
        """Return the columns of the score at this index, with access to samples and findings."""
        return replace(
            self.columns(score),
            samples=self,
            findings=partial(self._ranked, score),  # a `partial` can be pickled
        )

    def _ranked(self, score: int, row: int) -> Any:
        """Return a row's findings, with ranks in place of positions."""
        return self.result(row, score).ranked

    @abstractmethod
    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""

    @abstractmethod
    def result(self, row: int, score: int) -> Result:
        """Return the result of a row."""

    def kept_results(self, score: int) -> Sequence[Result] | None:  # noqa: ARG002 - in subclasses
        """Return the kept result objects of a score; None if they are created when read."""
        return None

    @abstractmethod
    def cells(self, name: str) -> Sequence[Any]:
        """Return the "id", "group", "user_input", or "metadata" of each sample."""

    @abstractmethod
    def may_have(self, *columns: str) -> bool:
        """Return whether any sample may have a value in one of these columns of a saved report."""

    @cached_property
    def has_texts(self) -> bool:
        """Whether any sample may have contexts with more than IDs."""
        return self.may_have("contexts", "retrieval")

    @cached_property
    def forbids(self) -> bool:
        """Whether any sample may forbid a context, or be unanswerable."""
        return self.may_have("forbidden_ids", "forbidden_contexts", "superseded", "answerable")

    @cached_property
    def forbidden(self) -> Forbidden | None:
        """The forbidden contexts of all samples; None if `forbids` is False."""
        return Forbidden.of(self.samples()) if self.forbids else None

    def samples(self) -> Iterator[Sample]:
        """Yield all samples."""
        return map(self.sample, range(len(self)))

    def results(self, score: int) -> Iterator[Result]:
        """Yield all results of a score."""
        return (self.result(row, score) for row in range(len(self)))

    @abstractmethod
    def judged(self, score: int) -> bool:
        """Return whether any result of this score may have verdicts."""

    def distinct(self, score: int) -> DistinctRows | None:  # noqa: ARG002 - in subclasses
        """Return one row for each distinct set of findings, with its count; None if unknown."""
        return None

    def notes(self, score: int) -> Counter[str]:
        """Return the notes of the unscored rows, with the number of rows that have each."""
        unscored = np.flatnonzero(self.columns(score).status == UNSCORED).tolist()
        return Counter(self.result(row, score).note for row in unscored)

    def verdicts(self, score: int) -> VerdictSums | None:
        """Return the sums over the verdicts of a score; None if no result has one."""
        if not self.judged(score):
            return None
        from fullrecall.table.verdicts import VerdictSums

        return VerdictSums.of(self.results(score))

    @property
    def has_groups(self) -> bool:
        """Whether any sample names a group."""
        return any(group is not None for group in self.cells("group"))

    @property
    def id_range(self) -> IdRange | None:
        """The range of the IDs; None if it is not known or IDs repeat."""
        return None

    def unanswerable(self) -> tuple[int, int]:
        """Return the numbers of unanswerable questions with a retrieval, and with an empty one."""
        own = self.forbidden
        if own is None:
            return 0, 0
        due = own.unanswerable & own.at_stake
        return int(due.sum()), int((due & own.empty).sum())

    def gaps(self, score: int, measure: Measure) -> NDArray[np.bool_]:
        """Return a mask of the rows with no value because they are unscored; see `Table.gaps`."""
        unscored: NDArray[np.bool_] = self.columns(score).status == UNSCORED
        if not measure.of_sample:
            return unscored
        return unscored & (False if self.forbidden is None else self.forbidden.forbids)

    def retrievals(self) -> Counter[str]:
        """Return counts of the samples' retrievals, by name.

        "united" counts retrievals that merge the contexts of several calls, "failed" those with a
        failed call that was not recovered. Other keys are those of `funnel_counts`.
        """
        counts: Counter[str] = Counter()
        for sample in self.samples() if self.may_have("retrieval") else ():
            record = sample.retrieval
            if record is not None:
                counts["united"] += record.ranks is not None and bool(record.calls)
                counts += funnel_counts(sample, record)
                counts["failed"] += bool(failures(record.calls))
        return counts

    def tied(self, k: int) -> int:
        """Return the number of samples in which ranks `k` and `k` + 1 are tied by equal scores."""
        if not self.may_have("metadata"):
            return 0
        return sum(straddles(metadata, k) for metadata in self.cells("metadata"))

    def same_cells(self, other: Part, name: str) -> bool:  # noqa: ARG002 - in subclasses
        """Return whether another part is known to have the same values in a column."""
        return False

    def same_targets(self, score: int, other: Part, other_score: int) -> bool:  # noqa: ARG002
        """Return whether the results of two scores are known to have the same targets."""
        return False

    def target_digests(self, score: int) -> NDArray[np.uint64]:
        """Return a digest of the targets of each row; see `Table.target_digests`."""
        findings = [result.findings for result in self.results(score)]
        hashes = [_target_hash(finding.target) for row in findings for finding in row]
        return count_sums(_mixed(hashes), offsets_of(map(len, findings)), np.uint64)


@dataclass(eq=False, repr=False)
class MemoryPart(Part):
    """Rows in memory; the results in `kept` are objects, or are created when they are read."""

    kept_samples: Sequence[Sample]
    scores: Sequence[FoundColumns]
    kept: Sequence[Results]

    @classmethod
    def of(cls, samples: Sequence[Sample], results: Sequence[Sequence[Result]]) -> MemoryPart:
        """Return a part with samples, and one result for each score of each sample."""
        columns = [list(column) for column in zip(*results, strict=True)]
        return cls(samples, [columns_of(column) for column in columns], columns)

    def __len__(self) -> int:
        return len(self.kept_samples)

    @cached_property
    def _filled(self) -> AbstractSet[str]:
        """The fields that any sample has."""
        samples = self.kept_samples
        if isinstance(samples, IdSamples):
            return samples.filled
        fields = set[str]().union(*map(vars, samples))
        return fields if any(sample.metadata for sample in samples) else fields - {"metadata"}

    def may_have(self, *columns: str) -> bool:
        """Return whether any sample has a value in one of these columns of a saved report."""
        fields = ("retrieved_contexts" if column == "contexts" else column for column in columns)
        return not self._filled.isdisjoint(fields)

    def samples(self) -> Iterator[Sample]:
        """Yield all samples."""
        return iter(self.kept_samples)

    def cells(self, name: str) -> Sequence[Any]:
        """Return the "id", "group", "user_input", or "metadata" of each sample."""
        samples = self.kept_samples
        if isinstance(samples, IdSamples):
            return samples.cells(name)
        is_filled = name in self._filled or name == "metadata"
        return [getattr(sample, name) for sample in samples] if is_filled else [None] * len(samples)

    def columns(self, score: int) -> FoundColumns:
        """Return the columns of the score at this index."""
        return self.scores[score]

    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""
        return self.kept_samples[row]

    def result(self, row: int, score: int) -> Result:
        """Return the result of a row."""
        kept = self.kept[score]
        if not isinstance(kept, ColumnResults):
            return kept[row]
        return kept.result(self.sample(row), self.columns(score), row)

    def kept_results(self, score: int) -> Sequence[Result] | None:
        """Return the results of a score if they were computed one by one, else None."""
        kept = self.kept[score]
        return None if isinstance(kept, ColumnResults) else kept

    def judged(self, score: int) -> bool:
        """Return whether any result of this score may have verdicts."""
        return not isinstance(self.kept[score], ColumnResults)

    def unusual(self, score: int) -> Iterable[int]:
        """Return the rows that have a note or whose results may not follow from the columns."""
        kept = self.kept[score]
        if not isinstance(kept, ColumnResults):
            return range(len(self))
        return sorted({*np.flatnonzero(self.columns(score).status != SCORED).tolist(), *kept.notes})

    def target_digests(self, score: int) -> NDArray[np.uint64]:
        """Return a digest of the targets of each row; see `Table.target_digests`."""
        columns, kept = self.columns(score), self.kept[score]
        names = _target_names(self.kept_samples)
        # If some names have no target (references of grade 0, unscored rows), use the slower way.
        is_plain = isinstance(kept, ColumnResults) and not kept.notes and columns.grade is None
        if not is_plain or len(names) != len(columns.first.values):
            return super().target_digests(score)
        return count_sums(name_hashes(names), columns.first.offsets, np.uint64)


def straddles(metadata: Any, k: int) -> bool:
    """Return whether a tie in metadata (a mapping or JSON) includes ranks `k` and `k` + 1."""
    if isinstance(metadata, str):
        import json

        metadata = json.loads(metadata) if TIED in metadata else {}
    ties = metadata.get(TIED, ()) if isinstance(metadata, Mapping) else ()
    return any(first <= k < last for first, last in ties)


def _target_names(samples: Sequence[Sample]) -> Sequence[str]:
    """Return the IDs of all references; [] if any reference has alternatives."""
    if isinstance(samples, IdSamples):
        return samples.references.names if samples.sizes is None else []
    single = [sample.single_ids for sample in samples]
    return [] if None in single else list(chain.from_iterable(names.ids for names in single))  # type: ignore[union-attr]


class Selection(Part):
    """Rows of several parts, in any order."""

    def __init__(self, parts: Sequence[Part], rows: Integers) -> None:
        """Select rows by their numbers, which count the rows of all `parts`."""
        starts = offsets_of(map(len, parts))
        self._parts = parts
        self._owners = np.searchsorted(starts, rows, side="right") - 1
        self._rows = rows - starts[self._owners]

    def __len__(self) -> int:
        return len(self._rows)

    def cells(self, name: str) -> Sequence[str | None]:
        """Return the "id", "group", or "user_input" of each sample."""
        owners = self._owners.tolist()
        columns = {owner: self._parts[owner].cells(name) for owner in set(owners)}
        pairs = zip(owners, self._rows.tolist(), strict=True)
        return [columns[owner][row] for owner, row in pairs]

    def may_have(self, *columns: str) -> bool:
        """Return whether any sample may have a value in one of these columns of a saved report."""
        return any(part.may_have(*columns) for part in self._parts)

    def columns(self, score: int) -> FoundColumns:
        """Return the columns of the score at this index."""
        pieces: list[FoundColumns] = [
            self._parts[owner].columns(score).selected(self._rows[self._owners == owner])
            for owner in np.unique(self._owners).tolist()
        ]
        if len(pieces) == 1:
            return pieces[0]
        by_owner = np.argsort(self._owners, kind="stable")
        return FoundColumns.joined(pieces).selected(np.argsort(by_owner))

    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""
        return self._parts[int(self._owners[row])].sample(int(self._rows[row]))

    def result(self, row: int, score: int) -> Result:
        """Return the result of a row."""
        return self._parts[int(self._owners[row])].result(int(self._rows[row]), score)

    def judged(self, score: int) -> bool:
        """Return whether any result of this score may have verdicts."""
        return any(part.judged(score) for part in self._parts)

    def target_digests(self, score: int) -> NDArray[np.uint64]:
        """Return a digest of the targets of each row; see `Table.target_digests`."""
        digests = np.zeros(len(self), np.uint64)
        for owner in np.unique(self._owners).tolist():
            own = self._owners == owner
            digests[own] = self._parts[owner].target_digests(score)[self._rows[own]]
        return digests


def _target_hash(target: Target) -> int:
    """Return a hash of a target, valid within one process only."""
    # Hash a plain ID as `name_hashes` does. Then targets have the same digest, whether they are
    # objects or only IDs in a column.
    is_name = target[1:] == (1.0, 1.0) and len(target.any_of) == 1
    return hash(target.any_of[0] if is_name else target)


def name_hashes(names: Sequence[str]) -> NDArray[np.uint64]:
    """Return the digests of targets that have one name, grade 1, and size 1."""
    return _mixed(list(map(hash, names)))


def _mixed(hashes: Sequence[int]) -> NDArray[np.uint64]:
    """Return hashes with mixed bits, so that sums of different hashes are not equal."""
    mixed = np.array(hashes, np.int64).astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(29))
