"""Parts of a table: rows that were scored, read or loaded together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fullrecall.calls import failures
from fullrecall.findings import Findings, Target
from fullrecall.result import Result, Status
from fullrecall.sample import Sample
from fullrecall.table.found import FoundColumns
from fullrecall.table.funnel import funnel_counts
from fullrecall.table.lists import Integers, offsets_of

Statuses: TypeAlias = NDArray[np.int8]

SCORED, UNDEFINED, UNSCORED = range(3)
"""How a status stands in a column."""

CODES = {Status.SCORED: SCORED, Status.UNDEFINED: UNDEFINED, Status.UNSCORED: UNSCORED}


@dataclass(frozen=True)
class ScoreColumns:
    """One score of some rows: the status of each, and where its targets are found.

    Only scored rows have targets in `found`.
    """

    status: Statuses
    found: FoundColumns

    @classmethod
    def of(cls, results: Sequence[Result]) -> ScoreColumns:
        """Return the columns of results made one by one."""
        scored = [result.status is Status.SCORED for result in results]
        return cls(
            np.fromiter((CODES[result.status] for result in results), np.int8),
            FoundColumns.of(
                [
                    result.findings if has_score else ()
                    for result, has_score in zip(results, scored, strict=True)
                ],
                [result.retrieved for result in results],
                [result.ranks for result in results],
            ),
        )

    @classmethod
    def joined(cls, parts: Sequence[ScoreColumns]) -> ScoreColumns:
        """Return the rows of several, one after another."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([part.status for part in parts]),
            FoundColumns.joined([part.found for part in parts]),
        )

    def taken(self, rows: Integers) -> ScoreColumns:
        """Return the columns of these rows, in the order given."""
        return ScoreColumns(self.status[rows], self.found.taken(rows))


class Part(Protocol):
    """Rows with their columns, and what a view shows of each."""

    @property
    def ids(self) -> Sequence[str | None]:
        """The ID of each sample."""
        ...

    @property
    def groups(self) -> Sequence[str | None]:
        """The group that each sample names."""
        ...

    @property
    def questions(self) -> Sequence[str | None]:
        """The question of each sample."""
        ...

    def __len__(self) -> int:
        """Return how many rows there are."""
        ...

    def columns(self, score: int) -> ScoreColumns:
        """Return the columns of the score at this index."""
        ...

    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""
        ...

    def result(self, row: int, score: int) -> Result:
        """Return the result of a row."""
        ...

    def taken(self, rows: Integers) -> Part:
        """Return these rows, in the order given."""
        ...

    def judged(self, score: int) -> bool:
        """Return whether any result of this score may have verdicts."""
        ...

    def notes(self, score: int, rows: Integers) -> Iterable[str]:
        """Return the notes of some rows' results."""
        ...

    def retrievals(self) -> Counter[str]:
        """Return of how many samples the retrieval was "united" of calls, or had a "failed" one."""
        ...

    @property
    def has_texts(self) -> bool:
        """Whether any sample may have contexts beside their IDs."""
        ...

    @property
    def forbids(self) -> bool:
        """Whether any sample may forbid a context."""
        ...

    def target_digests(self, score: int) -> NDArray[np.uint64]:
        """Return a number for the targets of each row; see `Table.target_digests`."""
        ...


class Results(Protocol):
    """The results of one score, made when somebody looks."""

    def of(self, row: int, sample: Sample) -> Result:
        """Return the result of a row, given its sample."""
        ...

    def taken(self, rows: Integers) -> Results:
        """Return the results of these rows."""
        ...


@dataclass(frozen=True)
class Kept:
    """Results that were made one by one: by a judge, or by a scorer of the user's."""

    results: Sequence[Result]

    def of(self, row: int, sample: Sample) -> Result:  # noqa: ARG002 - it is there
        """Return the result of a row."""
        return self.results[row]

    def taken(self, rows: Integers) -> Kept:
        """Return the results of these rows."""
        return Kept([self.results[row] for row in rows.tolist()])


@dataclass(frozen=True)
class Rescored:
    """Results of which only columns are kept: scoring the sample again gives the whole.

    `follows`: the results of scored rows follow from columns and samples, without a note.
    """

    score: Callable[[Sample], Result]
    follows: bool = False

    def of(self, row: int, sample: Sample) -> Result:  # noqa: ARG002 - the sample decides
        """Return the result of a row."""
        return self.score(sample)

    def taken(self, rows: Integers) -> Rescored:  # noqa: ARG002 - they depend on no row
        """Return the results of these rows."""
        return self


class Samples(Protocol):
    """The samples of a part, made when somebody looks."""

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def __getitem__(self, row: int, /) -> Sample:
        """Return the sample of a row."""
        ...

    def taken(self, rows: Integers) -> Samples:
        """Return the samples of these rows."""
        ...

    @property
    def ids(self) -> Sequence[str | None]:
        """The ID of each sample."""
        ...

    @property
    def groups(self) -> Sequence[str | None]:
        """The group of each sample."""
        ...

    @property
    def questions(self) -> Sequence[str | None]:
        """The question of each sample."""
        ...

    @property
    def has_texts(self) -> bool:
        """Whether any sample may have contexts beside their IDs."""
        ...

    @property
    def forbids(self) -> bool:
        """Whether any sample may forbid a context."""
        ...

    def reference_digests(self) -> NDArray[np.uint64] | None:
        """Return a number for the reference IDs of each row, where they are its targets."""
        ...

    def retrievals(self) -> Counter[str]:
        """Return of how many samples the retrieval was "united" of calls, or had a "failed" one."""
        ...


