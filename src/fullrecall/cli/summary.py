"""`fullrecall summary RUN`: what a saved report adds up to, or what is in a store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from fullrecall.cli.console import show, write_json
from fullrecall.cli.exits import wrong
from fullrecall.cli.options import Cuts, MeasureText, Share, cut
from fullrecall.cli.problems import as_options
from fullrecall.cli.signatures import taking
from fullrecall.counts import counted
from fullrecall.errors import ReportError
from fullrecall.measures import Recall
from fullrecall.measures.budgets import Unit
from fullrecall.report import Report
from fullrecall.run.contents import read_contents
from fullrecall.views import terminal
from fullrecall.views.summaries import summary_sheet
from fullrecall.views.text import one_line

_SQLITE = b"SQLite format 3\x00"


@taking(Report.smallest_k, "confidence", heading="Smallest k")
def summary(
    report: Path,
    *,
    ks: Cuts | None = None,
    measure: list[MeasureText] | None = None,
    smallest_k: Share | None = None,
    scores: list[str] | None = None,
    unit: Unit | None = None,
    largest: float | None = None,
    as_json: bool = False,
    **search: Any,
) -> None:
    """Print the summary of a saved report, or what is in a store.

    With --smallest-k: the smallest k whose mean reaches the threshold, at a confidence that is
    corrected for the search, and its cost in tokens. "No k" is an answer. Of a store of
    `evaluate --store`: its models and scorers, how much of each is kept, and the tokens spent
    on it.

    Examples:
      fullrecall summary report.jsonl
      fullrecall summary report.jsonl --k 1,5 --measure ndcg@10
      fullrecall summary report.jsonl --smallest-k 0.9 --measure all_found
      fullrecall summary agent.jsonl --smallest-k 0.9 --unit calls
      fullrecall summary runs.sqlite

    - `report`: Report saved by `evaluate --output`, or a store of `evaluate --store`.

    Smallest k:
    - `smallest_k`: Find the smallest k whose mean reaches this threshold: mean recall, or the mean
      of --measure, whatever its k.
    - `scores`: Score to use; repeatable. Default: every recall score.
    - `confidence`: Confidence in the k.
    - `unit`: Find the smallest budget of this unit, in place of a number of contexts.
    - `largest`: Largest k, or budget, to try. Default: what holds all that was retrieved.
    """
    of_search = {"--score": scores, "--unit": unit, "--largest": largest}
    unused = [flag for flag, value in of_search.items() if value]
    if smallest_k is None and unused:
        raise wrong(unused[0], "needs --smallest-k")
    if _is_store(report):
        _show_store(report, as_json=as_json)
        return
    measures = cut(ks, measure)
    loaded = Report.open(report)
    shown = loaded.summary(*measures)
    searched = []
    if smallest_k is not None:
        names = scores or [m.name for m in loaded.methods if m.headline == Recall]
        whole = dict.fromkeys(each.whole for each in measures or (Recall,))
        searched = [
            loaded.smallest_k(smallest_k, each, score=name, unit=unit, largest=largest, **search)
            for name in names
            for each in whole
        ]
    if as_json:
        values = shown.to_dict()
        if smallest_k is not None:
            values["smallest_k"] = [search.to_dict() for search in searched]
        write_json(values)
        return
    sheet = summary_sheet(shown)
    show(*terminal.parts(replace(sheet, notes=[*map(as_options, sheet.notes)])))
    if smallest_k is not None:
        none = "The report has no recall score: choose another with --score."
        show("", *([search.reason for search in searched] or [none]))


def _is_store(path: Path) -> bool:
    """Whether a path is a store: an empty file is one, of a run that was killed at once."""
    if path.is_dir():
        return False
    if path.exists() and not path.is_file():
        return True  # a pipe, of which nobody waits to be read: it is refused as a store
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) in (_SQLITE, b"")
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror}") from None


def _show_store(path: Path, *, as_json: bool) -> None:
    contents = read_contents(path)
    if as_json:
        write_json({"kind": "store", **contents.to_dict()})
        return
    tokens = sum(model.prompt_tokens + model.completion_tokens for model in contents.models)
    show(
        f"{path}: a store, version {contents.version}, {contents.size / 2**10:,.1f} KiB",
        f"{counted(contents.completions, 'completion')}, {counted(tokens, 'token')}",
    )
    if contents.first is not None:
        show(f"kept from {contents.first} to {contents.last}")
    for model in contents.models:
        show(
            "",
            f"model {one_line(model.model, 200)}",
            f"  {counted(model.completions, 'completion')}: {model.prompt_tokens:,} prompt and "
            f"{model.completion_tokens:,} answer tokens",
        )
