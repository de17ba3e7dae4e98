"""`fullrecall diagnose REPORT`."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from fullrecall.cli import options
from fullrecall.cli.addresses import retriever_of
from fullrecall.cli.console import show_result
from fullrecall.cli.outputs import append
from fullrecall.cli.source import corpus_of
from fullrecall.diagnosis import diagnose as diagnosis_of
from fullrecall.diagnosis.diagnosis import examples
from fullrecall.report import Report
from fullrecall.show import terminal


def diagnose(
    report: options.ReportArgument,
    *,
    k: Annotated[
        Any,
        options.k(
            help="Diagnose what the first K contexts miss, or a budget such as 3calls. Default: "
            "all retrieved contexts."
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
