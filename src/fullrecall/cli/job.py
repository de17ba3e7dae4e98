"""How samples are scored, counted, and saved row by row, then shown.

Rows are let go as soon as they are counted, so memory stays flat however long the file is; and
whatever ends a run early, what was scored until then is shown and saved.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fullrecall.cli.console import fail, noting, show, write_json
from fullrecall.cli.exits import INTERRUPTED
from fullrecall.cli.misses import MissedSamples
from fullrecall.cli.outputs import EXPORTS, is_device, is_exported, remove
from fullrecall.cli.problems import as_options, explained
from fullrecall.counts import counted
from fullrecall.errors import FullrecallError, ParameterError, RunStopped
from fullrecall.evaluation.run import RunOptions, evaluate
from fullrecall.measures import Measure
from fullrecall.report import Report, Summary, signing
from fullrecall.report.text import ending
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import UNOBSERVED
from fullrecall.views import terminal
from fullrecall.views.summaries import summary_sheet

if TYPE_CHECKING:
    from fullrecall.cli.scorers import ScorerName
    from fullrecall.read.traces import Joined
    from fullrecall.report import Row
    from fullrecall.results.files.json_lines import Writer as LineWriter
    from fullrecall.scorers import FindingScorer


@dataclass(frozen=True)
class Job:
    """How samples are scored, and what is shown and saved of it."""

    scorers: Sequence[FindingScorer]
    measures: Sequence[Measure]
    options: RunOptions
    missed: MissedSamples
    output: Path | None
    sign: Path | None
    as_json: bool
    quiet: bool


@dataclass
class Outcome:
    """What was scored, and what ended it early if anything did."""

    report: Report
    stopped: BaseException | None = None


def check_key(sign: Path | None, output: Path | None) -> None:
    """Raise for a key that cannot sign, or where nothing is saved that it could."""
    if sign is None:
        return
    if output is None or is_exported(output) or is_device(output):
        raise ParameterError("--sign needs --output REPORT, a .jsonl or .parquet: name one")
    signing.key(sign)


def run_job(
    job: Job,
    samples: Iterable[Sample],
    others: Sequence[ScorerName] | None,
    joined: Joined | None,
) -> None:
    """Evaluate and print; raises `typer.Exit` with the exit code where something went wrong.

    `others` are scorers that these samples allow, too; None where scorers were asked for.
    """
    outcome = _scored(job, samples)
    summary = outcome.report.summary(*job.measures)
    spent = outcome.report.spent
    spent_on = spent.sentence() if spent is not None else ""
    if job.as_json:
        values = summary.to_dict()
        write_json(
            {**values, "spent": spent.to_dict()} if spent is not None and spent_on else values
        )
    elif len(outcome.report) and any(score.scored for score in summary):
        sheet = summary_sheet(summary)
        show(terminal.Grid(sheet))
        if not job.quiet:
            notes = [
                *map(as_options, sheet.notes),
                *_left_out(joined),
                *([spent_on] if spent_on else []),
            ]
            _show_notes(job, outcome, notes, others)
    if outcome.stopped is None:
        _check_something_scored(summary, others)
        return
    _explain(outcome.stopped, outcome.report, summary, job)


def _scored(job: Job, samples: Iterable[Sample]) -> Outcome:
    outcome = Outcome(Report([scorer.method for scorer in job.scorers]))
    saved = None if is_exported(job.output) else job.output
    options: RunOptions = {**job.options, "sink": job.missed.add}
    try:
        with ExitStack() as opened:
            opened.enter_context(noting())
            if saved is not None and is_device(saved):
                from fullrecall.results.files.json_lines import Writer

                lines = opened.enter_context(Writer(saved, outcome.report.methods))
                options["sink"] = lambda row: _passed_on(row, job.missed, lines)
            elif saved is not None:
                remove(saved)
                options["output"] = saved
            if options.get("retriever") is not None:  # what it prints is no part of the output
                opened.enter_context(redirect_stdout(sys.stderr))
            outcome.report = evaluate(samples, job.scorers, **options)
        if job.sign is not None and saved is not None:
            signing.sign(saved, job.sign)
    except (FullrecallError, OSError, KeyboardInterrupt) as stopped:
        outcome.stopped = stopped
        outcome.report.stopped = ending(stopped)
        report = getattr(stopped, "report", None)
        if report is not None:  # one without rows is false, and still says what was spent
            outcome.report = report
    if job.output is not None and saved is None:
        try:
            EXPORTS[job.output.suffix](outcome.report, job.output, measures=job.measures)
        except (FullrecallError, OSError) as stopped:
            outcome.stopped = outcome.stopped or stopped
    return outcome


def _passed_on(row: Row, missed: MissedSamples, lines: LineWriter) -> None:
    """Count what a row misses, and write it as a line."""
    missed.add(row)
    lines.write(row.sample, row.results)


def _left_out(joined: Joined | None) -> Iterator[str]:
    if joined is not None and joined.left_out:
        unasked = f", {joined.unasked:,} of them without a question" if joined.unasked else ""
        samples = counted(joined.left_out, "sample")
        yield f"Left out, since no reference fits: {samples}{unasked}."


def _show_notes(
    job: Job, outcome: Outcome, notes: list[str], others: Sequence[ScorerName] | None
) -> None:
    """Print what is to be said of the scores, and the misses."""
    if others is not None:
        more = f"; --scorer offers {', '.join(others)}, too" if others else ""
        notes.append(f"Scored {', '.join(method.name for method in outcome.report.methods)}{more}.")
    if job.output is not None and outcome.stopped is None:
        notes.append(f"Saved to {job.output}.")
    missed = list(job.missed.shown())
    show("", *notes, *(["", *missed] if notes and missed else missed))


def _check_something_scored(scores: Summary, others: Sequence[ScorerName] | None) -> None:
    """Fail where no sample has any score: a pipeline is not to take that for a result."""
    if any(value.samples for score in scores for value in score.values()):
        return
    reasons = list(dict.fromkeys(reason for score in scores for reason in score.reasons))
    if any(score.undefined for score in scores):
        names = " and ".join(score.method.name for score in scores if score.undefined)
        reasons.append(f"{names}: no targets in any sample; choose another with --scorer")
    if reasons and all(reason.startswith(UNOBSERVED) for reason in reasons):
        reasons.append(
            "Add what your retriever returned to each sample, or have it asked: "
            "--retriever app.py:search"
        )
    if others:
        reasons[3:] = [f"also possible here: --scorer {others[0]}"]
    fail("nothing could be scored", *reasons[:4])


def _explain(stopped: BaseException, report: Report, summary: Summary, job: Job) -> None:
    """Say what ended the run early, and exit with its code."""
    count = len(report)
    if isinstance(stopped, (RunStopped, KeyboardInterrupt)):
        # The rows at its end are those that it gave up.
        count = max(score.scored + score.undefined for score in summary)
    kept = f", saved in {job.output}" if len(report) and job.output else ""
    scored = f"Scored {counted(count, 'sample')} before that{kept}."
    if isinstance(stopped, KeyboardInterrupt):
        fail("interrupted", scored, code=INTERRUPTED)
    fail(*explained(stopped, job.options), scored)
