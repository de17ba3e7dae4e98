"""The changes of which a record tells what they would bring."""

from __future__ import annotations

from collections.abc import Iterator

from fullrecall.diagnosis.change import ChangeKind
from fullrecall.diagnosis.effects import Baseline, Proposal


def larger_k(baseline: Baseline) -> Iterator[Proposal]:
    """Yield k twice as large, and where that is not all, the k that brings what the lists have.

    That is the smallest of k, 2k, 4k, … that comes within a hundredth of the whole lists.
    """
    k, report = baseline.k, baseline.report
    depth = max(
        (row.results[place].retrieved for row in report.rows for place in baseline.places),
        default=0,
    )
    if k is None or depth <= k:
        return
    ks = [k]
    while ks[-1] < depth:
        ks.append(min(2 * ks[-1], depth))
    whole = {place: _total(baseline, place, depth) for place in baseline.places}
    enough = next(
        one
        for one in ks
        if all(_total(baseline, place, one) >= most - _NEAR for place, most in whole.items())
    )
    for larger in dict.fromkeys((ks[1], max(enough, ks[1]))):
        yield Proposal(
            ChangeKind.LARGER_K,
            f"raise k from {k} to {larger}",
            {place: baseline.values_at(place, larger) for place in baseline.places},
            baseline.contexts(larger),
        )


_NEAR = 0.01


def _total(baseline: Baseline, place: int, k: int) -> float:
    values = [value for value in baseline.values_at(place, k) if value is not None]
    return sum(values) / len(values) if values else 0.0
