"""How a file is evaluated: read, scored, saved and counted row by row, then shown.

Rows are let go as soon as they are counted, so memory stays flat however long the file is; and
whatever ends a run early, what was scored until then is shown and saved.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from glob import glob
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fullrecall import read as datasets
from fullrecall.cli.console import fail, noting, show, write
from fullrecall.cli.exits import INTERRUPTED
from fullrecall.cli.misses import MissedSamples
from fullrecall.cli.outputs import check_output, export, is_device, is_exported, remove
from fullrecall.cli.problems import explained
from fullrecall.cli.retriever import retriever_of
from fullrecall.cli.scorers import ScorerName, Settings, possible, scorers_of
from fullrecall.counts import counted
from fullrecall.errors import FullrecallError, InputError, ParameterError, RunStopped
from fullrecall.evaluation.run import RunOptions, evaluate
from fullrecall.measures import Measure
from fullrecall.read.row_count import row_count
from fullrecall.report import Report, Summary, signing
from fullrecall.report.text import ending
from fullrecall.run.progress import Counted
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import UNOBSERVED
from fullrecall.views import terminal
from fullrecall.views.summaries import summary_sheet

if TYPE_CHECKING:
    from fullrecall.read.traces import Joined
    from fullrecall.read.trec import RunOrder
    from fullrecall.report import Row
    from fullrecall.results.files.json_lines import Writer as LineWriter
    from fullrecall.run.retrievers import RetrieverLike
    from fullrecall.scorers import FindingScorer


_PAIR = r".+?=\w*"
_NAMED_PAIR = r"(?P<old>.+?)=(?P<new>\w*)(?:,|$)"
"""OLD=NEW: a field is a word, a column may be anything."""


@dataclass(frozen=True)
class Request:
    """What `fullrecall evaluate` was asked for."""

    files: Sequence[Path]
    retriever: str | None
    run: Path | None
    order: RunOrder | None
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
    replace: bool
    sign: Path | None
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
        asked = None if request.retriever is None else retriever_of(request.retriever)
        first = next(samples)
        scorers = _scorers(request, first if asked is None else unretrieved(first))
        if request.output is not None:
            inputs = [*request.files, request.run, request.references]
            check_output(request.output, inputs, replace=request.replace)
        _check_key(request)
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    outcome = _scored(chain([first], samples), scorers, request, asked)
    others = [] if request.scorers else [n for n in possible(first) if n not in _names(scorers)]
    try:
        summary = outcome.report.summary(*request.measures)
    except FullrecallError as error:
        fail(*explained(error))
    _show(outcome, summary, scorers, request, others=others, joined=joined)
    _stop(outcome, summary, request, others)


def _samples(request: Request) -> tuple[Iterator[Sample], Joined | None]:
    """Return the samples of all files, and what joined them with references, where it did."""
    if request.run is not None:
        return _samples_of_run(request, request.run), None
    if request.order is not None:
        raise typer.BadParameter("needs --run", param_hint="--order")
    renamed = _renamed(request.rename)
    id_key = request.id_key if request.retriever is None else None
    every = [
        datasets.read(file, format=request.format, rename=renamed, id_key=id_key)
        for file in request.files
    ]
    samples = chain.from_iterable(every)
    if request.references is None:
        return samples, None
    joined = datasets.with_references(samples, datasets.read(request.references))
    return _named(joined, request.references), joined


def _named(joined: Iterable[Sample], references: Path) -> Iterator[Sample]:
    """Yield joined samples; what is wrong with references is said of their file."""
    try:
        yield from joined
    except InputError as error:
        raise error.at(path=str(references)) from None


def _samples_of_run(request: Request, run: Path) -> Iterator[Sample]:
    for option, value in (
        ("--retriever", request.retriever),
        ("--format", request.format),
        ("--rename", request.rename),
        ("--references", request.references),
        ("--id-key", request.id_key),
    ):
        if value:
            raise typer.BadParameter("must be left out with --run", param_hint=option)
    if len(request.files) > 1:
        raise typer.BadParameter(
            f"expected one FILE of qrels, got {len(request.files)}", param_hint="--run"
        )
    return _of_run(datasets.read_trec(request.files[0], run, order=request.order or "score"))


def _of_run(samples: Iterator[Sample]) -> Iterator[Sample]:
    """Yield the samples of a run; what its reader warns of, before the first, becomes a note."""
    with noting():
        first = list(islice(samples, 1))
    yield from chain(first, samples)


def expanded(files: Iterable[Path]) -> list[Path]:
    """Return the files that exist or are named, and those that a pattern in quotes stands for."""
    found: list[Path] = []
    for file in files:
        names = [] if file.exists() else sorted(glob(str(file), recursive=True))  # noqa: PTH207
        found += [Path(name) for name in names] or [file]
    return list(dict.fromkeys(found))


def _renamed(pairs: Iterable[str]) -> dict[str, str | None]:
    renamed: dict[str, str | None] = {}
    for old, new in (one for pair in pairs for one in _pairs(pair)):
        if renamed.setdefault(old, new or None) != (new or None):
            raise typer.BadParameter(f"{old!r} is renamed twice", param_hint="--rename")
    return renamed


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return the pairs of `a=b,c=d`; what stands before an = may hold commas, as columns may."""
    # Several pairs end as one does, and what stands before the last = may be anything: one is asked
    # for. A pattern of several would take time exponential in a text that is no pair.
    if re.fullmatch(_PAIR, text) is None:
        raise typer.BadParameter(f"must be OLD=NEW, got {text!r}", param_hint="--rename")
    return [(one["old"], one["new"]) for one in re.finditer(_NAMED_PAIR, text)]


