"""`fullrecall label REPORT` and `fullrecall calibrate REPORT LABELS`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullrecall.cli.options import level
from fullrecall.counts import counted

if TYPE_CHECKING:
    from fullrecall.calibration import ToLabel

LABEL_HELP = """\
Fill in the column label: supported, not_supported or partial, by what the contexts say and not by \
what you know. The judge's verdicts are hidden, so that they do not sway you. Then calibrate.

Examples:
  fullrecall label report.jsonl -n 100 --output labels.csv
  fullrecall label report.jsonl --width 0.1 --output labels.csv
  fullrecall label report.jsonl -n 200 --labels labels.csv --output more.csv
"""

CALIBRATE_HELP = """\
LABELS is a file of `fullrecall label`, filled in; with several files, one per rater.

Examples:
  fullrecall label report.jsonl -n 100 --output labels.csv
  fullrecall calibrate report.jsonl labels.csv
  fullrecall calibrate report.jsonl ann.csv bob.csv --width 0.05
"""

_Report = Annotated[
    Path,
    typer.Argument(
        metavar="REPORT", show_default=False, help="Report saved by `evaluate --output`."
    ),
]
_Score = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", show_default=False, help="Score to use. Default: the only judged one."
    ),
]


def label(
    report: _Report,
    *,
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--number",
            metavar="N",
            min=1,
            show_default=False,
            help="Number of claims.",
        ),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="0…1",
            show_default=False,
            help="Instead of -n: enough for an interval this wide (estimate).",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Write them here: .csv for a spreadsheet, or .jsonl. No file is replaced.",
        ),
    ],
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Copy the labels of this earlier file; repeatable.",
        ),
    ] = None,
    score: _Score = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed.")] = 0,
    show_verdicts: Annotated[
        bool, typer.Option("--show-verdicts", help="Write the judge's verdicts too.")
    ] = False,
) -> None:
    """Write claims to label; see `LABEL_HELP`."""
    from fullrecall.calibration import labels_for_width, sheet
    from fullrecall.cli.console import fail, noting, show
    from fullrecall.cli.problems import explained
    from fullrecall.errors import FullrecallError, InputError, ParameterError
    from fullrecall.read import read_labels
    from fullrecall.report import Report

    if (n is None) == (width is None):
        raise typer.BadParameter("expected either -n or --width")
    try:
        sheet.check(output)
    except ParameterError as error:
        raise typer.BadParameter(str(error), param_hint="--output") from None
    if not output.parent.is_dir():
        raise typer.BadParameter(f"no directory {output.parent}", param_hint="--output")
    try:
        with noting():
            loaded = Report.load(report)
        if width is not None:
            n = labels_for_width(loaded, width, score=score)
            if n is None:
                fail(
                    f"No number of labels makes the interval {width:g} wide",
                    "Too few samples: even with all claims labeled, it would be wider.",
                )
        drawn = loaded.to_label(
            n or 1,
            output,
            seed=seed,
            score=score,
            show_verdicts=show_verdicts,
            labels=read_labels(*labels) if labels else (),
        )
    except InputError as error:
        fail(*explained(error.at(path=", ".join(map(str, labels or ())))))
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    show(*_told(drawn, len(loaded), report, output))


def _told(drawn: Sequence[ToLabel], total: int, report: Path, output: Path) -> list[str]:
    """Return what was written, what a spreadsheet will do to it, and what comes next."""
    from fullrecall.calibration import sheet
    from fullrecall.calibration.needed import FEWEST

    claims = len({claim.item for claim in drawn})
    samples = len({claim.sample for claim in drawn})
    of = f"{samples:,} of {counted(total, 'sample')}"
    lines = [f"{counted(claims, 'claim')} of {of} ({drawn[0].score}) written to {output}."]
    done = len({claim.item for claim in drawn if claim.label})
    if done:
        lines.append(f"{done:,} of them are labeled already.")
    if samples < min(FEWEST, total):
        lines.append(f"Note: calibrate needs labels in at least {FEWEST} samples.")
    long = sheet.too_long(drawn)
    if long and output.suffix == ".csv":
        lines.append(
            f"Note: {long:,} have a text of more than {sheet.LONGEST_CELL:,} characters, which "
            "Excel splits: use LibreOffice, or .jsonl."
        )
    return [
        *lines,
        "",
        "Fill in the column label: supported, not_supported or partial. Then:",
        f"  fullrecall calibrate {report} {output}",
    ]


def calibrate(
    report: _Report,
    labels: Annotated[
        list[Path],
        typer.Argument(
            metavar="LABELS…",
            show_default=False,
            help="Files of `fullrecall label`, filled in.",
        ),
    ],
    *,
    score: _Score = None,
    confidence: Annotated[
        float, typer.Option(metavar="0…1", callback=level, help="Confidence of intervals.")
    ] = 0.95,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="0…1",
            show_default=False,
            help="Also estimate the labels for an interval of the corrected mean this wide.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the calibration as JSON and nothing else.")
    ] = False,
) -> None:
    """Calibrate a saved report by labels and print it; see `CALIBRATE_HELP`."""
    import json

    from fullrecall.calibration import calibrate as calibrated
    from fullrecall.calibration.printout import sheets
    from fullrecall.cli.console import fail, noting, show, write
    from fullrecall.cli.problems import explained
    from fullrecall.errors import FullrecallError, InputError
    from fullrecall.read import read_labels
    from fullrecall.report import Report
    from fullrecall.views import terminal

    try:
        with noting():
            loaded = Report.load(report)
        found = calibrated(loaded, read_labels(*labels), score=score, confidence=confidence)
        needed = None if width is None else found.labels_needed(width)
    except InputError as error:
        fail(*explained(error.at(path=", ".join(map(str, labels)))))
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    if as_json:
        plain = found.to_dict()
        if width is not None:
            plain["labels_needed"] = {"width": width, "labels": needed}
        write(json.dumps(plain, indent=2) + "\n")
        return
    show(*terminal.parts(*sheets(found)))
    if width is not None:
        show(
            f"an interval {width:g} wide needs "
            + (
                f"{counted(needed, 'label')} in all"
                if needed
                else "more samples: more labels do not help"
            )
        )
