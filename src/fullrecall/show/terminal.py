"""Print sheets (tables with notes) with rich, to fit the terminal, or as text up to 240 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from textwrap import indent
from typing import IO, TYPE_CHECKING, NamedTuple, TypeAlias

from fullrecall.show.sheet import Cell, Sheet, cell_of
from fullrecall.show.text import NOTHING, one_line, printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.padding import Padding

WIDEST = 240
"""The most columns of a table as text, on any terminal."""

_LONGEST_LINE = 400
"""The most characters of a note or a cell that are printed."""

STYLES = {"good": "green", "bad": "red", "unsure": "yellow"}


def console(file: IO[str], *, width: int | None = None) -> Console:
    """Return a console on `file`, as wide as the terminal or `width`.

    Only terminals get colors, and only if NO_COLOR is not set.
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


Styled: TypeAlias = tuple[str, str]
"""A text with its style."""


class TextLine(NamedTuple):
    """A line of text, indented by `inset` spaces, also where it is wrapped."""

    styled: Sequence[Styled]
    inset: int = 0

    def __str__(self) -> str:
        return indent("".join(text for text, _ in self.styled), " " * self.inset)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        text = Text.assemble(*self.styled)
        yield indented(text, self.inset) if self.inset else text


def text_of(*sheets: Sheet) -> str:
    """Return sheets as plain text, as wide as their tables need, up to 240 columns."""
    lines: list[str] = []
    for part in parts(*sheets):
        own = [*part.lines(WIDEST)] if isinstance(part, Grid) else [part]
        lines += map(str, own)
        if not isinstance(part, Grid) and width_of(lines[-1]) > WIDEST:  # let rich wrap it
            return printed(console(StringIO(), width=WIDEST), parts(*sheets))
    return "".join(f"{line.rstrip()}\n" for line in lines)


def parts(*sheets: Sheet) -> Iterator[str | TextLine | Grid]:
    """Yield the printable parts of sheets, one below another: tables, then their notes."""
    for nth, sheet in enumerate(each for each in sheets if each or each.notes):
        if nth:
            yield ""
        for sentence in sheet.lead:
            yield TextLine([(one_line(sentence, _LONGEST_LINE), "bold")])
        if sheet.lead:
            yield ""
        if sheet and sheet.aligned[0] == "t":
            yield sheet.title
            yield from _numbered(sheet)
        elif sheet and "t" in sheet.aligned[1:]:  # running text needs lines of its own
            if sheet.title:
                yield TextLine([(sheet.title, "bold")])
            yield from _blocks(sheet)
        elif sheet:
            yield Grid(sheet)
        yield from (one_line(note, _LONGEST_LINE) for note in sheet.notes)


def _numbered(sheet: Sheet) -> Iterator[str]:
    for nth, line in enumerate(sheet.lines, start=1):
        cells = ", ".join(cell_of(cell).text for cell in line.cells if cell_of(cell).text)
        yield one_line(f"{nth}. {cell_of(line.label).text}: {cells}", _LONGEST_LINE)


def _blocks(sheet: Sheet) -> Iterator[str | TextLine]:
    """Yield rows of running text: each begins with its label, and each cell has its own line."""
    for nth, section in enumerate(sheet.sections):
        if nth:
            yield ""
        if section.title:
            yield TextLine([(printable(section.title), "bold")])
        for line in section.lines:
            first, *further = map(cell_of, line.cells)
            label, text = printable(cell_of(line.label).text), printable(first.text)
            yield ""
            yield TextLine([(label, "bold cyan"), (f"  {text}", "")])
            for side, head, cell in zip(sheet.aligned[2:], sheet.heads[1:], further, strict=True):
                if cell.text:
                    name = f"{cell_of(head).text}: " if side == "t" else ""
                    text = f"{name}{one_line(cell.text, _LONGEST_LINE)}"
                    yield TextLine([(text, STYLES.get(cell.emphasis, ""))], inset=2)


def indented(part: RenderableType, columns: int = 2) -> Padding:
    """Return `part` indented, wrapped lines included."""
    from rich.padding import Padding

    return Padding(part, (0, 0, 0, columns))


