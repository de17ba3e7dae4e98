"""Where forbidden contexts stand in what was retrieved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fullrecall.sample import Sample
from fullrecall.table.lists import Lists, count_sums


@dataclass(frozen=True)
class Forbidden:
    """The forbidden contexts of some rows.

    - `forbids`: whether a row could leak: something is forbidden, or nothing answers it.
    - `at_stake`: whether, besides, its retrieval was observed.
    - `places`: the 1-based places of its forbidden contexts, ascending; `ranks`: their ranks.
    """

    forbids: NDArray[np.bool_]
    at_stake: NDArray[np.bool_]
    places: Lists
    ranks: Lists

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Forbidden:
        """Return the forbidden contexts of samples."""
        forbids, at_stake, places, ranks = [], [], [], []
        for sample in samples:
            forbids.append(could_leak(sample))
            row = forbidden_places(sample)
            at_stake.append(row is not None)
            places.append(row or ())
            ranks.append([rank_at(sample, place) for place in row or ()])
        return cls(
            np.array(forbids, np.bool_),
            np.array(at_stake, np.bool_),
            Lists.of(places),
            Lists.of(ranks),
        )

    def leaks(self, k: int | None) -> NDArray[np.bool_]:
        """Return whether a forbidden context stands within the first `k` ranks of each row."""
        within = np.ones(len(self.ranks.values), np.bool_) if k is None else self.ranks.values <= k
        return count_sums(within, self.ranks.offsets) > 0


def forbidden_places(sample: Sample) -> Sequence[int] | None:
    """Return the places of the forbidden contexts; None where nothing could leak.

    Nothing could where nothing is forbidden, and where no retrieval was observed.
    """
    if not could_leak(sample) or not sample.has_retrieval or sample.retrieval_error is not None:
        return None
    ids = sample.retrieved_context_ids or ()
    if sample.answerable is False:
        return range(1, len(ids) + 1)
    if ids and not any(ids):
        return None  # without an ID nothing can be told
    forbidden = frozenset(sample.forbidden)
    return [place for place, name in enumerate(ids, start=1) if name in forbidden]


def could_leak(sample: Sample) -> bool:
    """Return whether a sample forbids anything."""
    return sample.answerable is False or bool(sample.forbidden)


def rank_at(sample: Sample, place: int) -> int:
    """Return the rank of the context at a 1-based place."""
    return place if sample.ranks is None else sample.ranks[place - 1]
