"""What measures will read of findings that are made late, worked out beforehand on all cores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial

from fullrecall.findings import LateFindings
from fullrecall.measures.measure import Measure
from fullrecall.measures.sets import AllFound, Recall
from fullrecall.result import Result

_BY_COUNT = frozenset({type(Recall), type(AllFound)})
"""What needs to know how many targets are found within k, and nothing else."""


def is_late(result: Result) -> bool:
    """Return whether it takes long to read measures of a result, beside other threads."""
    return type(result.findings) is LateFindings and result.findings.lengthy


def work_out(result: Result, measures: Iterable[Measure]) -> None:
    """Have all that the measures read of a result ready."""
    findings = result.findings
    if type(findings) is not LateFindings:
        return
    for measure in measures:
        if type(measure) in _BY_COUNT and result.ranks is None:
            findings.found_within(measure.k)
        else:
            tuple(findings)


def work_out_all(pairs: Iterable[tuple[Result, Collection[Measure]]]) -> None:
    """Do the same for many results, each with its measures, on all cores."""
    from fullrecall.cores import cores, on_cores

    late = [(result, measures) for result, measures in pairs if is_late(result)]
    threads = cores()
    if len(late) > 1 and threads > 1:
        calls: Iterable[tuple[Callable[[], None], bool]] = (
            (partial(work_out, *pair), True) for pair in late
        )
        for _ in on_cores(calls, threads):
            pass
