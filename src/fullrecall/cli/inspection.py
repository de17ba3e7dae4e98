"""`fullrecall inspect RUN`: what is in a store, or in a saved report."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fullrecall.cli.console import fail, show, write
from fullrecall.cli.problems import explained
from fullrecall.counts import counted
from fullrecall.errors import FullrecallError
from fullrecall.views import terminal
from fullrecall.views.summaries import summary_sheet
from fullrecall.views.text import one_line

if TYPE_CHECKING:
    from fullrecall.run.contents import Contents

HELP = """\
A store: its models and scorers, how much of each is kept, and the tokens spent on it. A report: \
its scorers and its summary. Nothing is written.

Examples:
  fullrecall inspect runs.sqlite
  fullrecall inspect bm25.jsonl --json
"""

_SQLITE = b"SQLite format 3\x00"


def inspect(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", show_default=False, help="A store or a saved report.")
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Show what is in a run; see `HELP`."""
    try:
        if not run.is_dir() and _is_store(run):
            _show_store(run, as_json=as_json)
        else:
            _show_report(run, as_json=as_json)
    except (FullrecallError, OSError) as error:
        fail(*explained(error))


def _is_store(path: Path) -> bool:
    if path.exists() and not path.is_file():
        return True  # a pipe, of which nobody waits to be read: it is refused as a store
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) in (_SQLITE, b"")


def _show_store(path: Path, *, as_json: bool) -> None:
    from fullrecall.run.contents import read_contents

    contents = read_contents(path)
    if as_json:
        write(json.dumps({"kind": "store", **contents.to_dict()}, indent=2) + "\n")
        return
    tokens = sum(model.prompt_tokens + model.completion_tokens for model in contents.models)
    show(
        f"{path}: a store, version {contents.version}, {_size(contents.size)}",
        f"{counted(contents.completions, 'completion')}, {counted(tokens, 'token')}; "
        f"{counted(contents.results, 'result')}",
    )
    if contents.first is not None:
        show(f"kept from {contents.first} to {contents.last}")
    show(*_parts(contents))


def _parts(contents: Contents) -> list[str]:
    """Return a block of lines for each model and scorer."""
    lines = []
    for model in contents.models:
        lines += [
            "",
            f"model {one_line(model.model, 200)}",
            (
                f"  {counted(model.completions, 'completion')}: {model.prompt_tokens:,} prompt and "
                f"{model.completion_tokens:,} answer tokens"
            ),
        ]
    for scorer in contents.scorers:
        counts = ", ".join(f"{count:,} {status}" for status, count in scorer.statuses.items())
        lines += ["", f"scorer {one_line(scorer.scorer, 80)}: {counts}"]
        lines += [f"  {line}" for line in _told(scorer.parameters)]
    return lines


def _told(parameters: Mapping[str, Any]) -> list[str]:
    """Return parameters one a line, those left out that say nothing."""
    return [
        f"{name} = {one_line(str(value), 200)}"
        for name, value in parameters.items()
        if value is not None
    ]


def _show_report(path: Path, *, as_json: bool) -> None:
    from fullrecall.records import plain_method
    from fullrecall.report import Report

    with warnings.catch_warnings(record=True) as cut_off:
        warnings.simplefilter("always")
        report = Report.open(path)
    summary = report.summary()
    if as_json:
        plain = {
            "kind": "report",
            "size": _bytes(path),
            "cut_off": bool(cut_off),
            "methods": [plain_method(method) for method in report.methods],
            **summary.to_dict(),
        }
        write(json.dumps(plain, indent=2, default=str) + "\n")
        return
    show(f"{path}: a report of {counted(len(report), 'sample')}, {_size(_bytes(path))}")
    if cut_off:
        show("its last line is cut off: the run that wrote it was killed")
    show("", *terminal.parts(summary_sheet(summary)))


def _bytes(path: Path) -> int:
    """Return the size of a file, or of all files of a directory."""
    return sum(file.stat().st_size for file in (path.iterdir() if path.is_dir() else [path]))


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count / 2**10:.1f} KiB"
