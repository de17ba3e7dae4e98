"""`fullrecall diagnose REPORT`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from fullrecall.cli.console import show_result
from fullrecall.cli.options import Count, CutText
from fullrecall.cli.outputs import append
from fullrecall.cli.problems import as_options
from fullrecall.cli.retriever import retriever_of
from fullrecall.cli.signatures import taking
from fullrecall.diagnosis import diagnose as diagnosis_of
from fullrecall.diagnosis.diagnosis import examples
from fullrecall.read import read_contexts
from fullrecall.report import Report
from fullrecall.show import terminal


@taking(diagnosis_of, "deep_k")
def diagnose(
    report: Path,
    *,
    k: CutText | None = None,
    corpus: Path | None = None,
    retriever: str | None = None,
    misses: Count = 3,
    markdown: Path | None = None,
    as_json: bool = False,
    **settings: Any,
) -> None:
    """Diagnose a saved report, print what to change and the causes.

    Add --corpus, one indexed context per line, and --retriever, as `evaluate` takes it, to find
    more causes and changes.

    A line of the corpus:
      {"id": "doc_7", "text": "The Eiffel Tower is in Paris."}

    Examples:
      fullrecall diagnose report.jsonl --k 5
      fullrecall diagnose report.jsonl --corpus c.jsonl --retriever app.py:search
      fullrecall diagnose report.jsonl --markdown "$GITHUB_STEP_SUMMARY"

    - `k`: Diagnose what the first K contexts miss, or a budget such as 3calls. Default: all
      retrieved contexts.
    - `corpus FILE`: Indexed contexts: JSON Lines with id and text, also as .gz.
    - `retriever`: What `evaluate --retriever` takes, such as app:search or path/app.py:search;
      asked for more wherever something was missed.
    - `deep_k K`: Contexts to ask the --retriever for.
    - `misses`: List N misses of each cause.
    """
    diagnosis = diagnosis_of(
        Report.open(report),
        k=k,
        corpus=None if corpus is None else read_contexts(corpus),
        retriever=None if retriever is None else retriever_of(retriever),
        **settings,
    )
    if markdown is not None:
        append(markdown, diagnosis.to_markdown(misses=misses))
    worded = [miss._replace(detail=as_options(miss.detail)) for miss in diagnosis]
    sheets = [*diagnosis.sheets, examples(replace(diagnosis, misses=worded), misses)]
    show_result(diagnosis.to_dict, terminal.parts(*sheets), as_json=as_json)