class Grid:
    """A table that is split by columns into narrower tables if it is too wide for the terminal."""

    def __init__(self, sheet: Sheet) -> None:
        self._sheet = sheet

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        for line in self.lines(options.max_width):
            yield Text.assemble(*line.styled, overflow="ignore")

    def lines(self, width: int) -> Iterator[TextLine]:
        """Yield the lines of the tables; each is at most `width` wide, or has only one column."""
        count = len(self._sheet.heads)
        first = last = 0
        while last < max(1, count):
            first, last = last, last + 1
            rows = _rows(self._sheet, slice(first, last))
            while last < count:
                wider = _rows(self._sheet, slice(first, last + 1))
                if _whole(_widths(wider)) > width:
                    break
                rows, last = wider, last + 1
            if first:
                yield TextLine([])
            yield from _drawn(rows)


def _rows(sheet: Sheet, columns: slice) -> list[list[Styled]]:
    """Return the rows of a table that has a sheet's labels and some of its columns.

    If cells of a row have small texts, an extra row below it shows them.
    """
    # Break the name at its first underscore, so that a column is as narrow as its numbers.
    heads = [cell_of(head).text.replace("_", "\n", 1) for head in sheet.heads[columns]]
    rows = [[("", ""), *((printable(head), "bold") for head in heads)]]
    for nth, section in enumerate(sheet.sections):
        if nth:
            rows.append([])
        if section.title:
            rows.append([(printable(section.title), "bold cyan")])
        inset = "  " if section.title else ""
        for line in section.lines:
            cells = list(map(cell_of, line.cells))
            # Skip a row that has cells only in other columns; another table shows it.
            if _fills(cells[columns]) or not _fills(cells):
                label = printable(cell_of(line.label).text)
                texts = [
                    (printable(cell.text), STYLES.get(cell.emphasis, "")) for cell in cells[columns]
                ]
                rows.append([(f"{inset}{label}", ""), *texts])
            if any(cell.small for cell in cells[columns]):
                small = [(printable(cell.small or NOTHING), "") for cell in cells[columns]]
                rows.append([(f"{inset}  {line.small}", ""), *small])
    return rows


def _drawn(rows: Sequence[Sequence[Styled]]) -> Iterator[TextLine]:
    """Yield the lines of rows: heads over a rule, labels at the left.

    In a row of several lines, its label is at the top and all other cells are at the bottom.
    """
    widths = _widths(rows)
    for nth, row in enumerate(rows):
        cells = [text.split("\n") for text, _ in row]
        height = max(map(len, cells), default=1)
        for at in range(height):
            line: list[Styled] = []
            for column, (texts, (_, style)) in enumerate(zip(cells, row, strict=True)):
                index = at - height + len(texts) if column else at
                text = texts[index].rstrip() if 0 <= index < len(texts) else ""
                gap = (" " * (widths[column] - width_of(text)), "")
                line += [(_BETWEEN, ""), gap, (text, style)] if column else [(text, style), gap]
            yield TextLine(line)
        if not nth:
            yield TextLine([("─" * _whole(widths), "")])


def _widths(rows: Sequence[Sequence[Styled]]) -> list[int]:
    """Return the width of each column."""
    columns = range(len(rows[0]))
    texts = [[row[column][0] for row in rows if column < len(row)] for column in columns]
    return [max(map(width_of, "\n".join(own).split("\n"))) for own in texts]


def _whole(widths: Sequence[int]) -> int:
    return sum(widths) + len(_BETWEEN) * (len(widths) - 1)


_BETWEEN = "   "
"""The space between two columns."""


def width_of(text: str) -> int:
    """Return how many columns a terminal needs for a text."""
    # These characters need one column each; any other may need two, or none, so rich counts it.
    if text.isascii() or all(char < "\u0300" or "\u2010" <= char <= "\u2027" for char in text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _fills(cells: Sequence[Cell]) -> bool:
    return any(cell.text not in {"", NOTHING} for cell in cells)