@dataclass(frozen=True)
class SampleObjects:
    """Samples that there are as objects."""

    samples: Sequence[Sample]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, row: int) -> Sample:
        return self.samples[row]

    def taken(self, rows: Integers) -> SampleObjects:
        """Return the samples of these rows."""
        return SampleObjects([self.samples[row] for row in rows.tolist()])

    @property
    def ids(self) -> Sequence[str | None]:
        """The ID of each sample."""
        return [sample.id for sample in self.samples]

    @property
    def groups(self) -> Sequence[str | None]:
        """The group of each sample."""
        return [sample.group for sample in self.samples]

    @property
    def questions(self) -> Sequence[str | None]:
        """The question of each sample."""
        return [sample.user_input for sample in self.samples]

    @property
    def has_texts(self) -> bool:
        """Whether any sample may have contexts beside their IDs."""
        return True

    @property
    def forbids(self) -> bool:
        """Whether any sample may forbid a context."""
        return True

    def reference_digests(self) -> None:
        """Return nothing: targets are those that a scorer makes of a sample."""

    def retrievals(self) -> Counter[str]:
        """Return of how many samples the retrieval was "united" of calls, or had a "failed" one."""
        return retrievals_of(self.samples)


@dataclass(frozen=True)
class MemoryPart:
    """Rows in memory: columns, and samples and results that are kept or made again."""

    samples: Samples
    scores: tuple[ScoreColumns, ...]
    results: tuple[Results, ...]

    @classmethod
    def of(cls, samples: Sequence[Sample], results: Sequence[Sequence[Result]]) -> MemoryPart:
        """Return the part of samples with the results of each, made one by one."""
        scores = len(results[0]) if results else 0
        columns = [[row[index] for row in results] for index in range(scores)]
        return cls(
            SampleObjects(samples),
            tuple(ScoreColumns.of(column) for column in columns),
            tuple(Kept(column) for column in columns),
        )

    @cached_property
    def ids(self) -> Sequence[str | None]:
        """The ID of each sample."""
        return self.samples.ids

    @cached_property
    def groups(self) -> Sequence[str | None]:
        """The group that each sample names."""
        return self.samples.groups

    @property
    def questions(self) -> Sequence[str | None]:
        """The question of each sample."""
        return self.samples.questions

    def __len__(self) -> int:
        return len(self.samples)

    def columns(self, score: int) -> ScoreColumns:
        """Return the columns of the score at this index."""
        return self.scores[score]

    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""
        return self.samples[row]

    def result(self, row: int, score: int) -> Result:
        """Return the result of a row."""
        return self.results[score].of(row, self.samples[row])

    def taken(self, rows: Integers) -> MemoryPart:
        """Return these rows, in the order given."""
        return MemoryPart(
            self.samples.taken(rows),
            tuple(columns.taken(rows) for columns in self.scores),
            tuple(results.taken(rows) for results in self.results),
        )

    def judged(self, score: int) -> bool:
        """Return whether any result of this score may have verdicts."""
        return isinstance(self.results[score], Kept)

    def notes(self, score: int, rows: Integers) -> Iterable[str]:
        """Return the notes of some rows' results."""
        return (self.result(row, score).note for row in rows.tolist())

    def retrievals(self) -> Counter[str]:
        """Return of how many samples the retrieval was "united" of calls, or had a "failed" one."""
        return self.samples.retrievals()

    @property
    def has_texts(self) -> bool:
        """Whether any sample may have contexts beside their IDs."""
        return self.samples.has_texts

    @property
    def forbids(self) -> bool:
        """Whether any sample may forbid a context."""
        return self.samples.forbids

    def target_digests(self, score: int) -> NDArray[np.uint64]:
        """Return a number for the targets of each row; see `Table.target_digests`."""
        if isinstance(self.results[score], Rescored):
            digests = self.samples.reference_digests()
            if digests is not None:
                return digests
        return digests_of([self.result(row, score).findings for row in range(len(self))])


def digests_of(findings: Sequence[Findings]) -> NDArray[np.uint64]:
    """Return the sum of the hashes of each row's targets."""
    hashes = target_hashes([finding.target for row in findings for finding in row])
    return hash_sums(hashes, offsets_of(map(len, findings)))


def target_hashes(targets: Sequence[Target]) -> NDArray[np.uint64]:
    """Return a number for each target, which holds within one process only."""
    return _mixed(
        [
            hash(
                target.any_of[0] if target[1:] == (1.0, 1.0) and len(target.any_of) == 1 else target
            )
            for target in targets
        ]
    )


def name_hashes(names: Sequence[str]) -> NDArray[np.uint64]:
    """Return the same for targets of one name, of grade and size 1."""
    return _mixed(list(map(hash, names)))


def _mixed(hashes: Sequence[int]) -> NDArray[np.uint64]:
    """Return hashes to be added up: without this, those of two pairs could add up alike."""
    mixed = np.array(hashes, np.int64).astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(29))


def hash_sums(hashes: NDArray[np.uint64], offsets: Integers) -> NDArray[np.uint64]:
    """Return the sum of each row's hashes; sums overflow."""
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])[offsets]
    return np.diff(sums)


def retrievals_of(samples: Iterable[Sample]) -> Counter[str]:
    """Return of how many samples the retrieval was "united" of calls, or had a "failed" one.

    And what their records add to the funnel; see `fullrecall.table.funnel`.
    """
    counts: Counter[str] = Counter()
    for sample in samples:
        if sample.retrieval is not None:
            counts["united"] += sample.retrieval.ranks is not None and bool(sample.retrieval.calls)
            counts += funnel_counts(sample)
            counts["failed"] += bool(failures(sample.retrieval.calls))
    return counts
