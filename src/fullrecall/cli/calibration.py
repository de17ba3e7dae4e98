"""`fullrecall judge label REPORT` and `fullrecall judge calibrate REPORT LABELS`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from fullrecall._util.counts import counted
from fullrecall.calibration import ToLabel
from fullrecall.calibration import calibrate as calibration_of
from fullrecall.calibration.calibration import FEWEST
from fullrecall.cli import options
from fullrecall.cli.console import show, show_result
from fullrecall.cli.options import check_output
from fullrecall.errors import InputError
from fullrecall.read import read_labels
from fullrecall.report import Report
from fullrecall.show import terminal


def label(
    report: options.ReportArgument,
    *,
    n: Annotated[int, options.number(help="Number of claims.")],
    output: Annotated[
        Path, options.output(help="Write them here, a .csv for a spreadsheet. No file is replaced.")
    ],
    labels: Annotated[
        list[Path] | None, options.file(help="Copy the labels of this earlier file; repeatable.")
    ] = None,
    seed: options.SeedOption = 0,
    score: options.ScoreOption = None,
    show_verdicts: Annotated[
        bool, Option("--show-verdicts", help="Write the judge's verdicts too.")
    ] = False,
) -> None:
    """Sample claims of a judged report to label.

    Fill in the column label: supported, not_supported or partial, by the contexts and not by your
    own knowledge. The judge's verdicts are hidden, so that they do not sway you. Then calibrate.

    Examples:
      fullrecall judge label report.jsonl -n 100 --output labels.csv
      fullrecall judge label report.jsonl -n 200 --labels labels.csv -o more.csv
    """
    check_output(output, endings=[".csv"])
    loaded = Report.load(report)
    earlier = read_labels(*labels) if labels else ()
    try:
        drawn = loaded.to_label(
            n, output, labels=earlier, seed=seed, score=score, show_verdicts=show_verdicts
        )
    except InputError as error:
        raise error.at(path=", ".join(map(str, labels or ()))) from None
    show(*_next_steps(drawn, len(loaded), report, output))


def _next_steps(drawn: Sequence[ToLabel], total: int, report: Path, output: Path) -> Iterator[str]:
    """Yield the number of claims and their file, and the next steps."""
    claims = len({claim.item for claim in drawn})
    samples = len({claim.sample for claim in drawn})
    share = f"{samples:,} of {counted(total, 'sample')}"
    yield f"{counted(claims, 'claim')} of {share} ({drawn[0].score}) written to {output}."
    if samples < min(FEWEST, total):
        yield f"Note: calibrate needs labels in at least {FEWEST} samples."
    yield "Fill in the column label: supported, not_supported or partial. Then:"
    yield f"  fullrecall judge calibrate {report} {output}"


def calibrate(
    report: options.ReportArgument,
    labels: Annotated[
        list[Path],
        Argument(metavar="LABELS…", help="Files of `fullrecall judge label`, filled in."),
    ],
    *,
    as_json: options.JsonOption = False,
    score: options.ScoreOption = None,
    confidence: options.ConfidenceOption = 0.95,
) -> None:
    """Measure a judge against human labels.

    LABELS is a file of `fullrecall judge label`, filled in; with several files, one per rater.

    Examples:
      fullrecall judge label report.jsonl -n 100 --output labels.csv
      fullrecall judge calibrate report.jsonl labels.csv
      fullrecall judge calibrate report.jsonl ann.csv bob.csv
    """
    loaded = Report.load(report)
    try:
        read = read_labels(*labels)
        calibration = calibration_of(loaded, read, score=score, confidence=confidence)
    except InputError as error:
        raise error.at(path=", ".join(map(str, labels))) from None
    show_result(calibration.to_dict, terminal.parts(*calibration.sheets), as_json=as_json)
