"""`fullrecall demo`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text

from fullrecall.cli import options
from fullrecall.cli.console import show
from fullrecall.cli.misses import missed_lines
from fullrecall.demo import COPIES, MARGIN, Demonstration, run
from fullrecall.diagnosis import ChangeKind
from fullrecall.measures import Recall
from fullrecall.show import terminal
from fullrecall.show.text import between, shown

if TYPE_CHECKING:
    from rich.console import RenderableType


_DEPTH = 20
"""The number of chunks that the search is asked for."""

_TITLE = "The help pages of a town's library"


def demo(
    *,
    k: Annotated[
        int, options.first_k(help="Show recall of the first K chunks, and what they miss.")
    ] = 5,
    missed: Annotated[int, options.count(help="List the misses of N questions.")] = 3,
    output: Annotated[
        Path | None,
        options.output(metavar="DIRECTORY", help="Save both reports and their pages here."),
    ] = None,
) -> None:
    """Find, fix and guard a defect of a search: no key, no download.

    SQLite's full-text search answers 63 questions from the 166 help pages of an invented town's
    library. Its recall is bad; the demo finds the cause, measures the fix, and guards it.

    Examples:
      fullrecall demo
      fullrecall demo --k 10 --missed 20
      fullrecall demo --output reports
    """
    if k > _DEPTH:
        raise options.bad_option("--k", f"must be at most {_DEPTH}, got {k}")
    if output is not None and output.exists() and not output.is_dir():
        raise options.bad_option("--output", f"must be a directory, got {output}")
    demonstration = run(k=k, depth=_DEPTH)
    if output is not None:
        _save(demonstration, output)
    show(*_story(demonstration, k, missed))
    if output is None:
        show("", "Save the reports and their pages: fullrecall demo --output reports.")
    else:
        show("", f"Saved in {output}: open before.html, and change.html with both reports.")
    show("Score your own retriever: fullrecall evaluate FILE --retriever app.py:search.")


def _save(demonstration: Demonstration, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    demonstration.before.save(directory / "before.jsonl", replace=True)
    demonstration.after.save(directory / "after.jsonl", replace=True)
    demonstration.before.to_html(
        directory / "before.html",
        measures=demonstration.comparison.measures,
        title=_TITLE,
        diagnosis=demonstration.diagnosis_before,
    )
    demonstration.comparison.to_html(
        directory / "change.html", title=_TITLE, diagnosis=demonstration.diagnosis_after
    )


def _story(demonstration: Demonstration, k: int, missed: int) -> Iterator[RenderableType]:
    """Yield the bad recall, its cause, the predicted and the measured gain, and the gate."""
    before, at_k = demonstration.before, Recall @ k
    summary = before.summary(at_k)["id_recall"]
    undefined = len(before) - summary.scored
    yield _heading(f"1. {_TITLE}: why are the answers bad?")
    yield (
        f"{demonstration.pages} pages in {demonstration.chunks} chunks. {summary.scored} questions "
        f"need {demonstration.targets} pages; {undefined} have no answer there. SQLite's full-text "
        f"search returns {_DEPTH} chunks for each."
    )
    mean = summary[at_k]
    yield ""
    yield f"id_recall@{k} is {shown(mean.mean)} (95% interval {between(mean.interval)})."
    if missed:
        yield ""
        yield from missed_lines(before, missed, k)
    yield ""
    yield _heading("2. The cause")
    yield from terminal.parts(*demonstration.diagnosis_before.sheets)
    yield ""
    yield _heading(f"3. The fix: one copy of each page in the index, not {COPIES}")
    yield from terminal.parts(*demonstration.comparison.sheets)
    change = demonstration.comparison[0].main
    for each in demonstration.diagnosis_before.changes:
        if each.kind is ChangeKind.DROP_DUPLICATES:
            yield f"predicted {each.gain:+.3f}, measured {change.difference:+.3f}"
    yield ""
    yield _heading("4. The guard: a change that loads the copies again")
    yield str(demonstration.gate)
    yield f"The margin is {MARGIN:g}, the baseline is the report with one copy."


def _heading(text: str) -> Text:
    return Text(text, style="bold")
