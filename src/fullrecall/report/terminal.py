"""Reports on a terminal, by rich: tables that fit into 80 columns, colors only where they show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import IO, TYPE_CHECKING, NamedTuple

from fullrecall.counts import counted
from fullrecall.report.text import shown
from fullrecall.results.bounds import CONFIDENCE

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from fullrecall.measures import Measure
    from fullrecall.results.comparison import Comparison, ScoreComparison
    from fullrecall.results.difference import Difference
    from fullrecall.results.comparisons import Comparisons
    from fullrecall.results.slices import Slices
    from fullrecall.results.summary import ScoreSummary, Summary
    from fullrecall.results.bounds import Interval
    from fullrecall.results.gate import GateResult

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

    It colors terminals only, and none where NO_COLOR is set.
    """
    from rich.console import Console

    # What is printed comes from users' files: brackets, colons and digits in it mean nothing. A
    # text is plain wherever it is made: notebooks ask for color of all that is printed.
    return Console(
        file=file,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        force_jupyter=False,
        force_terminal=False if isinstance(file, StringIO) else None,
    )


_BLANK = frozenset({"", "-"})
"""Cells that hold nothing."""


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
                # A row that only the other part of the table fills is left to it.
                if set(cells[columns]) <= _BLANK and not set(cells) <= _BLANK:
                    continue
                grid.add_row(Text(f"  {label}"), *map(Text, cells[columns]))
        return grid


def table(heads: Sequence[str], sections: Iterable[Section]) -> Grid:
    """Return sections one below the other, with one column for each of `heads`."""
    return Grid(heads, list(sections))


def summary_table(summary: Summary) -> Grid:
    """Return a summary with its scores side by side: their means, and what these stand on."""
    scores = list(summary)
    means: list[tuple[str, Sequence[str]]] = []
    for label, measures in _lines(scores):
        estimates = [None if m is None else s[m] for s, m in zip(scores, measures, strict=True)]
        means.append((label, [shown(None if one is None else one.mean) for one in estimates]))
        intervals = [None if one is None else one.interval for one in estimates]
        if any(intervals):
            means.append((f"  {CONFIDENCE:.0%}", [between(one) for one in intervals]))
    sections = [Section("mean", means), coverage(scores)]
    return table([_head(score.name) for score in scores], sections)


def _lines(
    scores: Sequence[ScoreSummary | ScoreComparison],
) -> list[tuple[str, list[Measure | None]]]:
    """Return the lines of a table: each with its label and the measure of each score there."""
    lines: dict[str, list[Measure | None]] = {}
    # Where one score's headline was asked of another score too, its name tells what stands there.
    asked = {one for score in scores for one in score if one.whole != score.method.headline}
    for place, score in enumerate(scores):
        for measure in score:
            if measure in asked:
                label = measure.name
            elif measure == score.method.headline:
                label = "all retrieved"
            elif measure.whole == score.method.headline:
                label = f"@{measure.k}"
            else:
                label = measure.name
            lines.setdefault(label, [None] * len(scores))[place] = measure
    return list(lines.items())


def slices_table(slices: Slices) -> Grid:
    """Return slices one below the other: mean, interval, and what they stand on."""
    rows = [
        (
            one_line(one.value, 60),
            [shown(one.mean), between(one.interval), f"{one.samples:,}", f"{one.unscored:,}"],
        )
        for one in slices
    ]
    heads = [slices.label, "interval", "samples", "unscored"]
    return table(heads, [Section(one_line(slices.by, 60), rows)])


def runs_table(runs: Comparisons) -> Grid:
    """Return reports below each other: each measure of their scores, and its change at last."""
    heads: list[str] = []
    cells: dict[str, list[str]] = {name: [] for name in runs}
    for method in runs.scores:
        for measure in runs.measures or (method.headline,):
            heads += [method.label(measure), "since the first", "p (Holm)"]
            changes = [None, *runs.changes(method.name, measure)]
            for (name, report), one in zip(runs.items(), changes, strict=True):
                mean = report.summary(measure)[method.name][measure].mean
                change = "" if one is None or one.difference is None else signed(one.difference)
                chance = "" if one is None else _chance(one.p_adjusted)
                cells[name] += [shown(mean), change, chance]
    return table(heads, [Section("mean", [(one_line(n, 60), of) for n, of in cells.items()])])


