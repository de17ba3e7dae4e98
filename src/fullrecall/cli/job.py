"""Score and save samples, and report how the run ended.

If any error ends a run early, the samples scored until then are shown and saved.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NoReturn

from fullrecall._util.counts import counted
from fullrecall._util.ending import ending
from fullrecall._util.places import shown_path
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
    """Return the report, saved at `output`, and the error that ended the run early, if any."""
    # Begin with an empty report, so that there is one to show if an error ends the run at once.
    report, stopped = Report([scorer.method for scorer in scorers]), None
    try:
        if output is not None:
            options["output"] = output
        # Send a retriever's prints to standard error, so that --json prints only JSON.
        with redirect_stdout(sys.stderr):
            report = evaluate(samples, scorers, **options)
    except (FullrecallError, OSError, KeyboardInterrupt) as error:
        stopped = error
        report.stopped = ending(error)
        partial_report = getattr(error, "report", None)
        if partial_report is not None:  # true also for a report without rows
            report = partial_report
    return report, stopped


def fail_unless_scored(scores: Summary) -> None:
    """Exit with the reasons if no sample has a score, so that a pipeline notices it."""
    if any(value.samples for score in scores for value in score.values()):
        return
    reasons = list(dict.fromkeys(reason for score in scores for reason in score.reasons))
    if any(score.undefined for score in scores):
        names = " and ".join(score.method.name for score in scores if score.undefined)
        reasons.append(f"{names}: no targets in any sample; choose another with --scorer")
    if any(score.unjudged for score in scores):
        reasons.append("no sample of the run has a relevance judgment")
    if any(" is missing" in reason for reason in reasons):
        names = " and ".join(score.method.name for score in scores)
        reasons.append(
            f"{names} needs it: name its column, --field FIELD=COLUMN; or leave out --scorer and "
            "the options of this score, to score by the fields that there are"
        )
    if reasons and all(reason.startswith(UNOBSERVED) for reason in reasons):
        reasons.append(
            "Add the retrieved contexts to each sample; or name the columns that have them, "
            "--field retrieved_context_ids=COLUMN or '[COLUMN_1, COLUMN_2]'; or have the retriever "
            "asked: "
            "--retriever app.py:search"
        )
    fail("nothing could be scored", *reasons[:4])


def raise_with_count(
    stopped: BaseException, report: Report, summary: Summary, output: Path | None
) -> NoReturn:
    """Raise `UnfinishedRun` from the error, with the number of samples scored until then."""
    count = len(report)
    if isinstance(stopped, (RunStopped, KeyboardInterrupt)):
        # Do not count unscored rows: the last rows are the samples that the run abandoned.
        count = max(len(report) - score.unscored for score in summary)
    kept = f", saved in {shown_path(output)}" if len(report) and output else ""
    raise UnfinishedRun(f"Scored {counted(count, 'sample')} before that{kept}.") from stopped