def unretrieved(sample: Sample) -> Sample:
    """Return a sample as it is before a retriever is asked, whatever its file has."""
    retrieved = ("retrieved_contexts", "retrieved_context_ids", "retrieval")
    return Sample(
        **{name: held for name, held in sample.to_dict().items() if name not in retrieved}
    )


def _names(scorers: Iterable[FindingScorer]) -> list[str]:
    return [scorer.method.name for scorer in scorers]


def _scorers(request: Request, first: Sample) -> list[FindingScorer]:
    try:
        return scorers_of(request.scorers, request.settings, first)
    except InputError as error:
        raise error.at(path=str(request.files[0])) from None


def _counted(samples: Iterable[Sample], request: Request) -> Iterable[Sample]:
    """Return the samples, and with them how many there are where the files tell: for a display."""
    shown = not (request.quiet or request.as_json)
    if not shown or request.run or request.id_key or request.references or request.format:
        return samples
    counts = [row_count(file) for file in request.files]
    if None in counts:
        return samples
    return Counted(iter(samples), range(sum(number or 0 for number in counts)))


def _passed_on(row: Row, missed: MissedSamples, lines: LineWriter) -> None:
    """Count what a row misses, and write it as a line."""
    missed.add(row)
    lines.write(row.sample, row.results)


def _check_key(request: Request) -> None:
    """Raise for a key that cannot sign, or where nothing is saved that it could."""
    if request.sign is None:
        return
    output = request.output
    if output is None or is_exported(output) or is_device(output):
        raise ParameterError("--sign needs --output REPORT, a .jsonl or .parquet: name one")
    signing.key(request.sign)


def _scored(
    samples: Iterable[Sample],
    scorers: list[FindingScorer],
    request: Request,
    asked: RetrieverLike | None,
) -> Outcome:
    exported = is_exported(request.output)
    methods = [scorer.method for scorer in scorers]
    outcome = Outcome(Report(methods), MissedSamples(request.missed, methods, request.k))
    saved = None if exported else request.output
    try:
        if saved is not None:
            remove(saved)
        with ExitStack() as opened:
            opened.enter_context(noting())
            options: RunOptions = {
                **request.limits,
                "retriever": asked,
                "id_key": request.id_key if asked is not None else None,
                "progress": not (request.quiet or request.as_json),
                "sink": outcome.missed.add,
            }
            if saved is not None and is_device(saved):
                from fullrecall.results.files.json_lines import Writer

                lines = opened.enter_context(Writer(saved, methods))
                options["sink"] = lambda row: _passed_on(row, outcome.missed, lines)
            elif saved is not None:
                options["output"] = saved
            if asked is not None:  # what it prints is no part of what this command prints
                opened.enter_context(redirect_stdout(sys.stderr))
            outcome.report = evaluate(_counted(samples, request), scorers, **options)
        if request.sign is not None and saved is not None:
            signing.sign(saved, request.sign)
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
    others: Sequence[ScorerName],
    joined: Joined | None,
) -> None:
    spent = outcome.report.spent
    if request.as_json:
        plain = summary.to_dict()
        if spent is not None and spent.sentence():
            plain["spent"] = spent.to_dict()
        write(json.dumps(plain, indent=2) + "\n")
        return
    if not len(outcome.report) or not any(score.scored for score in summary):
        return
    sheet = summary_sheet(summary)
    show(terminal.Grid(sheet))
    if request.quiet:
        return
    notes = list(sheet.notes)
    if joined is not None and joined.left_out:
        count = f"{joined.left_out:,} sample{'' if joined.left_out == 1 else 's'}"
        unasked = f", {joined.unasked:,} of them without a question" if joined.unasked else ""
        notes.append(f"Left out, since no reference fits: {count}{unasked}.")
    if spent is not None and spent.sentence():
        notes.append(spent.sentence())
    if not request.scorers:
        more = f"; --scorer offers {', '.join(others)}, too" if others else ""
        notes.append(f"Scored {', '.join(_names(scorers))}{more}.")
    if request.output is not None and outcome.stopped is None:
        notes.append(f"Saved to {request.output}.")
    missed = list(outcome.missed.shown())
    show("", *notes, *(["", *missed] if notes and missed else missed))


def _check_something_scored(scores: Summary, others: Sequence[ScorerName]) -> None:
    """Fail where no sample has any score: a pipeline is not to take that for a result."""
    if any(one.samples for score in scores for one in score.values()):
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


def _stop(
    outcome: Outcome, summary: Summary, request: Request, others: Sequence[ScorerName]
) -> None:
    """Say what ended the run early, if anything did, and exit with its code."""
    if outcome.stopped is None:
        _check_something_scored(summary, others)
        return
    count = len(outcome.report)
    if isinstance(outcome.stopped, (RunStopped, KeyboardInterrupt)):
        # The rows at its end are those that it gave up.
        count = max(score.scored + score.undefined for score in summary)
    kept = f", saved in {request.output}" if len(outcome.report) and request.output else ""
    scored = f"Scored {counted(count, 'sample')} before that{kept}."
    if isinstance(outcome.stopped, KeyboardInterrupt):
        fail("interrupted", scored, code=INTERRUPTED)
    fail(*explained(outcome.stopped), scored)