def coverage(scores: Sequence[ScoreSummary]) -> Section:
    """Return how many samples each mean stands on."""
    rows = [("scored", [f"{score.scored:,}" for score in scores])]
    if any(score.main.groups < score.main.samples for score in scores):
        rows.append(("in groups", [f"{score.main.groups:,}" for score in scores]))
    rows += [
        ("undefined", [f"{score.undefined:,}" for score in scores]),
        ("unscored", [f"{score.unscored:,}" for score in scores]),
    ]
    return Section("samples", rows)


def between(interval: Interval | None) -> str:
    """Return an interval as a table shows it, such as `.912-.931`; a dash where there is none."""
    if interval is None:
        return "-"
    low, high = (f"{end:.3f}".replace("0.", ".", 1) for end in interval[:2])
    return f"{low}–{high}"  # noqa: RUF001 - from to


def notes(summary: Summary) -> list[str]:
    """Return one sentence for each reason why a mean says less than it seems to."""
    sentences = []
    if summary.stopped is not None:
        sentences.append(partial(counted(summary.samples, "sample"), summary.stopped))
    if summary.united:
        sentences.append(
            f"united calls in {summary.united:,} of {counted(summary.samples, 'sample')}: "
            "a context's rank is that in its own call"
        )
    if summary.failed_calls:
        every = counted(summary.samples, "sample")
        sentences.append(f"failed calls in {summary.failed_calls:,} of {every}")
    for score in summary:
        sentences += _score_notes(score)
    if any(score.interval is not None for score in summary):
        sentences.append(
            f"{CONFIDENCE:.0%} intervals of the mean over all such questions, whatever the "
            "distribution of the scores"
        )
    return sentences


def _score_notes(score: ScoreSummary) -> Iterator[str]:
    name = score.name
    if score.undefined:
        yield f"{score.undefined:,} undefined in {name}: no reference items"
    for reason, count in score.reasons.items():
        yield f"{count:,} unscored in {name}: {one_line(reason, 300)}"
    if score.unscored and score.scored and score.bounds is not None:
        low, high = map(shown, score.bounds)
        label = score.method.label(score.main.measure)
        yield f"{label}: {low} to {high}, depending on unscored samples"
    for one in score.estimates.values():
        if one.undefined > score.undefined:
            yield (
                f"{one.undefined - score.undefined:,} more undefined in "
                f"{score.method.label(one.measure)}: no target counts"
            )
    if score.unverified:
        share = f"{score.unverified:.1%}"
        yield f"{share} of the credit in {name} rests on quotes that were not verified"
    if score.settled is not None:
        by = ", ".join(f"{one_line(judge, 60)} {n:,}" for judge, n in score.settled.by.items())
        targets = counted(score.settled.targets, "target")
        yield (
            f"{score.settled.total:,} of {targets} in {name} settled without the last judge "
            f"({by}), which was not asked in {counted(score.settled.samples, 'sample')}"
        )


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


def _head(name: str) -> str:
    return name.replace("_", "\n", 1)


def comparison_table(comparison: Comparison) -> Grid:
    """Return a comparison: for each measure the means, their difference, its interval, p."""
    asked = [one for score in comparison for one in score.values() if one.p_adjusted is not None]
    several = len(asked) > 1
    sections = [
        Section(
            score.name,
            [
                (label, [*_difference(score[m]), *([_chance(score[m].p_adjusted)] * several)])
                for label, (m,) in _lines([score])
                if m is not None and score[m].difference is not None
            ],
        )
        for score in comparison
    ]
    percent = f"{100 * comparison.confidence:g}% interval"
    heads = ["before", "after", "difference", percent, "p"]
    return table([*heads, "p (Holm)"] if several else heads, sections)


