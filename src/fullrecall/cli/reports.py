"""The commands on saved reports: `summary`, `compare`, `smallest-k`, `gate`, `diagnose`, `page`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from fullrecall._util.places import shown_path
from fullrecall.cli import options
from fullrecall.cli.console import show, show_result
from fullrecall.cli.misses import slices_dict, slices_of
from fullrecall.cli.options import append, check_output, retriever_of
from fullrecall.cli.source import corpus_of
from fullrecall.measures import Measure, Recall, Threshold
from fullrecall.measures.budgets import check_unit
from fullrecall.report import Comparison, Report
from fullrecall.report import compare as comparison_of
from fullrecall.show import markdown as markdown_writer
from fullrecall.show import terminal
from fullrecall.stats.change import flips_sheet
from fullrecall.stats.comparison import Comparisons
from fullrecall.stats.gate import LOOKS, Gate, GateResult
from fullrecall.stats.summary import summary_sheet

if TYPE_CHECKING:
    from rich.text import Text


def summary(
    report: options.ReportArgument,
    *,
    ks: options.KsOption = None,
    measure: options.MeasuresOption = None,
    slices: options.SlicesOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Summarize a saved report.

    Examples:
      fullrecall summary report.jsonl
      fullrecall summary report.jsonl --k 1,5 --measure ndcg@10
      fullrecall summary report.jsonl --k 5 --slices kind
    """
    opened, measures = Report.open(report), options.measures_of(ks, measure)
    totals = opened.summary(*measures)
    parts = slices_of(opened, slices, measures)
    sheets = [summary_sheet(totals), *(sheet for part in parts for sheet in part.sheets)]

    def values() -> dict[str, Any]:
        return {**totals.to_dict(), **slices_dict(parts)}

    show_result(values, terminal.parts(*sheets), as_json=as_json)


