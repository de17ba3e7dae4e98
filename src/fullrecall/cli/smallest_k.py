"""`fullrecall smallest-k REPORT`: the smallest k at which a mean is shown to reach a target."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from fullrecall.cli import options
from fullrecall.cli.console import show_result
from fullrecall.measures import Measure, Recall
from fullrecall.measures.budgets import check_unit
from fullrecall.report import Report
from fullrecall.show import terminal


def smallest_k(
    report: options.ReportArgument,
    *,
    target: Annotated[
        float,
        Option(
            metavar="0…1",
            parser=options.read_share,
            help="Mean that must be reached, such as 0.9.",
        ),
    ],
    measure: Annotated[
        list[Measure] | None,
        options.measure(help="Measure that must reach it, such as hit. Default: recall."),
    ] = None,
    score: Annotated[
        str | None,
        Option(metavar="NAME", help="Score to read. Default: the only one, or the only recall."),
    ] = None,
    unit: Annotated[
        str | None,
        Option(metavar="calls|tokens|seconds", help="Budget to search. Default: contexts."),
    ] = None,
    as_json: options.JsonOption = False,
    confidence: options.ConfidenceOption = 0.95,
) -> None:
    """Find the smallest k that reaches a mean.

    Tests each k from the largest down; the confidence holds over the whole search. Exits with 3
    where no k is shown to reach the target.

    Examples:
      fullrecall smallest-k report.jsonl --target 0.9
      fullrecall smallest-k report.jsonl --target 0.9 --measure hit --unit calls
    """
    if len(measure or ()) > 1:
        raise options.bad_option("--measure", f"expected one measure, got {len(measure or ())}")
    (wanted,) = measure or (Recall,)
    found = Report.open(report).smallest_k(
        target, wanted, confidence=confidence, score=score, unit=check_unit(unit)
    )
    show_result(found.to_dict, terminal.parts(*found.sheets), as_json=as_json)
    if found.k is None:
        raise typer.Exit(3)
