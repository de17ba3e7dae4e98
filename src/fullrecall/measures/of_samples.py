"""Columns of samples that measures read: forbidden contexts, costs, judgments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fullrecall.measures.costs import Costs
from fullrecall.measures.lists import Lists, count_sums
from fullrecall.samples.context import Context
from fullrecall.samples.sample import Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fullrecall.measures.judgments import Judgments


class Forbidden(NamedTuple):
    """The forbidden contexts of some rows.

    - `forbids`: whether a row forbids a context; an unanswerable question forbids every context.
    - `at_stake`: true if a row forbids a context and it is known whether a forbidden one was
      returned.
    - `unanswerable`: whether no document answers the question; `empty`: whether no context was
      returned.
    - `positions`: the 1-based positions of the forbidden contexts that were returned, ascending;
      `ranks`: their ranks.
    """

    forbids: NDArray[np.bool_]
    at_stake: NDArray[np.bool_]
    unanswerable: NDArray[np.bool_]
    empty: NDArray[np.bool_]
    positions: Lists
    ranks: Lists

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Forbidden:
        """Return the forbidden contexts of samples."""
        flags, positions, ranks = [], [], []
        for sample in samples:
            leaked = forbidden_positions(sample)
            is_unanswerable, is_empty = sample.answerable is False, not sample.retrieved_context_ids
            flags.append((sample.forbids, leaked is not None, is_unanswerable, is_empty))
            positions.append(leaked or ())
            ranks.append([rank_at(sample, position) for position in leaked or ()])
        forbids, at_stake, unanswerable, empty = np.array(flags, np.bool_).reshape(-1, 4).T
        lists = Lists.of(positions), Lists.of(ranks)
        return cls(forbids, at_stake, unanswerable, empty, *lists)

    def leaks(self, k: int | None) -> NDArray[np.bool_]:
        """Return whether a forbidden context is within the first `k` ranks of each row."""
        within = np.ones(len(self.ranks.values), np.bool_) if k is None else self.ranks.values <= k
        return count_sums(within, self.ranks.offsets) > 0


def forbidden_positions(sample: Sample) -> Sequence[int] | None:
    """Return the 1-based positions of the forbidden contexts, ascending, or None.

    The result is None in three cases: the sample forbids no context; the retrieval failed or was
    not observed; or a text is missing, so that it is unknown whether any context is forbidden.
    """
    if not sample.forbids or not sample.has_retrieval or sample.retrieval_error is not None:
        return None
    ids = sample.retrieved_context_ids or ()
    if sample.answerable is False:
        return range(1, len(ids) + 1)
    forbidden = frozenset(sample.forbidden)
    positions = {position for position, name in enumerate(ids, start=1) if name in forbidden}
    is_known = not (ids and forbidden) or any(ids)
    for position, context in enumerate(sample.contexts or (), start=1):
        matches = [holds(context, each) for each in sample.forbidden_contexts or ()]
        if True in matches:
            positions.add(position)
        is_known = is_known and None not in matches
    return sorted(positions) if positions or is_known else None


def holds(context: Context, forbidden: Context) -> bool | None:
    """Return whether a retrieved context is a forbidden one, or has a part of it.

    The first case that applies decides:

    - Both have the same ID: True.
    - Both have offsets: whether their ranges in the same document overlap.
    - The forbidden context has only an ID, and the retrieved one has another ID: False.
    - A text is missing: None, since the answer is unknown.
    - Otherwise: whether, without white space, the context has all of the forbidden text, or 32
      consecutive characters of it; see `fullrecall.samples.prompts.read_in`.
    """
    if forbidden.id is not None and context.id == forbidden.id:
        return True
    if forbidden.start is not None and context.start is not None:
        return _overlap(context, forbidden)
    text = (forbidden.text or "").strip()
    if not text and forbidden.start is None and context.id is not None:
        return False
    if not text or context.text is None:
        return None
    from fullrecall.samples.prompts import read_in

    return read_in([forbidden], [context.text]) != ("no",)


def _overlap(context: Context, forbidden: Context) -> bool:
    # Both contexts have a start, and therefore an end: `or 0` is only for type checkers.
    first = max(context.start or 0, forbidden.start or 0)
    last = min(context.end or 0, forbidden.end or 0)
    return context.source == forbidden.source and first < last


def rank_at(sample: Sample, position: int) -> int:
    """Return the rank of the context at a 1-based position."""
    return position if sample.ranks is None else sample.ranks[position - 1]


class SampleColumns:
    """Data of some samples, for measures that read more than a scorer's findings."""

    def samples(self) -> Iterable[Sample]:
        """Return all samples."""
        raise NotImplementedError

    def sample(self, row: int) -> Sample:
        """Return the sample of a row."""
        raise NotImplementedError

    @cached_property
    def forbidden(self) -> Forbidden | None:
        """The forbidden contexts; None if no sample forbids any."""
        return Forbidden.of(self.samples())

    @cached_property
    def costs(self) -> Costs:
        """The costs of the contexts."""
        return Costs.of(self.samples())

    @cached_property
    def judgments(self) -> Judgments:
        """The judged contexts, with their grades."""
        from fullrecall.measures.judgments import Judgments

        return Judgments.of(self.samples())


class OneSample(SampleColumns):
    """The columns of a single sample."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    def samples(self) -> Iterable[Sample]:
        """Return a list of the single sample."""
        return [self._sample]

    def sample(self, row: int) -> Sample:
        """Return the single sample, for any row."""
        return self._sample