def smallest_k(
    report: options.ReportArgument,
    *,
    target: Annotated[
        float,
        options.share(help="Mean that must be reached, such as 0.9."),
    ],
    measure: Annotated[
        list[Measure] | None,
        options.measure(help="Measure that must reach it, such as hit. Default: recall."),
    ] = None,
    score: options.ScoreOption = None,
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


def compare(
    reports: Annotated[
        list[Path],
        Argument(
            metavar="BEFORE AFTER…",
            help="Reports of the same questions saved by `evaluate --output`, two or more.",
        ),
    ],
    *,
    ks: options.KsOption = None,
    measure: options.MeasuresOption = None,
    flips: Annotated[int, options.count(help="List the N samples that changed most.")] = 5,
    markdown: options.MarkdownOption = None,
    as_json: options.JsonOption = False,
    confidence: options.ConfidenceOption = 0.95,
    slices: options.SlicesOption = None,
) -> None:
    """Compare saved reports of the same questions.

    Prints the mean difference, its interval, and its p-value. Samples are paired by their
    IDs, or by question where none has one; samples that share a group count together. With more
    than two reports, each is compared with the first, with one error rate for all.

    Examples:
      fullrecall compare before.jsonl after.jsonl
      fullrecall compare before.jsonl after.jsonl --k 5 --measure ndcg@10
      fullrecall compare before.jsonl after.jsonl --flips 20
      fullrecall compare before.jsonl after.jsonl --k 5 --slices kind
      fullrecall compare bm25.jsonl dense.jsonl hybrid.jsonl --k 5
      fullrecall compare before.jsonl after.jsonl --markdown summary.md
    """
    if len(reports) < 2:  # noqa: PLR2004 - the message names it
        raise options.bad_option("BEFORE AFTER…", "must be at least 2 reports, got 1")
    measures, loaded = options.measures_of(ks, measure), list(map(Report.open, reports))
    comparison: Comparison | Comparisons
    if len(loaded) == 2:  # noqa: PLR2004 - before and after
        comparison = comparison_of(
            loaded[0], loaded[1], *measures, confidence=confidence, slices=slices
        )
        sheets = [*comparison.sheets, *(flips_sheet(score, flips) for score in comparison)]
        in_markdown = comparison.to_markdown(flips=flips)
    else:
        if slices is not None:
            raise options.bad_option("--slices", "needs two reports")
        by_name = dict(zip(names_of(reports), loaded, strict=True))
        comparison = comparison_of(by_name, *measures, confidence=confidence)
        sheets = list(comparison.sheets)
        in_markdown = markdown_writer.text_of("Context recall, report by report", *sheets)
    if markdown is not None:
        append(markdown, in_markdown)
    show_result(comparison.to_dict, terminal.parts(*sheets), as_json=as_json)


def names_of(paths: Sequence[Path]) -> list[str]:
    """Return distinct names for reports: their files' names; if two are equal, numbered paths."""
    names = [path.stem for path in paths]
    if len(set(names)) == len(names):
        return names
    return [f"{number}. {shown_path(path)}" for number, path in enumerate(paths, 1)]


CODES = {"pass": 0, "fail": 1, "cannot_tell": 3}
"""The exit code of each outcome; 2 is wrong usage or input."""


rule_option = partial(Option, rich_help_panel="Thresholds")


def gate(
    report: options.ReportArgument,
    *,
    min_recall: Annotated[
        float | None,
        options.share(
            rich_help_panel="Thresholds",
            help="Required mean recall, over all retrieved contexts or, with --k, the first K.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        options.first_k(
            rich_help_panel="Thresholds",
            help="Count the first K contexts, for --min-recall and --baseline. Default: all.",
        ),
    ] = None,
    require: Annotated[
        list[Threshold] | None,
        rule_option(
            metavar="MEASURE>=0…1|MEASURE<=0…1",
            parser=options.read_threshold,
            help="Required mean of any measure, at least or at most, in quotes: 'recall@10>=0.9'; "
            "repeatable, and all must pass.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        rule_option(metavar="REPORT", help="Saved report to compare with; needs --margin."),
    ] = None,
    measure: Annotated[
        list[Measure] | None,
        options.measure(
            rich_help_panel="Thresholds",
            help="Measure to compare with the baseline, such as recall@10; repeatable. Default: "
            "those of the thresholds, else recall over all retrieved contexts.",
        ),
    ] = None,
    margin: Annotated[
        float | None,
        options.share(
            rich_help_panel="Thresholds",
            help="Largest drop of the mean from the baseline's that still passes, in [0, 1].",
        ),
    ] = None,
    scores: Annotated[
        list[str] | None,
        rule_option(
            "--score",
            metavar="NAME",
            help="Score to decide on, such as id_recall; repeatable, and all must pass. Default: "
            "the only one, or the only recall.",
        ),
    ] = None,
    slices: Annotated[
        str | None,
        rule_option(
            metavar="FIELD",
            help="Also require every rule within each value of a field, such as kind or source.",
        ),
    ] = None,
    markdown: options.MarkdownOption = None,
    as_json: options.JsonOption = False,
    confidence: options.ConfidenceOption = 0.95,
) -> None:
    """Decide in CI whether a report is good enough.

    PASS: every required value is reached, at 95% confidence. FAIL: one is not, at 95% confidence.
    Otherwise CANNOT TELL, with the number of samples that would settle it. Unscored samples count
    as 0 for PASS and as 1 for FAIL.

    Examples:
      fullrecall gate report.jsonl --min-recall 0.9 --k 10
      fullrecall gate report.jsonl --baseline main.jsonl --margin 0.02 --k 10
      fullrecall gate report.jsonl --require 'rr>=0.7' --markdown summary.md
    """
    recall = Recall if k is None else Recall @ k
    thresholds = [*([recall >= min_recall] if min_recall is not None else []), *(require or ())]
    if k is not None and min_recall is None and baseline is None:
        raise options.bad_option("--k", "needs --min-recall or --baseline")
    if not thresholds and baseline is None and margin is None:
        raise typer.BadParameter("expected --min-recall or --require, or --baseline with --margin")
    if (baseline is None) != (margin is None):
        raise typer.BadParameter("expected --baseline and --margin together")
    if measure and baseline is None:
        raise options.bad_option(
            "--measure", "needs --baseline; a threshold is --require 'recall@10>=0.9'"
        )
    compared = measure or ([recall] if k is not None and min_recall is None else [])
    rules = Gate(
        *thresholds,
        *compared,
        margin=margin,
        scores=scores or (),
        slices=slices,
        confidence=confidence,
    )
    before = None if baseline is None else Report.load(baseline)
    result = rules.check(Report.load(report), before)
    if markdown is not None:
        append(markdown, result.to_markdown())
    show_result(result.to_dict, _outcome_lines(result), as_json=as_json)
    raise typer.Exit(CODES[result.outcome])


def _outcome_lines(result: GateResult) -> Iterator[Text]:
    """Yield one line for each check of a gate, with its outcome in front, then the notes."""
    from rich.text import Text

    for check in result.checks:
        _, emphasis = LOOKS[check.outcome]
        style = f"bold {terminal.STYLES[emphasis]}"
        yield Text.assemble((check.outcome.words, style), "  ", check.reason)
    yield from map(Text, result.notes)


def diagnose(
    report: options.ReportArgument,
    *,
    k: Annotated[
        Any,
        options.k(
            help="Diagnose the misses of the first K contexts, or of a budget such as 3calls. "
            "Default: all retrieved contexts."
        ),
    ] = None,
    corpus: options.DiagnosedCorpusOption = None,
    retriever: options.DeeperRetrieverOption = None,
    misses: Annotated[int, options.count(help="List N misses of each cause.")] = 3,
    markdown: options.MarkdownOption = None,
    as_json: options.JsonOption = False,
    deep_k: Annotated[int, Option(metavar="K", help="Contexts to ask the --retriever for.")] = 100,
) -> None:
    """Show why targets were missed, and what to change.

    Add --corpus, one indexed context per line or a folder of documents, and --retriever, as
    `evaluate` takes it, to find more causes and changes.

    A line of the corpus:
      {"id": "doc_7", "text": "The Eiffel Tower is in Paris."}

    Examples:
      fullrecall diagnose report.jsonl --k 5
      fullrecall diagnose report.jsonl --corpus c.jsonl --retriever app.py:search
      fullrecall diagnose report.jsonl --markdown "$GITHUB_STEP_SUMMARY"
    """
    # Import here, so that the other commands do not load this package.
    from fullrecall.diagnosis import diagnose as diagnosis_of
    from fullrecall.diagnosis.diagnosis import examples

    diagnosis = diagnosis_of(
        Report.open(report),
        k=k,
        corpus=corpus_of(corpus),
        retriever=None if retriever is None else retriever_of(retriever),
        deep_k=deep_k,
    )
    if markdown is not None:
        append(markdown, diagnosis.to_markdown(misses=misses))
    sheets = [*diagnosis.sheets, examples(diagnosis, misses)]
    show_result(diagnosis.to_dict, terminal.parts(*sheets), as_json=as_json)


def page(
    report: Annotated[
        list[Path],
        Argument(
            metavar="REPORT",
            help="Reports saved by `evaluate --output`: one; or the baseline, then others.",
        ),
    ],
    *,
    measure: options.MeasuresOption = None,
    corpus: options.DiagnosedCorpusOption = None,
    retriever: options.DeeperRetrieverOption = None,
    output: Annotated[
        Path | None,
        options.output(help="Write the page here. Default: beside the last REPORT, as .html."),
    ] = None,
    title: Annotated[str | None, Option(metavar="TEXT", help="Page title.")] = None,
) -> None:
    """Write a web page of saved reports.

    It shows first the failures, their causes, and the changes to make; then the summary, the
    curves over k, and every sample, to be sorted, filtered, and searched. With several reports,
    each by its file's name: a table of all; then the changes from the first to the last, and the
    new failures, with both retrievals side by side.
    With --corpus or --retriever: more causes of misses.

    Examples:
      fullrecall page report.jsonl
      fullrecall page report.jsonl --measure recall@5 --measure ndcg@10
      fullrecall page before.jsonl after.jsonl --output change.html
      fullrecall page report.jsonl -m recall@5 --retriever app.py:search
    """
    path = output or report[-1].with_suffix(".html")
    check_output(path, endings=[".html"], inputs=[*report, corpus], replace=True)
    measures = tuple(measure or ())
    if len(set(report)) < len(report):
        raise options.bad_option("REPORT…", "expected each report once")
    opened = list(map(Report.open, report))
    last = opened[-1]
    causes = None
    if corpus is not None or retriever is not None:
        from fullrecall.page import diagnosed  # needed only for causes

        causes = diagnosed(
            last,
            measures,
            corpus=corpus_of(corpus),
            retriever=None if retriever is None else retriever_of(retriever),
        )
    if len(opened) > 1:
        reports = dict(zip(names_of(report), opened, strict=True))
        comparison_of(reports, *measures).to_html(path, diagnosis=causes, title=title)
    else:
        last.to_html(path, measures=measures, diagnosis=causes, title=title)
    show(f"Written to {path}.")
