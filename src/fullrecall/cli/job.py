"""How samples are scored and saved, and what is said of how it ended.

Whatever ends a run early, what was scored until then is shown and saved.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NoReturn

from fullrecall._util.counts import counted
from fullrecall._util.ending import ending
from fullrecall.cli.console import UnfinishedRun, fail
from fullrecall.errors import FullrecallError, RunStopped
from fullrecall.report import Report, Summary, evaluate
from fullrecall.samples.sample import Sample
from fullrecall.scorers import FindingScorer
from fullrecall.scorers.scorer import UNOBSERVED


def scored(
    samples: Iterable[Sample],
    scorers: Sequence[FindingScorer],
    options: dict[str, Any],
    *,
    output: Path | None,
) -> tuple[Report, BaseException | None]:
    """Return what was scored, saved as `output` is called, and what ended it early, if anything."""
    # There is a report to show whatever ends the run, and however early.
    report, stopped = Report([scorer.method for scorer in scorers]), None
    try:
        if output is not None:
            options["output"] = output
        # What a retriever prints is no output: --json prints nothing else.
        with redirect_stdout(sys.stderr):
            report = evaluate(samples, scorers, **options)
    except (FullrecallError, OSError, KeyboardInterrupt) as error:
        stopped = error
        report.stopped = ending(error)
        partial_report = getattr(error, "report", None)
        if partial_report is not None:  # without rows it is false, and still says what was spent
            report = partial_report
    return report, stopped


def fail_unless_scored(scores: Summary) -> None:
    """Fail where no sample has any score: a pipeline is not to take that for a result."""
    if any(value.samples for score in scores for value in score.values()):
        return
    reasons = list(dict.fromkeys(reason for score in scores for reason in score.reasons))
    if any(score.undefined for score in scores):
        names = " and ".join(score.method.name for score in scores if score.undefined)
        reasons.append(f"{names}: no targets in any sample; choose another with --scorer")
    if any(score.unjudged for score in scores):
        reasons.append("no sample of the run has a relevance judgment")
    if reasons and all(reason.startswith(UNOBSERVED) for reason in reasons):
        reasons.append(
            "Add what your retriever returned to each sample, or have it asked: "
            "--retriever app.py:search"
        )
    fail("nothing could be scored", *reasons[:4])


def raise_with_count(
    stopped: BaseException, report: Report, summary: Summary, output: Path | None
) -> NoReturn:
    """Raise what ended the run early, with how many samples were scored until then."""
    count = len(report)
    if isinstance(stopped, (RunStopped, KeyboardInterrupt)):
        # The rows at its end are those that it gave up.
        count = max(len(report) - score.unscored for score in summary)
    kept = f", saved in {output}" if len(report) and output else ""
    raise UnfinishedRun(f"Scored {counted(count, 'sample')} before that{kept}.") from stopped
