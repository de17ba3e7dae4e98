"""How a file is evaluated: read, scored, saved and counted row by row, then shown.

Rows are let go as soon as they are counted, so memory stays flat however long the file is; and
whatever ends a run early, what was scored until then is shown and saved.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fullrecall.cli.console import INTERRUPTED, fail, show, write
from fullrecall.cli.misses import MissedSamples
from fullrecall.cli.outputs import check_output, export, is_exported
from fullrecall.cli.problems import explained
from fullrecall.cli.scorers import ScorerName, Settings, chosen, is_left_unjudged
from fullrecall.datasets import read, read_spans, read_trec, with_references
from fullrecall.datasets.traces import Joined
from fullrecall.errors import FullrecallError, InputError, ReportError, RunStopped
from fullrecall.evaluation.run import RunOptions, evaluate
from fullrecall.measures import Measure
from fullrecall.report import Report, Summary, terminal
from fullrecall.report.file import Writer
from fullrecall.report.text import ending
from fullrecall.sample import Sample

if TYPE_CHECKING:
    from fullrecall.scorers import FindingScorer


@dataclass(frozen=True)
class Request:
    """What `fullrecall evaluate` was asked for."""

    file: Path
    run: Path | None
    references: Path | None
    id_key: str | None
    format: str | None
    rename: list[str]
    scorers: list[ScorerName]
    settings: Settings
    k: int | None
    measures: Sequence[Measure]
    limits: RunOptions
    missed: int
    output: Path | None
    as_json: bool
    quiet: bool


@dataclass
class Outcome:
    """What was scored, and what ended it early if anything did."""

    report: Report
    missed: MissedSamples
    stopped: BaseException | None = None


def run_evaluation(request: Request) -> None:
    """Evaluate and print; raises `typer.Exit` with the exit code where something went wrong."""
    try:
        samples, joined = _samples(request)
        first = next(samples)
        scorers = _scorers(request, first)
        if request.output is not None:
            check_output(request.output, [request.file, request.run, request.references])
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    outcome = _scored(chain([first], samples), scorers, request)
    unjudged = is_left_unjudged(request.scorers, request.settings, first)
    try:
        summary = _summary(outcome.report, request)
    except FullrecallError as error:
        fail(*explained(error))
    _show(outcome, summary, scorers, request, unjudged=unjudged, joined=joined)
    _stop(outcome, summary, request)


def _summary(report: Report, request: Request) -> Summary:
    """Return the summary; from the rows that were saved where totals do not suffice."""
    try:
        return report.summary(*request.measures)
    except ReportError:  # sample IDs repeat: only rows show which of them are one group
        if request.output is None or not request.output.is_file():
            raise
        return Report.load(request.output).summary(*request.measures)


def _samples(request: Request) -> tuple[Iterator[Sample], Joined | None]:
    """Return the samples, and what joined them with references, where it did."""
    if request.run is not None:
        for option, value in (
            ("--format", request.format),
            ("--rename", request.rename),
            ("--references", request.references),
            ("--id-key", request.id_key),
        ):
            if value:
                raise typer.BadParameter("must be left out with --run", param_hint=option)
        return read_trec(request.file, request.run), None
    renamed = _renamed(request.rename)
    if request.id_key is not None:
        if renamed:
            raise typer.BadParameter("must be left out with --id-key", param_hint="--rename")
        samples = read_spans(request.file, id_key=request.id_key)
    else:
        samples = read(request.file, format=request.format, rename=renamed)
    if request.references is None:
        return samples, None
    joined = with_references(samples, read(request.references))
    return joined, joined


def _renamed(pairs: Iterable[str]) -> dict[str, str | None]:
    renamed: dict[str, str | None] = {}
    for pair in pairs:
        old, equals, new = pair.rpartition("=")
        if not equals or not old:
            raise typer.BadParameter(f"must be OLD=NEW, got {pair!r}", param_hint="--rename")
        if renamed.setdefault(old, new or None) != (new or None):
            raise typer.BadParameter(f"{old!r} is renamed twice", param_hint="--rename")
    return renamed


def _scorers(request: Request, first: Sample) -> list[FindingScorer]:
    try:
        return chosen(request.scorers, request.settings, first)
    except InputError as error:
        raise error.at(path=str(request.file)) from None


def _scored(samples: Iterable[Sample], scorers: list[FindingScorer], request: Request) -> Outcome:
    exported = is_exported(request.output)
    methods = [scorer.method for scorer in scorers]
    report = Report(methods, keep_rows=exported, measures=request.measures)
    outcome = Outcome(report, MissedSamples(request.missed, methods, request.k))
    try:
        with ExitStack() as opened:
            sinks = [outcome.missed.add]
            if request.output is not None and not exported:
                sinks.append(opened.enter_context(Writer(request.output, methods)).write)
            options: RunOptions = {
                **request.limits,
                "progress": not (request.quiet or request.as_json),
                "sink": lambda row: [sink(row) for sink in sinks],
                "keep": "rows" if exported else "summary",
                "measures": request.measures,
            }
            outcome.report = evaluate(samples, scorers, **options)
    except (FullrecallError, OSError, KeyboardInterrupt) as stopped:
        outcome.stopped = stopped
        outcome.report.stopped = ending(stopped)
        so_far = getattr(stopped, "report", None)
        if so_far is not None:
            outcome.report = so_far
    if request.output is not None and exported:
        try:
            export(outcome.report, request.output, request.measures)
        except (FullrecallError, OSError) as stopped:
            outcome.stopped = outcome.stopped or stopped
    return outcome


def _show(
    outcome: Outcome,
    summary: Summary,
    scorers: list[FindingScorer],
    request: Request,
    *,
    unjudged: bool,
    joined: Joined | None,
) -> None:
    spent = outcome.report.spent
    if request.as_json:
        plain = summary.to_dict()
        if spent is not None and spent.sentence():
            plain["spent"] = spent.to_dict()
        write(json.dumps(plain, indent=2) + "\n")
        return
    if not len(outcome.report):
        return
    show(terminal.summary_table(summary))
    if request.quiet:
        return
    notes = terminal.notes(summary)
    if joined is not None and joined.left_out:
        count = f"{joined.left_out:,} sample{'' if joined.left_out == 1 else 's'}"
        unasked = f", {joined.unasked:,} of them without a question" if joined.unasked else ""
        notes.append(f"Left out, since no reference fits: {count}{unasked}.")
    if spent is not None and spent.sentence():
        notes.append(spent.sentence())
    if not request.scorers:
        names = ", ".join(scorer.method.name for scorer in scorers)
        notes.append(f"Scorers chosen from the first sample: {names}. Override with --scorer.")
    if unjudged:
        notes.append(
            "Reference answers were not judged: add --scorer claim_recall, which needs no model."
        )
    if request.output is not None and outcome.stopped is None:
        notes.append(f"Saved to {request.output}.")
    missed = list(outcome.missed.shown())
    show("", *notes, *(["", *missed] if notes and missed else missed))


def _check_something_scored(scores: Summary) -> None:
    """Fail where no sample has any score: a pipeline is not to take that for a result."""
    if any(score.scored for score in scores):
        return
    reasons = list(dict.fromkeys(reason for score in scores for reason in score.reasons))
    if any(score.undefined for score in scores):
        names = " and ".join(score.method.name for score in scores if score.undefined)
        reasons.append(f"{names}: no targets in any sample; choose another with --scorer")
    fail("nothing could be scored", *reasons[:3])


def _stop(outcome: Outcome, summary: Summary, request: Request) -> None:
    """Say what ended the run early, if anything did, and exit with its code."""
    if outcome.stopped is None:
        _check_something_scored(summary)
        return
    count = len(outcome.report)
    if isinstance(outcome.stopped, (RunStopped, KeyboardInterrupt)):
        # The rows at its end are those that it gave up.
        count = max(score.scored + score.undefined for score in summary)
    kept = f", saved in {request.output}" if len(outcome.report) and request.output else ""
    scored = f"Scored {count:,} sample{'' if count == 1 else 's'} before that{kept}."
    if isinstance(outcome.stopped, KeyboardInterrupt):
        fail("interrupted", scored, code=INTERRUPTED)
    fail(*explained(outcome.stopped), scored)
