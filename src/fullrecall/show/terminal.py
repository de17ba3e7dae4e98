"""Sheets on a terminal, by rich: they fit into 80 columns, with color only if it is supported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import IO, TYPE_CHECKING

from fullrecall.show.sheet import Cell, Sheet, cell_of
from fullrecall.show.text import NOTHING, one_line, printable

# rich is loaded only for drawing: it takes 60 ms, half of the time of `--help`.
if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.padding import Padding
    from rich.table import Table

WIDEST = 240
"""Columns of a table as text: as wide as its scores need, on any terminal."""

_UNBOUNDED = 10_000
"""Columns that no table needs."""

_LONGEST_LINE = 400
"""Characters of a note or a cell that are printed."""

STYLES = {"good": "green", "bad": "red", "unsure": "yellow"}


def console(file: IO[str], *, width: int | None = None) -> Console:
    """Return a console on `file`, as wide as the terminal or `width`.

    It colors terminals only, and none if NO_COLOR is set.
    """
    from rich.console import Console

    # Printed texts come from users' files: brackets, colons and digits in them are not markup. A
    # text in memory is always plain, although notebooks ask for color in all output.
    return Console(
        file=file,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        force_jupyter=False,
        force_terminal=False if isinstance(file, StringIO) else None,
    )


def printed(console: Console, parts: Iterable[RenderableType], *, unbroken: bool = False) -> str:
    """Return the text that `console` would print for `parts`, without spaces at line ends.

    `unbroken` leaves long lines to the terminal, so that a path in them can be copied.
    """
    with console.capture() as captured:
        for part in parts:
            console.print(part, soft_wrap=unbroken, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def text_of(*sheets: Sheet) -> str:
    """Return sheets as plain text, as wide as they need."""
    return printed(console(StringIO(), width=WIDEST), parts(*sheets))


def parts(*sheets: Sheet) -> Iterator[RenderableType]:
    """Yield the printable parts of sheets, one below another: tables, then their notes."""
    from rich.text import Text

    for nth, sheet in enumerate(each for each in sheets if each or each.notes):
        if nth:
            yield ""
        for sentence in sheet.lead:
            yield Text(one_line(sentence, _LONGEST_LINE), style="bold")
        if sheet.lead:
            yield ""
        if sheet and sheet.aligned[0] == "t":
            yield sheet.title
            yield from _numbered(sheet)
        elif sheet and "t" in sheet.aligned[1:]:  # Running text needs lines of its own.
            if sheet.title:
                yield Text(sheet.title, style="bold")
            yield from _blocks(sheet)
        elif sheet:
            yield Grid(sheet)
        yield from (one_line(note, _LONGEST_LINE) for note in sheet.notes)


def _numbered(sheet: Sheet) -> Iterator[str]:
    for nth, line in enumerate(sheet.lines, start=1):
        cells = ", ".join(cell_of(cell).text for cell in line.cells if cell_of(cell).text)
        yield one_line(f"{nth}. {cell_of(line.label).text}: {cells}", _LONGEST_LINE)


def _blocks(sheet: Sheet) -> Iterator[RenderableType]:
    """Yield rows of running text: each begins with its label, and each cell has its own line."""
    from rich.text import Text

    for nth, section in enumerate(sheet.sections):
        if nth:
            yield ""
        if section.title:
            yield Text(printable(section.title), style="bold")
        for line in section.lines:
            first, *further = map(cell_of, line.cells)
            label, text = printable(cell_of(line.label).text), printable(first.text)
            yield ""
            yield Text.assemble((label, "bold cyan"), f"  {text}")
            for side, head, cell in zip(sheet.aligned[2:], sheet.heads[1:], further, strict=True):
                if cell.text:
                    name = f"{cell_of(head).text}: " if side == "t" else ""
                    text = f"{name}{one_line(cell.text, _LONGEST_LINE)}"
                    yield indented(Text(text, style=STYLES.get(cell.emphasis, "")))


def indented(part: RenderableType) -> Padding:
    """Return `part` indented by two columns, wrapped lines included."""
    from rich.padding import Padding

    return Padding(part, (0, 0, 0, 2))


class Grid:
    """A table that moves columns that do not fit into another table below: no number is cut."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.measure import Measurement

        unbounded, count = options.update(width=_UNBOUNDED), len(self._sheet.heads)
        first = last = 0
        while last < max(1, count):
            first, last, fits = last, last + 1, True
            table = _table(self._sheet, slice(first, last))
            while fits and last < count:
                wider = _table(self._sheet, slice(first, last + 1))
                fits = Measurement.get(console, unbounded, wider).maximum <= options.max_width
                if fits:
                    table, last = wider, last + 1
            if first:
                yield ""
            # The width is not limited to the console's: rich would cut the cells of a table that
            # does not fit.
            width = Measurement.get(console, unbounded, table).maximum
            yield from console.render(table, options.update(width=width))


def _table(sheet: Sheet, columns: slice) -> Table:
    """Return some columns of a sheet beside its labels, with the small parts of cells below."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    for head in sheet.heads[columns]:
        # Break the name at its first underscore, so that a column is as narrow as its numbers.
        text = Text(printable(cell_of(head).text.replace("_", "\n", 1)), justify="right")
        table.add_column(text, justify="right", vertical="bottom", no_wrap=True)
    for nth, section in enumerate(sheet.sections):
        if nth:
            table.add_row()
        if section.title:
            table.add_row(Text(printable(section.title), style="bold cyan"))
        inset = "  " if section.title else ""
        for line in section.lines:
            cells = list(map(cell_of, line.cells))
            # Skip a row whose only cells are in the other part of the table.
            if _fills(cells[columns]) or not _fills(cells):
                label = printable(cell_of(line.label).text)
                texts = [
                    Text(printable(cell.text), style=STYLES.get(cell.emphasis, ""))
                    for cell in cells[columns]
                ]
                table.add_row(f"{inset}{label}", *texts)
            if any(cell.small for cell in cells[columns]):
                small = (printable(cell.small or NOTHING) for cell in cells[columns])
                table.add_row(f"{inset}  {line.small}", *small)
    return table


def _fills(cells: Sequence[Cell]) -> bool:
    return any(cell.text not in {"", NOTHING} for cell in cells)
