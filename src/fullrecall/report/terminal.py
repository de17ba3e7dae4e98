"""Reports on a terminal, by rich: tables that fit into 80 columns, colours only where they show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, NamedTuple

from fullrecall.report.summary import shown

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.padding import Padding
    from rich.table import Table

    from fullrecall.report.summary import ScoreSummary, Summary
    from fullrecall.result import Method

_LABELS = {
    "precision": "precision",
    "f1": "F1",
    "hit": "hit rate",
    "all_found": "all found",
    "reciprocal_rank": "MRR",
    "average_precision": "MAP",
    "ndcg": "nDCG",
}
"""The measures of a summary as their means are called."""


class Section(NamedTuple):
    """Rows of a table that belong together: each has a label and one cell for each column."""

    title: str
    rows: Sequence[tuple[str, Sequence[str]]]


def console(file: IO[str], *, width: int | None = None) -> Console:
    """Return a console on `file`, as wide as the terminal unless `width` says.

    It colours terminals only, and none where NO_COLOR is set.
    """
    from rich.console import Console

    # What is printed comes from users' files: brackets, colons and digits in it mean nothing.
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False)


def table(heads: Sequence[str], sections: Iterable[Section]) -> Table:
    """Return sections one below the other, with one column for each of `heads`."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    grid.add_column("", no_wrap=True)
    for head in heads:
        grid.add_column(Text(head, justify="right"), justify="right", vertical="bottom")
    for nth, section in enumerate(sections):
        if nth:
            grid.add_row()
        grid.add_row(Text(section.title, style="bold cyan"))
        for label, cells in section.rows:
            grid.add_row(Text(f"  {label}"), *map(Text, cells))
    return grid


def summary_table(summary: Summary) -> Table:
    """Return a summary with its scores side by side: their means, and what these stand on."""
    scores = list(summary)
    ks = sorted({k for score in scores for k in score.at})
    at_k = [(f"@{k}", [shown(score.at.get(k)) for score in scores]) for k in ks]
    means = [
        ("score", [shown(score.mean) for score in scores]),
        *((label, [shown(s.means[name]) for s in scores]) for name, label in _LABELS.items()),
    ]
    sections = [Section("score at k", at_k)] if at_k else []
    methods = [score.method for score in scores]
    one_k = len({method.k for method in methods}) == 1
    cut = _cut(methods[0]) if one_k else "at each score's own k"
    sections += [Section(cut, means), coverage(scores)]
    return table([_head(method.name if one_k else method.label) for method in methods], sections)


def coverage(scores: Sequence[ScoreSummary]) -> Section:
    """Return how many samples each mean stands on."""
    return Section(
        "samples",
        [
            ("scored", [f"{score.scored:,}" for score in scores]),
            ("undefined", [f"{score.undefined:,}" for score in scores]),
            ("unscored", [f"{score.unscored:,}" for score in scores]),
        ],
    )


def gaps(summary: Summary) -> list[str]:
    """Return one sentence for each reason why samples have no score."""
    sentences = []
    for score in summary:
        name = score.method.name
        if score.undefined:
            sentences.append(f"{score.undefined:,} undefined in {name}: no reference items")
        sentences += [
            f"{count:,} unscored in {name}: {one_line(reason, 300)}"
            for reason, count in score.reasons.items()
        ]
    return sentences


def one_line(text: str, limit: int) -> str:
    """Return `text` as one line of at most `limit` characters, all of them printable.

    Texts come from anywhere, and a control sequence in one must not reach the terminal.
    """
    printable = "".join(c if c.isprintable() else " " for c in text[: limit * 4])
    line = " ".join(printable.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def indented(part: RenderableType) -> Padding:
    """Return `part` two columns further in, also where it wraps."""
    from rich.padding import Padding

    return Padding(part, (0, 0, 0, 2))


def printed(console: Console, parts: Iterable[RenderableType], *, unbroken: bool = False) -> str:
    """Return what `console` would print of `parts`, without the spaces that fill its lines.

    `unbroken` leaves long lines to the terminal, so that a path in them can be copied.
    """
    with console.capture() as captured:
        for part in parts:
            console.print(part, soft_wrap=unbroken)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _cut(method: Method) -> str:
    if method.k is None:
        return "all contexts"
    return f"first {method.k} contexts" if method.k > 1 else "first context"


def _head(name: str) -> str:
    return name.replace("_", "\n", 1)
