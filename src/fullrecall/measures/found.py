"""Findings as columns: all data that measures read, for any number of samples.

A context is identified by its 1-based position in a sample's list. If the contexts of several calls
were merged, the rank of a context is its rank in its own call, and `ranks` has the rank of each
position, ascending. Otherwise the position is the rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import starmap
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fullrecall.errors import ParameterError
from fullrecall.measures.findings import CreditStep, Finding, Findings
from fullrecall.measures.lists import (
    Floats,
    Integers,
    Lists,
    by_rank,
    count_sums,
    distinct,
    offsets_of,
    rises_of,
    row_maxima,
    row_sums,
)
from fullrecall.measures.of_samples import SampleColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fullrecall.measures.judgments import Judgments

Statuses: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.int8]]

SCORED, UNDEFINED, UNSCORED, UNJUDGED = range(4)
"""The codes of the statuses in a column."""

_EVERYWHERE = 2**31 - 1
"""The last position that counts if k is None: it is beyond the positions of all contexts."""


STEP = np.dtype([("position", np.int32), ("credit", np.float64)])
"""The type of a step: from `position` on, a target has the cumulative `credit`, in (0, 1]."""


def steps_of(positions: Integers, credits_: Floats, offsets: Integers) -> Lists:
    """Return steps as lists, from their positions and credits."""
    steps = np.empty(len(positions), STEP)
    steps["position"], steps["credit"] = positions, credits_
    return Lists(steps, offsets)


@dataclass(eq=False, repr=False)
class FoundColumns:
    """One scorer's findings over many samples; its arrays must not be changed.

    - `status`: the status of each row, as a code; only scored rows have targets.
    - `retrieved`: the number of contexts of each row.
    - `first`: for each target of a row, the position from which it is found in full, or 0.
    - `supports`: for each target, the positions that support it, or a function that returns them on
      demand. None means that only the position in `first` supports it.
    - `steps`: the rises of each target's credit; None means a single rise to 1 at `first`.
    - `grade`, `size`: the grade and the size of each target; None means that all are 1.0.
    - `ranks`: the rank of each position of a row, empty if the position is the rank; None means
      empty for all rows.
    - `samples`: the samples' columns that measures read; None if the samples are not known.
    - `findings`: a function that returns the `Finding`s of a row by rank; some measures read them.
    - `judged`: a function that returns the judgments; None means those of the samples.
    """

    status: Statuses
    retrieved: Integers
    first: Lists
    supports: Lists | Callable[[], Lists] | None = None
    steps: Lists | None = None
    grade: Floats | None = None
    size: Floats | None = None
    ranks: Lists | None = None
    samples: SampleColumns | None = None
    findings: Callable[[int], Findings] | None = None
    judged: Callable[[], Judgments] | None = None

    @classmethod
    def of(
        cls,
        findings: Sequence[Findings],
        retrieved: Sequence[int],
        ranks: Sequence[tuple[int, ...] | None],
        statuses: Sequence[int],
    ) -> FoundColumns:
        """Return the columns of `Finding` objects; a column with only default values is None."""
        every = [finding for row in findings for finding in row]
        offsets = offsets_of(map(len, findings))
        first = [finding.rank or 0 for finding in every]
        whole = all(not finding.steps or (finding.steps[0].credit >= 1.0) for finding in every)
        single = all(
            finding.ranks == ((position,) if position else ())
            for finding, position in zip(every, first, strict=True)
        )
        grades = np.fromiter((finding.target.grade for finding in every), np.float64)
        sizes = np.fromiter((finding.target.size for finding in every), np.float64)
        return cls(
            np.array(statuses, np.int8),
            np.fromiter(retrieved, np.int64),
            Lists(np.fromiter(first, np.int32), offsets),
            None if single else Lists.of([finding.ranks for finding in every]),
            None if whole else Lists.of([finding.steps for finding in every], STEP),
            None if (grades == 1.0).all() else grades,
            None if (sizes == 1.0).all() else sizes,
            None if not any(ranks) else Lists.of([row or () for row in ranks]),
        )

    @classmethod
    def joined(cls, parts: Sequence[FoundColumns]) -> FoundColumns:
        """Return the rows of several parts, one after another."""
        if len(parts) == 1:
            return parts[0]

        def has(name: str) -> bool:
            return any(getattr(part, name) is not None for part in parts)

        def supports() -> Lists:
            return Lists.joined([part.supporting for part in parts])

        ranks = [part.ranks or Lists.empty(len(part)) for part in parts]
        return cls(
            np.concatenate([part.status for part in parts]),
            np.concatenate([part.retrieved for part in parts]),
            Lists.joined([part.first for part in parts]),
            # Join these only when a measure reads them; recall needs only `first`.
            supports if has("supports") else None,
            Lists.joined([part.rising for part in parts]) if has("steps") else None,
            np.concatenate([part.weights("grade") for part in parts]) if has("grade") else None,
            np.concatenate([part.weights("size") for part in parts]) if has("size") else None,
            Lists.joined(ranks) if has("ranks") else None,
        )

    def __len__(self) -> int:
        return len(self.retrieved)

    @property
    def of_samples(self) -> SampleColumns:
        """The samples' columns; raises `ParameterError` if the samples are not known."""
        if self.samples is None:
            raise ParameterError(
                "this measure reads the sample, which this result does not have: read it from the "
                "report, report[0].results[name]"
            )
        return self.samples

    @cached_property
    def judgments(self) -> Judgments:
        """The judged contexts, with their grades."""
        return self.of_samples.judgments if self.judged is None else self.judged()

    def selected(self, rows: Integers) -> FoundColumns:
        """Return the columns of these rows, in the order given."""
        targets = Lists(np.arange(len(self.first.values)), self.first.offsets).selected(rows).values
        return FoundColumns(
            self.status[rows],
            self.retrieved[rows],
            self.first.selected(rows),
            ranks=None if self.ranks is None else self.ranks.selected(rows),
            **self._of_targets(targets),
        )

    def _of_targets(self, targets: Integers) -> dict[str, Any]:
        """Return the columns of these targets; `supports` is computed only when it is read."""
        return {
            "supports": None
            if self.supports is None
            else lambda: self.supporting.selected(targets),
            "steps": None if self.steps is None else self.steps.selected(targets),
            "grade": None if self.grade is None else self.grade[targets],
            "size": None if self.size is None else self.size[targets],
        }

    def graded(self, min_grade: float) -> FoundColumns:
        """Return the columns of the targets whose grade is at least `min_grade`."""
        targets = self.weights("grade") >= min_grade
        own = self._of_targets(np.flatnonzero(targets))
        return replace(self, first=self.first.kept(targets), **own)

    @cached_property
    def targets(self) -> Integers:
        """The number of targets of each row."""
        return self.first.counts

    @property
    def finds_any(self) -> bool:
        """Whether any target is found, in full or in part."""
        partly = self.steps is not None and len(self.steps.values) > 0
        return partly or bool(self.first.values.any())

    @cached_property
    def row_of_target(self) -> Integers:
        """The row of each target."""
        return self.first.rows

    def weights(self, name: str) -> Floats:
        """Return the "grade" or the "size" of each target."""
        own: Floats | None = getattr(self, name)
        return np.ones(len(self.first.values)) if own is None else own

    def attainable(self, k: int | None) -> Integers:
        """Return how many targets of each row fit into the first `k` ranks, one in each context."""
        return self.targets if k is None else self.targets.clip(max=k * self.lists)

    @property
    def _alone(self) -> Lists:
        """The positions at which targets are found in full: one or none for each target."""
        hits = self.first.values > 0
        return Lists(self.first.values[hits], offsets_of(hits.astype(np.int64)))

    @cached_property
    def supporting(self) -> Lists:
        """The positions that support each target."""
        if self.supports is None:
            return self._alone
        return self.supports() if callable(self.supports) else self.supports

    @property
    def supports_follow(self) -> bool:
        """Whether no target has a supporting position other than its position in `first`."""
        return all(map(np.array_equal, self.supporting, self._alone))

    @cached_property
    def rising(self) -> Lists:
        """The rises of each target's credit."""
        if self.steps is not None:
            return self.steps
        positions, offsets = self._alone
        return steps_of(positions, np.ones(len(positions)), offsets)

    @cached_property
    def relevant(self) -> Lists:
        """The distinct positions of each row that support any target, ascending."""
        support = self.supporting
        rows = np.repeat(self.row_of_target, support.counts)
        # Encode each row and position as one number, because NumPy sorts pairs slowly.
        width = int(support.values.max(initial=0)) + 1
        keys = distinct(rows * width + support.values)
        rows, positions = keys // width, keys % width
        counts = np.bincount(rows, minlength=len(self))
        return Lists(positions, offsets_of(counts.astype(np.int64)))

    def cut(self, k: int | Integers | None) -> Integers:
        """Return the last position of each row that is within the first `k` ranks.

        The result is beyond all positions if `k` is None. `k` is one number for all rows, or one
        for each.
        """
        most = np.broadcast_to(np.asarray(_EVERYWHERE if k is None else k), len(self))
        if k is None or self.ranks is None:
            return most
        within = count_sums(self.ranks.values <= most[self.ranks.rows], self.ranks.offsets)
        return np.where(self.ranks.counts > 0, within, most)

    def contexts_within(self, k: int | None) -> Integers:
        """Return how many contexts of each row are within the first `k` ranks."""
        within: Integers = np.minimum(self.retrieved, self.cut(k))
        return within

    @cached_property
    def lists(self) -> Integers:
        """The number of merged lists in each row: the most contexts that share a rank, or 1."""
        if self.ranks is None:
            return np.ones(len(self), np.int64)
        rows, ranks = self.ranks.rows, self.ranks.values
        frequencies = self.ranks.up_to(rows, ranks) - self.ranks.up_to(rows, ranks - 1)
        return row_maxima(frequencies, self.ranks.offsets, empty=1)

    def rank_of(self, rows: Integers, positions: Integers) -> Integers:
        """Return the ranks of positions in rows; position 0, which means none, stays 0."""
        if self.ranks is None or not len(self.ranks.values):
            return positions
        united = (self.ranks.counts[rows] > 0) & (positions > 0)
        indices = np.where(united, self.ranks.offsets[rows] + positions - 1, 0)
        return np.where(united, self.ranks.values[indices], positions)

    def level(self, rows: Integers, positions: Integers) -> Integers:
        """Return, for each of these positions, the last position with the same rank."""
        if self.ranks is None or not len(self.ranks.values):
            return positions
        last = self.ranks.up_to(rows, self.rank_of(rows, positions))
        return np.where(self.ranks.counts[rows] > 0, last, positions)

    def found_within(self, k: int | None) -> Integers:
        """Return how many targets of each row are found in full within the first `k` ranks."""
        return count_sums(self._is_found(k), self.first.offsets)

    def credits(self, k: int | None) -> Floats:
        """Return the credit of each target within the first `k` ranks, in [0, 1]."""
        if self.steps is None:
            return self._is_found(k).astype(np.float64)
        steps, offsets = self.steps
        limits = np.broadcast_to(self._limit(k), self.first.values.shape)[self.steps.rows]
        within: Floats = np.where(steps["position"] <= limits, steps["credit"], 0.0)
        return row_maxima(within, offsets)

    def credit_sums(self, k: int | None, weights: Floats | None = None) -> Floats:
        """Return the weighted sum of the targets' credits within the first `k` ranks, by row."""
        # If all credits are 0 or 1, count them, which takes less time than summing floats.
        if self.steps is None and weights is None:
            return self.found_within(k).astype(np.float64)
        credits_ = self.credits(k)
        return self.sums(credits_ if weights is None else credits_ * weights)

    def sums(self, values: Floats) -> Floats:
        """Return the sum of the targets' values for each row, rounded once."""
        return row_sums(values, self.first.offsets)

    def relevant_within(self, k: int | Integers | None) -> Lists:
        """Return the positions in each row, within the first `k` ranks, that support a target."""
        if k is None:
            return self.relevant
        return self.relevant.kept(self.relevant.values <= self.cut(k)[self.relevant.rows])

    def relevant_count(self, k: int | Integers | None) -> Integers:
        """Return how many contexts in each row, within the first `k` ranks, support a target."""
        return self.relevant_within(k).counts

    def rank_weights(self, k: int | None, weight: Callable[[int], float]) -> Lists:
        """Return the weight of the rank of each relevant context within the first `k` ranks."""
        relevant = self.relevant_within(k)
        ranks = self.rank_of(relevant.rows, relevant.values)
        return Lists(by_rank(ranks, weight), relevant.offsets)

    @cached_property
    def first_relevant(self) -> Integers:
        """The rank of the first context of each row that supports a target, or 0."""
        ranks = np.zeros(len(self), np.int64)
        rows = np.flatnonzero(self.relevant.counts)
        ranks[rows] = self.rank_of(rows, self.relevant.values[self.relevant.offsets[rows]])
        return ranks

    def placed(self, row: int, findings: Findings) -> list[Finding]:
        """Return a row's findings with the credit steps and the support in these columns.

        The findings have positions in place of ranks, and no evidence.
        """
        start = int(self.first.offsets[row])
        return [
            finding._replace(
                steps=tuple(starmap(CreditStep, self.rising.of_row(target))),
                ranks=tuple(self.supporting.of_row(target)),
                evidence=(),
            )
            for target, finding in enumerate(findings, start=start)
        ]

    def share(self, part: NDArray[Any], whole: NDArray[Any]) -> Floats:
        """Return `part / whole`, at most 1.0, and 0.0 for a whole of 0."""
        shares = np.zeros(len(self))
        np.divide(part, whole, out=shares, where=whole != 0)
        return shares.clip(max=1.0)

    def counted(self, k: int | None, count: Callable[[int, int], float]) -> Floats:
        """Return `count(row, contexts within k)` for each row with a target, 0 for other rows."""
        values, contexts = np.zeros(len(self)), self.contexts_within(k)
        for row in np.flatnonzero(self.targets).tolist():
            values[row] = count(row, int(contexts[row]))
        return values

    def defined(
        self, values: Floats, otherwise: float | None, *, needs_target: bool = True
    ) -> Floats:
        """Return the values, with `otherwise` (NaN for None) for rows without a target.

        Unjudged rows get NaN. If not `needs_target`, rows without a target keep their values, and
        only unscored and unjudged rows get NaN.
        """
        if not needs_target:
            return np.where(self.status <= UNDEFINED, values, np.nan)
        empty = np.nan if otherwise is None else otherwise
        valueless = np.where(self.status == UNJUDGED, np.nan, empty)
        return np.where(self.targets == 0, valueless, values)

    def precisions(self, k: int | None) -> Lists:
        """Return the precision at each relevant context within `k`."""
        relevant = self.relevant_within(k)
        hits, contexts = self._above(relevant.rows, relevant.values)
        return Lists(hits / contexts, relevant.offsets)

    def rising_precisions(self, k: int | None) -> Lists:
        """Return the precision at each rise of a target's credit within `k`, times the rise."""
        targets = self.rising.rows
        positions, credits_ = self.rising.values["position"], self.rising.values["credit"]
        rows, rises = self.row_of_target[targets], rises_of(targets, credits_)
        within = positions <= self.cut(k)[rows]
        rows, positions, rises = rows[within], positions[within], rises[within]
        hits, contexts = self._above(rows, positions)
        return Lists(rises * hits / contexts, self.offsets_of_rows(rows))

    def _above(self, rows: Integers, positions: Integers) -> tuple[Integers, Integers]:
        """Count the relevant contexts, and all contexts, that rank at or above each position."""
        level = self.level(rows, positions)
        return self.relevant.up_to(rows, level), level

    def offsets_of_rows(self, rows: Integers) -> Integers:
        """Return the offsets of each row's terms; `rows` is the row of each term, ascending."""
        return offsets_of(np.bincount(rows, minlength=len(self)).astype(np.int64))

    def _is_found(self, k: int | None) -> NDArray[np.bool_]:
        """Return whether each target is found in full within the first `k` ranks."""
        positions = self.first.values
        return (positions > 0) & (positions <= self._limit(k))

    def _limit(self, k: int | None) -> Integers | int:
        """Return, for each target, the last position in its row within the first `k` ranks."""
        if k is None:
            return _EVERYWHERE
        return k if self.ranks is None else self.cut(k)[self.row_of_target]
