"""ID recall alone: samples are found by ranks, and no result is made of any until someone looks.

Whatever is not plain (any-of groups, grades of 0, contexts without an ID, recorded retrievals) is
scored as ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fullrecall.findings import ranks_of
from fullrecall.report.found_rows import FoundRows
from fullrecall.report.row import Row
from fullrecall.run.work import score_one
from fullrecall.sample import Sample
from fullrecall.scorers.ids import IdRecall

if TYPE_CHECKING:
    from fullrecall.report.tally import Tallies
    from fullrecall.run.drivers import Run

_MOST_WAITING = 256
"""Samples that are held until they are totaled, where no rows are kept."""


def found_rows(run: Run) -> FoundRows | None:
    """Return where to put what a run finds; None where it does not look for IDs alone, at once."""
    scorers = [scorer for scorer in run.scorers if type(scorer) is IdRecall]
    if len(scorers) < len(run.scorers) or not run.asks_nobody or run.limits.deadline is not None:
        return None
    return FoundRows(scorers)


def find_ids(
    samples: Iterable[Sample], run: Run, found: FoundRows, tallies: Tallies | None = None
) -> None:
    """Find the IDs of all samples; into `tallies`, where they are given, whatever ends the run.

    Raises `KeyboardInterrupt` where the run was asked to stop, and what `samples` raises.
    """
    count, scores, interruption = run.count, len(run.scorers), run.interruption
    try:
        for position, sample in enumerate(samples, start=1):
            hits = _hits(sample)
            if hits is None:
                results = tuple([score_one(scorer, sample) for scorer in run.scorers])
                row = Row(position, sample, results)
                found.add_row(row)
                run.show(row)
            else:
                found.add(sample, hits)
                if count is not None:
                    count(scores if sample.single_ids.ids else 0)  # type: ignore[union-attr]
            if tallies is not None and len(found.samples) == _MOST_WAITING:
                tallies.add_found(found)
                found.clear()
            if interruption.asked:
                break
    except Exception:
        if not interruption.asked:
            raise
    finally:
        if tallies is not None:
            tallies.add_found(found)
    if interruption.asked:
        raise KeyboardInterrupt


def _hits(sample: Sample) -> list[int] | None:
    """Return the ranks at which a plain sample's references are; None where it is not plain."""
    retrieved, single = sample.listed_ids, sample.single_ids
    if (
        single is None
        or retrieved is None
        or (single.grades is not None and min(single.grades, default=1.0) <= 0)
        or sample.retrieval is not None
        or type(sample) is not Sample
    ):
        return None
    try:
        hits, some_without = ranks_of(retrieved, single.ids)
    except Exception:  # noqa: BLE001 - texts of a type of one's own: scoring says what they raise
        return None
    return None if some_without else hits
