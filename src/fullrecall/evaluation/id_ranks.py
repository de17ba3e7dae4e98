"""ID recall alone: samples are found by ranks, and no result is made of any until someone looks.

Whatever is not plain (any-of groups, grades of 0, contexts without an ID, recorded retrievals) is
scored as ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fullrecall.evaluation.work import score_one
from fullrecall.findings import ranks_of
from fullrecall.report.found_rows import FoundRows
from fullrecall.report.row import Row
from fullrecall.sample import Sample
from fullrecall.scorers.ids import IdRecall

if TYPE_CHECKING:
    from fullrecall.evaluation.drivers import Run
    from fullrecall.report.report import Report

_MOST_WAITING = 256
"""Samples that are held until they are totaled, where no rows are kept."""


def only_ids(run: Run) -> bool:
    """Return whether a run finds nothing but IDs, and may do so at once."""
    return (
        run.asks_nobody
        and run.limits.deadline is None
        and all(type(scorer) is IdRecall for scorer in run.scorers)
    )


def find_ids(samples: Iterable[Sample], run: Run, report: Report) -> None:
    """Find the IDs of all samples, and add them to the report, whatever ends the run.

    Raises `KeyboardInterrupt` where the run was asked to stop, and what `samples` raises.
    """
    scorers: list[IdRecall] = list(run.scorers)  # type: ignore[arg-type] # see `only_ids`
    found = FoundRows(scorers)
    most = None if report.keeps_rows else _MOST_WAITING
    count, scores, interruption = run.count, len(scorers), run.interruption
    try:
        for position, sample in enumerate(samples, start=1):
            hits = _hits(sample)
            if hits is None:
                row = Row(position, sample, tuple([score_one(one, sample) for one in scorers]))
                found.add_row(row)
                run.show(row)
            else:
                found.add(sample, hits)
                if sample.single_ids.grades is not None:  # type: ignore[union-attr] # it is plain
                    found.graded = True
                if count is not None:
                    count(scores if sample.single_ids.ids else 0)  # type: ignore[union-attr]
            if len(found.samples) == most:
                report.add_found(found)
                found = FoundRows(scorers)
            if interruption.asked:
                break
    except Exception:
        if not interruption.asked:
            raise
    finally:
        report.add_found(found)
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