def comparison_notes(comparison: Comparison) -> list[str]:
    """Return one sentence for all that a comparison stands on, and for what it leaves out."""
    how = "their IDs" if comparison.paired_by == "id" else "their position: they have no IDs"
    notes = [f"{counted(len(comparison.pairs), 'sample')}, paired by {how}"]
    for report, which in ((comparison.before, "before"), (comparison.after, "after")):
        if report.stopped is not None:
            has = f"the report {which} has {counted(len(report), 'sample')}"
            notes.append(partial(has, report.stopped))
    for score in comparison:
        notes += _comparison_notes(score)
    for labels, which in ((comparison.only_before, "before"), (comparison.only_after, "after")):
        if labels:
            first = one_line(", ".join(labels[:_NAMED]), 120)
            more = f", … and {len(labels) - _NAMED:,} more" if len(labels) > _NAMED else ""
            notes.append(f"{len(labels):,} only in the report {which}: {first}{more}")
    if comparison.unmatched:
        notes.append(f"scored in one report only: {', '.join(comparison.unmatched)}")
    return notes


def _comparison_notes(score: ScoreComparison) -> Iterator[str]:
    one = score.main
    label = score.method.label(one.measure)
    in_groups = f" in {counted(one.groups, 'group')}" if one.groups < one.samples else ""
    yield (
        f"{label}: {one.wins:,} better, {one.ties:,} the same, {one.losses:,} worse, of "
        f"{one.samples:,}{in_groups}"
    )
    for each in score.values():
        if each.p_adjusted is None:
            continue
        label = score.method.label(each.measure)
        if each.margin is not None:
            yield f"{label}: {_inferiority(each)}"
        excluded = (
            each.guaranteed is not None and not each.guaranteed.low <= 0 <= each.guaranteed.high
        )
        if each.p is not None and each.p <= 1 - CONFIDENCE and not excluded:
            low, high = (signed(end) for end in (each.guaranteed or (0.0, 0.0))[:2])
            yield (
                f"{label}: p assumes that no rare total losses went unseen; without that "
                f"assumption the change is from {low} to {high}"
            )
    if score.differing:
        yield (
            f"{score.differing:,} compared in {score.name} over common targets only: their "
            "targets differ"
        )
    kinds = {
        "no_common_targets": "no target in common",
        "unscored": "unscored in one report or both",
        "undefined_in_one": "without reference items in one report",
        "undefined": "without reference items",
    }
    for kind, why in kinds.items():
        if score.unpaired[kind]:
            yield f"{score.unpaired[kind]:,} not compared in {score.name}: {why}"


def flips(score: ScoreComparison, limit: int) -> Iterator[RenderableType]:
    """Yield the `limit` samples whose score changed most, with the targets that made it."""
    from rich.text import Text

    changed = score.main.flips
    if not limit or not changed:
        return
    count = len(changed)
    largest = "largest change" if limit == 1 else f"{limit} largest changes"
    first = f", the {largest}:" if count > limit else ":"
    some = "samples changed" if count > 1 else "sample changed"
    yield Text(f"{count:,} {some} in {score.name}{first}", style="bold")
    for flip in changed[:limit]:
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


def _difference(one: Difference) -> list[str]:
    interval = one.interval
    ends = "-" if interval is None else f"{signed(interval.low)} to {signed(interval.high)}"
    change = "-" if one.difference is None else signed(one.difference)
    return [shown(one.before), shown(one.after), change, ends, _chance(one.p)]


def _chance(p: float | None) -> str:
    return "" if p is None else f"{p:.4f}"


def _inferiority(one: Difference) -> str:
    margin = f"{one.margin:g}"
    if one.non_inferior is None:
        return f"no sample shows whether the drop is below {margin}"
    if one.non_inferior:
        return f"the drop is below {margin}"
    return f"a drop of {margin} is not ruled out"


def outcomes(result: GateResult) -> Iterator[Text]:
    """Yield one line for each check of a gate, with its outcome in front."""
    from rich.text import Text

    styles = {"pass": "bold green", "fail": "bold red", "cannot_tell": "bold yellow"}
    for check in result.checks:
        yield Text.assemble((check.outcome.words, styles[check.outcome]), "  ", check.reason)
