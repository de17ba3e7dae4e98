"""Sheets on a terminal, by rich: they fit into 80 columns, with colors only where they show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import IO, TYPE_CHECKING

from fullrecall.views.sheet import Cell, Section, Sheet, cell_of
from fullrecall.views.text import NOTHING, one_line

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

WIDEST = 240
"""Columns of a table as text: as wide as its scores need, whatever the terminal."""

_GAP = 3
"""Columns between two of a table."""

_LONGEST_LINE = 400
"""Characters of a note or a cell that are printed."""

_STYLES = {"good": "green", "bad": "yellow", "unsure": "bold yellow"}

_BLANK = frozenset({"", NOTHING})
"""Cells that hold nothing."""


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


def printed(console: Console, parts: Iterable[RenderableType], *, unbroken: bool = False) -> str:
    """Return what `console` would print of `parts`, without the spaces that fill its lines.

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
    """Yield what a console prints of sheets, one below the other: tables, then their notes."""
    for nth, sheet in enumerate(each for each in sheets if each or each.notes):
        if nth:
            yield ""
        yield from _parts(sheet)


def _parts(sheet: Sheet) -> Iterator[RenderableType]:
    from rich.text import Text

    yield from leading(sheet)
    if sheet and sheet.aligned[0] == "t":
        yield sheet.title
        for nth, line in enumerate(sheet.lines, start=1):
            cells = ", ".join(cell_of(cell).text for cell in line.cells if cell_of(cell).text)
            yield one_line(f"{nth}. {cell_of(line.label).text}: {cells}", _LONGEST_LINE)
    elif sheet and sheet.has_text:
        yield Text(sheet.title, style="bold")
        yield from _blocks(sheet)
    elif sheet:
        yield Grid(sheet)
    yield from (one_line(note, _LONGEST_LINE) for note in sheet.notes)


def leading(sheet: Sheet) -> Iterator[RenderableType]:
    """Yield what a sheet comes to, and an empty line after it."""
    from rich.text import Text

    for sentence in sheet.lead:
        yield Text(one_line(sentence, _LONGEST_LINE), style="bold")
    if sheet.lead:
        yield ""


def _blocks(sheet: Sheet) -> Iterator[RenderableType]:
    """Yield rows of running text: each begins with its label, and each cell has its own line."""
    from rich.text import Text

    for line in sheet.lines:
        yield ""
        first, *others = map(cell_of, line.cells)
        label, text = _printable(cell_of(line.label).text), _printable(first.text)
        yield Text.assemble((label, "bold cyan"), f"  {text}")
        for side, head, cell in zip(sheet.aligned[2:], sheet.heads[1:], others, strict=True):
            if cell.text:
                name = f"{cell_of(head).text}: " if side == "t" else ""
                style = _STYLES.get(cell.emphasis, "")
                yield indented(Text(f"{name}{one_line(cell.text, _LONGEST_LINE)}", style=style))


def indented(part: RenderableType) -> Padding:
    """Return `part` two columns further in, also where it wraps."""
    from rich.padding import Padding

    return Padding(part, (0, 0, 0, 2))


class Grid:
    """A table whose columns go into another below it where there is no room: no number is cut."""

    def __init__(self, sheet: Sheet) -> None:
        self._heads = [_printable(cell_of(head).text.replace("_", "\n", 1)) for head in sheet.heads]
        self._sections = [_Rows(section) for section in sheet.sections]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        label, widths = self._measured()
        first = 0
        while first == 0 or first < len(widths):
            last, width = (
                first + 1,
                label + sum(_GAP + width_of for width_of in widths[first : first + 1]),
            )
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
        for section in self._sections:
            labels.append(cell_len(section.title))
            for label, cells in section.rows:
                labels.append(section.inset + cell_len(label))
                sizes = (cell_len(cell.text) for cell in cells)
                widths = [max(pair) for pair in zip(widths, sizes, strict=True)]
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
            if section.title:
                grid.add_row(Text(section.title, style="bold cyan"))
            for label, cells in section.rows:
                # A row that only the other part of the table fills is left to it.
                here = {cell.text for cell in cells[columns]}
                if here <= _BLANK and not {cell.text for cell in cells} <= _BLANK:
                    continue
                grid.add_row(Text(f"{' ' * section.inset}{label}"), *map(_text, cells[columns]))
        return grid


class _Rows:
    """A section with the small parts of its cells as rows of their own, below the others."""

    def __init__(self, section: Section) -> None:
        self.title = _printable(section.title)
        self.inset = 2 if section.title else 0
        self.rows: list[tuple[str, Sequence[Cell]]] = []
        for line in section.lines:
            cells = [_printable_cell(cell_of(cell)) for cell in line.cells]
            self.rows.append((_printable_cell(cell_of(line.label)).text, cells))
            small = [Cell(cell.small or NOTHING) for cell in cells]
            if any(cell.small for cell in cells):
                self.rows.append((f"  {line.small}", small))


def _printable_cell(cell: Cell) -> Cell:
    return cell._replace(text=_printable(cell.text), small=_printable(cell.small))


def _printable(text: str) -> str:
    """Return a text without what a terminal obeys; its lines stay lines."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def _text(cell: Cell) -> Text:
    from rich.text import Text

    return Text(cell.text, style=_STYLES.get(cell.emphasis, ""))
