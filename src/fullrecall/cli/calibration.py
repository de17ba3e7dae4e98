"""`fullrecall judge label REPORT` and `fullrecall judge calibrate REPORT LABELS`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from fullrecall.calibration import ToLabel, labels_for_width, sheet
from fullrecall.calibration import calibrate as calibration_of
from fullrecall.calibration.needed import FEWEST
from fullrecall.calibration.printout import sheets
from fullrecall.cli.console import fail, show, write_json
from fullrecall.cli.exits import wrong
from fullrecall.cli.options import Positive, Share
from fullrecall.cli.signatures import taking
from fullrecall.counts import counted
from fullrecall.errors import InputError, ParameterError
from fullrecall.read import read_labels
from fullrecall.report import Report
from fullrecall.views import terminal


@taking(Report.to_label, "seed score show_verdicts")
def label(
    report: Path,
    *,
    n: Positive | None = None,
    width: Share | None = None,
    output: Path,
    labels: list[Path] | None = None,
    **drawing: Any,
) -> None:
    """Write claims to label, and say what comes next.

    Fill in the column label: supported, not_supported or partial, by what the contexts say and
    not by what you know. The judge's verdicts are hidden, so that they do not sway you. Then
    calibrate.

    Examples:
      fullrecall judge label report.jsonl -n 100 --output labels.csv
      fullrecall judge label report.jsonl --width 0.1 --output labels.csv
      fullrecall judge label report.jsonl -n 200 --labels labels.csv -o more.csv

    - `n`: Number of claims.
    - `width`: Instead of -n: enough for an interval this wide (estimate).
    - `output`: Write them here: .csv for a spreadsheet, or .jsonl. No file is replaced.
    - `labels`: Copy the labels of this earlier file; repeatable.
    - `show_verdicts`: Write the judge's verdicts too.
    """
    if (n is None) == (width is None):
        raise typer.BadParameter("expected either -n or --width")
    try:
        sheet.check(output)
    except ParameterError as error:
        raise wrong("--output", str(error)) from None
    if not output.parent.is_dir():
        raise wrong("--output", f"no directory {output.parent}")
    loaded = Report.load(report)
    if width is not None:
        n = labels_for_width(loaded, width, score=drawing["score"])
        if n is None:
            fail(
                f"No number of labels makes the interval {width:g} wide",
                "Too few samples: even with all claims labeled, it would be wider.",
            )
    earlier = read_labels(*labels) if labels else ()
    try:
        drawn = loaded.to_label(n or 1, output, labels=earlier, **drawing)
    except InputError as error:
        raise error.at(path=", ".join(map(str, labels or ()))) from None
    show(*_next_steps(drawn, len(loaded), report, output))


def _next_steps(drawn: Sequence[ToLabel], total: int, report: Path, output: Path) -> list[str]:
    """Return what was written, what a spreadsheet will do to it, and what comes next."""
    claims = len({claim.item for claim in drawn})
    samples = len({claim.sample for claim in drawn})
    share = f"{samples:,} of {counted(total, 'sample')}"
    lines = [f"{counted(claims, 'claim')} of {share} ({drawn[0].score}) written to {output}."]
    labeled = len({claim.item for claim in drawn if claim.label})
    if labeled:
        lines.append(f"{labeled:,} of them are labeled already.")
    if samples < min(FEWEST, total):
        lines.append(f"Note: calibrate needs labels in at least {FEWEST} samples.")
    too_long = sheet.too_long(drawn)
    if too_long and output.suffix == ".csv":
        lines.append(
            f"Note: {too_long:,} have a text of more than {sheet.LONGEST_CELL:,} characters, which "
            "Excel splits: use LibreOffice, or .jsonl."
        )
    return [
        *lines,
        "",
        "Fill in the column label: supported, not_supported or partial. Then:",
        f"  fullrecall judge calibrate {report} {output}",
    ]


@taking(calibration_of, "score confidence")
def calibrate(
    report: Path,
    labels: list[Path],
    *,
    width: Share | None = None,
    as_json: bool = False,
    **settings: Any,
) -> None:
    """Calibrate a saved report by labels and print it.

    LABELS is a file of `fullrecall judge label`, filled in; with several files, one per rater.

    Examples:
      fullrecall judge label report.jsonl -n 100 --output labels.csv
      fullrecall judge calibrate report.jsonl labels.csv
      fullrecall judge calibrate report.jsonl ann.csv bob.csv --width 0.05

    - `labels LABELS…`: Files of `fullrecall judge label`, filled in.
    - `width`: Also estimate the labels for an interval of the corrected mean this wide.
    """
    loaded = Report.load(report)
    try:
        calibration = calibration_of(loaded, read_labels(*labels), **settings)
    except InputError as error:
        raise error.at(path=", ".join(map(str, labels))) from None
    needed = None if width is None else calibration.labels_needed(width)
    if as_json:
        as_values = calibration.to_dict()
        if width is not None:
            as_values["labels_needed"] = {"width": width, "labels": needed}
        write_json(as_values)
        return
    show(*terminal.parts(*sheets(calibration)))
    if width is not None:
        enough = f"{counted(needed, 'label')} in all" if needed else ""
        more = "more samples: more labels do not help"
        show(f"an interval {width:g} wide needs {enough or more}")
