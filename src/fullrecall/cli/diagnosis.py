"""`fullrecall diagnose REPORT`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fullrecall.cli.options import ReportPath, at_least, cuts, one_cut, share

if TYPE_CHECKING:
    from fullrecall.diagnosis import Diagnosed, Diagnosis
    from fullrecall.report import Report
    from fullrecall.scorers import Scorer

HELP = """\
Add --corpus, one indexed context per line, --retriever, as `evaluate` takes it, and \
--judge, the judge of the report, to find more causes and changes.

A line of the corpus:
  {"id": "doc_7", "text": "The Eiffel Tower is in Paris."}

Examples:
  fullrecall diagnose report.jsonl --k 5
  fullrecall diagnose report.jsonl --corpus c.jsonl --retriever app.py:search
  fullrecall diagnose claims.jsonl --judge lexical
  fullrecall diagnose report.jsonl --markdown "$GITHUB_STEP_SUMMARY"
"""


def diagnose(
    report: ReportPath,
    *,
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Indexed contexts: JSON Lines with id and text, also as .gz.",
        ),
    ] = None,
    retriever: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME",
            show_default=False,
            help="What `evaluate --retriever` takes, such as app:search or path/app.py:search; "
            "asked for more wherever something was missed.",
        ),
    ] = None,
    exact: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:NAME",
            show_default=False,
            help="The same for an exact search: tells what the index or a filter lost from what "
            "is ranked low.",
        ),
    ] = None,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="Carry out each change that --retriever or --exact can make, and measure it.",
        ),
    ] = False,
    deep_k: Annotated[
        int,
        typer.Option(
            metavar="K", callback=at_least(1), help="Contexts to ask the --retriever for."
        ),
    ] = 100,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="JUDGE",
            show_default=False,
            help="Judge that made the report's claim_recall, as `evaluate --judge` takes it: asked "
            "which reference context supports a missed claim.",
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", show_default=False, help="Endpoint of --judge openai:MODEL."),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option(
            "--k",
            "-k",
            metavar="K",
            callback=one_cut,
            show_default=False,
            help="Diagnose what the first K contexts miss, or a budget such as 3calls. Default: "
            "all retrieved contexts.",
        ),
    ] = None,
    near_duplicate: Annotated[
        float,
        typer.Option(
            metavar="0…1",
            callback=share,
            help="Similarity at which two texts with the same facts count as duplicates.",
        ),
    ] = 0.9,
    min_run: Annotated[
        int,
        typer.Option(
            metavar="N",
            callback=at_least(1),
            help="Shortest run of characters that counts as a match.",
        ),
    ] = 32,
    misses: Annotated[
        int, typer.Option(metavar="N", callback=at_least(0), help="List N misses of each cause.")
    ] = 3,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Write the report's page with the causes."
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Write each miss as a line of CSV."),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Write the diagnosis as GitHub's Markdown."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the diagnosis as JSON and nothing else.")
    ] = False,
) -> None:
    """Diagnose a saved report, print what to change and the causes; see `HELP`."""
    from fullrecall.cli.console import fail, noting
    from fullrecall.cli.outputs import check_writable
    from fullrecall.cli.problems import explained
    from fullrecall.cli.retriever import retriever_of
    from fullrecall.diagnosis import diagnose as diagnosed
    from fullrecall.errors import FullrecallError
    from fullrecall.read import read_contexts
    from fullrecall.report import Report

    outputs = {"--html": html, "--csv": csv, "--markdown": markdown}
    for option, path in outputs.items():
        if path is not None:
            check_writable(path, option)
    asked = None if retriever is None else retriever_of(retriever)
    try:
        with noting():
            loaded = Report.open(report)
        found = diagnosed(
            loaded,
            k=next(iter(cuts(k)), None),
            corpus=None if corpus is None else read_contexts(corpus),
            retriever=asked,
            exact=None if exact is None else retriever_of(exact),
            prove=prove,
            deep_k=deep_k,
            scorers=_scorers(loaded, judge, base_url),
            near_duplicate=near_duplicate,
            min_run=min_run,
        )
        if html is not None:
            loaded.to_html(html, diagnosis=found)
        if csv is not None:
            found.to_csv(csv)
        if markdown is not None:
            found.to_markdown(markdown, misses=misses)
    except (FullrecallError, OSError) as error:
        fail(*explained(error))
    if as_json:
        _print_json(found)
        return
    _print(found, misses, [path for path in outputs.values() if path is not None])


def _print_json(found: Diagnosis) -> None:
    import json

    from fullrecall.cli.console import write

    write(json.dumps(found.to_dict(), indent=2) + "\n")


def _print(found: Diagnosis, misses: int, written: Sequence[Path]) -> None:
    """Print what to change, the causes with some misses of each, and where it was written."""
    from fullrecall.cli.console import show
    from fullrecall.cli.problems import as_options

    show(*(as_options(part) if isinstance(part, str) else part for part in found.parts()))
    for cause in found.counts():
        examples = [miss for miss in found if miss.cause == cause][:misses]
        if examples:
            show("", *(_line(miss) for miss in examples))
    if written:
        show("", *(f"Written to {path}." for path in written))


def _scorers(report: Report, judge: str | None, base_url: str | None) -> Sequence[Scorer]:
    """Return the scorer of claims that made the report, with its judge; none without one.

    Raises `typer.BadParameter` where the report was judged by another.
    """
    from fullrecall.cli.judge import JudgeOptions, judge_of
    from fullrecall.scorers import ClaimRecall

    if judge is None:
        if base_url is not None:
            raise typer.BadParameter("needs --judge openai:MODEL", param_hint="--base-url")
        return ()
    named = judge_of(JudgeOptions(judge, base_url))
    found = []
    judges = []
    for method in report.methods:
        given = dict(method.parameters)
        judges += [str(given["judge"])] if given.get("judge") else []
        if "split" not in given or named is None or given.get("judge") != named.name:
            continue
        del given["judge"]
        found.append(ClaimRecall(name=method.name, judge=named, **given))
    if not found:
        by = f"judged by {', '.join(judges)}" if judges else "not judged"
        raise typer.BadParameter(
            f"claim_recall of this report was {by}, got {judge!r}", param_hint="--judge"
        )
    return found


def _line(miss: Diagnosed) -> str:
    from fullrecall.cli.problems import as_options
    from fullrecall.views.text import one_line

    where = f"{one_line(miss.sample, 40)}, {miss.score}"
    cause = str(miss.cause).replace("_", " ")
    detail = one_line(as_options(miss.detail), 200)
    return f"{where}: {one_line(miss.target, 80)}: {cause}, {detail}"
