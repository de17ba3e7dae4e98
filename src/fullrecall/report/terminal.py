"""Reports on a terminal, by rich: tables that fit into 80 columns, colours only where they show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, NamedTuple

from fullrecall.report.statistics import CONFIDENCE, FEW, unseen
from fullrecall.report.summary import shown

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from fullrecall.report.comparison import Comparison, ScoreComparison
    from fullrecall.report.gate import GateResult
    from fullrecall.report.statistics import Interval
    from fullrecall.report.summary import ScoreSummary, Summary
    from fullrecall.result import Method

LABELS = {
    "precision": "precision",
    "f1": "F1",
    "hit": "hit rate",
    "all_found": "all found",
    "reciprocal_rank": "MRR",
    "average_precision": "MAP",
    "ndcg": "nDCG",
}
"""The measures of a summary as their means are called."""


WIDEST = 240
"""Columns of a table as text: as wide as its scores need, whatever the terminal."""

_GAP = 3
"""Columns between two of a table."""

_NAMED = 5
"""How many samples or targets a sentence names of many."""


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


class Grid:
    """A table whose columns go into another below it where there is no room: no number is cut."""

    def __init__(self, heads: Sequence[str], sections: Sequence[Section]) -> None:
        self._heads = heads
        self._sections = sections

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        label, widths = self._measured()
        first = 0
        while first == 0 or first < len(widths):
            last, width = first + 1, label + sum(_GAP + one for one in widths[first : first + 1])
            while last < len(widths) and width + _GAP + widths[last] <= options.max_width:
                width += _GAP + widths[last]
                last += 1
            if first:
                yield ""
            yield from console.render(self._table(slice(first, last)), options.update(width=width))
            first = last

    def _measured(self) -> tuple[int, list[int]]:
        """Return how many columns of the terminal the labels take, and each column of cells."""
        from rich.cells import cell_len

        labels = [0]
        widths = [max(map(cell_len, head.splitlines()), default=0) for head in self._heads]
        for title, rows in self._sections:
            labels.append(cell_len(title))
            for label, cells in rows:
                labels.append(2 + cell_len(label))
                widths = [max(pair) for pair in zip(widths, map(cell_len, cells), strict=True)]
        return max(labels), widths

    def _table(self, columns: slice) -> Table:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        grid.add_column("", no_wrap=True)
        for head in self._heads[columns]:
            grid.add_column(
                Text(head, justify="right"), justify="right", vertical="bottom", no_wrap=True
            )
        for nth, section in enumerate(self._sections):
            if nth:
                grid.add_row()
            grid.add_row(Text(section.title, style="bold cyan"))
            for label, cells in section.rows:
                grid.add_row(Text(f"  {label}"), *map(Text, cells[columns]))
        return grid


def table(heads: Sequence[str], sections: Iterable[Section]) -> Grid:
    """Return sections one below the other, with one column for each of `heads`."""
    return Grid(heads, list(sections))


def summary_table(summary: Summary) -> Grid:
    """Return a summary with its scores side by side: their means, and what these stand on."""
    scores = list(summary)
    ks = sorted({k for score in scores for k in score.at})
    at_k = []
    for k in ks:
        at_k.append((f"@{k}", [shown(score.at.get(k)) for score in scores]))
        at_k += sureness([score.at_intervals.get(k) for score in scores])
    means = [
        ("score", [shown(score.mean) for score in scores]),
        *sureness([score.interval for score in scores]),
        *((label, [shown(s.means[name]) for s in scores]) for name, label in LABELS.items()),
    ]
    sections = [Section("score at k", at_k)] if at_k else []
    methods = [score.method for score in scores]
    one_k = len({method.k for method in methods}) == 1
    cut = _cut(methods[0]) if one_k else "at each score's own k"
    sections += [Section(cut, means), coverage(scores)]
    return table([_head(method.name if one_k else method.label) for method in methods], sections)


def coverage(scores: Sequence[ScoreSummary]) -> Section:
    """Return how many samples each mean stands on."""
    rows = [("scored", [f"{score.scored:,}" for score in scores])]
    if any(score.groups < score.scored for score in scores):
        rows.append(("in groups", [f"{score.groups:,}" for score in scores]))
    rows += [
        ("undefined", [f"{score.undefined:,}" for score in scores]),
        ("unscored", [f"{score.unscored:,}" for score in scores]),
    ]
    return Section("samples", rows)


def sureness(intervals: Sequence[Interval | None]) -> list[tuple[str, list[str]]]:
    """Return the row of 95% intervals that stands below a row of means; none if there are none."""
    if not any(intervals):
        return []
    return [("  95%", [between(interval) for interval in intervals])]


def between(interval: Interval | None) -> str:
    """Return an interval as a table shows it, such as `.912-.931`; a dash where there is none."""
    if interval is None:
        return "-"
    low, high = (f"{end:.3f}".replace("0.", ".", 1) for end in interval[:2])
    return f"{low}–{high}"  # noqa: RUF001 - from to


def gaps(summary: Summary) -> list[str]:
    """Return one sentence for each reason why a mean says less than it seems to."""
    sentences = []
    if summary.stopped is not None:
        sentences.append(partial(f"{summary.samples:,} samples", summary.stopped))
    for score in summary:
        name = score.method.name
        if score.undefined:
            sentences.append(f"{score.undefined:,} undefined in {name}: no reference items")
        sentences += [
            f"{count:,} unscored in {name}: {one_line(reason, 300)}"
            for reason, count in score.reasons.items()
        ]
        if score.unscored and score.scored and score.bounds is not None:
            low, high = map(shown, score.bounds)
            sentences.append(
                f"{name} would be {low} if what is unscored were all 0, and {high} if all 1"
            )
        if score.settled is not None:
            by = ", ".join(f"{one_line(judge, 60)} {n:,}" for judge, n in score.settled.by.items())
            sentences.append(
                f"{score.settled.total:,} of {score.settled.targets:,} targets in {name} settled "
                f"without the last judge ({by}), who was not asked in {score.settled.samples:,} "
                "samples"
            )
        if score.interval is not None and score.groups < FEW:
            share = unseen(score.groups, CONFIDENCE, tails=1)
            sentences.append(
                f"{score.groups:,} independent samples in {name} are few: what is so in up to "
                f"{share:.0%} of all questions may not show in them, nor in the intervals"
            )
    if any(score.groups > 1 and score.interval is None for score in summary):
        sentences.append("no intervals without SciPy: pip install 'fullrecall[stats]'")
    return sentences


def partial(what: str, stopped: str) -> str:
    """Return the sentence that says that a report has not all of its samples."""
    return f"{what}, not all: {one_line(stopped, 300)}"


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
            console.print(part, soft_wrap=unbroken, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _cut(method: Method) -> str:
    if method.k is None:
        return "all contexts"
    return f"first {method.k} contexts" if method.k > 1 else "first context"


def _head(name: str) -> str:
    return name.replace("_", "\n", 1)


def comparison_table(comparison: Comparison) -> Grid:
    """Return a comparison: for each score and k the means, their difference, its interval, p."""
    sections = []
    several = len(comparison) > 1
    for score in comparison:
        rows = []
        if score.difference is not None:
            cells = _difference(
                score.before, score.after, score.difference, score.interval, score.p
            )
            adjusted = [f"{score.p_adjusted:.4f}"] if several else []
            rows.append(("score", [*cells, *adjusted]))
        rows += [
            (f"@{k}", [*_difference(*one), *([""] if several else [])])
            for k, one in score.at.items()
        ]
        sections.append(Section(score.name, rows))
    percent = f"{100 * comparison.confidence:g}%"
    heads = ["before", "after", "difference", f"{percent} interval", "p"]
    return table([*heads, "p (Holm)"] if several else heads, sections)


def comparison_notes(comparison: Comparison) -> list[str]:
    """Return one sentence for all that a comparison stands on, and for what it leaves out."""
    how = "their IDs" if comparison.paired_by == "id" else "their position: they have no IDs"
    notes = [f"{len(comparison.pairs):,} samples, paired by {how}"]
    for report, which in ((comparison.before, "before"), (comparison.after, "after")):
        if report.stopped is not None:
            notes.append(partial(f"the report {which} has {len(report):,} samples", report.stopped))
    for score in comparison:
        notes.append(
            f"{score.name}: {score.wins:,} better, {score.ties:,} the same, {score.losses:,} "
            f"worse, of {score.samples:,}"
            + (f" in {score.groups:,} groups" if score.groups < score.samples else "")
        )
        if score.margin is not None:
            notes.append(f"{score.name}: {_inferiority(score)}")
        kinds = {
            "unscored": "unscored in one report or both",
            "undefined_in_one": "without reference items in one report",
            "undefined": "without reference items",
        }
        notes += [
            f"{score.unpaired[kind]:,} not compared in {score.method.name}: {why}"
            for kind, why in kinds.items()
            if score.unpaired[kind]
        ]
    for labels, which in ((comparison.only_before, "before"), (comparison.only_after, "after")):
        if labels:
            first = one_line(", ".join(labels[:_NAMED]), 120)
            more = f", … and {len(labels) - _NAMED:,} more" if len(labels) > _NAMED else ""
            notes.append(f"{len(labels):,} only in the report {which}: {first}{more}")
    if comparison.unmatched:
        notes.append(f"scored in one report only: {', '.join(comparison.unmatched)}")
    return notes


def flips(score: ScoreComparison, limit: int) -> Iterator[RenderableType]:
    """Yield the `limit` samples whose score changed most, with the targets that made it."""
    from rich.text import Text

    if not limit or not score.flips:
        return
    count = len(score.flips)
    first = f", the {limit} largest changes:" if count > limit else ":"
    some = "samples changed" if count > 1 else "sample changed"
    yield Text(f"{count:,} {some} in {score.name}{first}", style="bold")
    for flip in score.flips[:limit]:
        yield ""
        yield Text.assemble(
            (one_line(flip.sample, 60), "bold cyan"),
            f"  {one_line(flip.question or '', 200)}",
        )
        style = "green" if flip.change > 0 else "yellow"
        yield indented(Text(f"{flip.before:.3f} → {flip.after:.3f}", style=style))
        for targets, what in ((flip.gained, "found now"), (flip.lost, "lost")):
            for target in targets[:_NAMED]:
                yield indented(Text(f"{what}: {one_line(target, 120)}"))
            if len(targets) > _NAMED:
                yield indented(Text(f"… and {len(targets) - _NAMED:,} more {what}"))


def signed(value: float) -> str:
    """Return a difference as a table shows it, such as `+.012`."""
    return f"{value:+.3f}".replace("0.", ".", 1)


def _difference(
    before: float | None,
    after: float | None,
    difference: float,
    interval: Interval | None,
    p: float | None,
) -> list[str]:
    ends = "-" if interval is None else f"{signed(interval.low)} to {signed(interval.high)}"
    chance = "-" if p is None else f"{p:.4f}"
    return [shown(before), shown(after), signed(difference), ends, chance]


def _inferiority(score: ScoreComparison) -> str:
    margin = f"{score.margin:g}"
    if score.bounds is None:
        return f"whether the loss is within {margin} cannot be told: too few samples"
    least = f"{100 * score.bounds.confidence:g}% sure of at least {signed(score.bounds.low)}"
    if score.non_inferior:
        return f"not worse by more than {margin} ({least})"
    return f"a loss of more than {margin} is not ruled out ({least})"


def verdicts(result: GateResult) -> Iterator[Text]:
    """Yield one line for each check of a gate, with its verdict in front."""
    from rich.text import Text

    styles = {"pass": "bold green", "fail": "bold red", "cannot_tell": "bold yellow"}
    for check in result.checks:
        yield Text.assemble(
            (check.verdict.words.upper(), styles[check.verdict]), "  ", check.reason
        )
