"""A table as data: content is built once, and written to terminals, Markdown, and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

Emphasis: TypeAlias = Literal["", "strong", "good", "bad", "unsure", "mark", "void"]
"""Why a cell stands out. In a result's quotes, "mark" was found in its context and "void" was not.
"""


class Bar(NamedTuple):
    """A value and the `ends` of its interval, which pages draw on an axis from `low` to `high`."""

    low: float
    high: float
    value: float | None
    ends: tuple[float, float] | None


class Cell(NamedTuple):
    """One value as text.

    `small` is shown below the text in small type, such as an interval below a mean. On a page,
    `letter` is shown before the text.
    """

    text: str
    emphasis: Emphasis = ""
    small: str = ""
    letter: str = ""
    bar: Bar | None = None


CellLike: TypeAlias = str | Cell


class Line(NamedTuple):
    """A row: its label, one cell for each column, and a label for the cells' small parts."""

    label: CellLike
    cells: Sequence[CellLike]
    small: str = ""


class Section(NamedTuple):
    """Rows that belong together, under a title unless it is empty."""

    title: str
    lines: Sequence[Line]


class Sheet(NamedTuple):
    """A table: a head for each column except the labels, rows in sections, and notes.

    `sides` has a letter for each column, beginning with the labels: "l" aligns left, "r" right, and
    "t" is running text, aligned left. By default labels are left, and all other columns right.
    `corner` is the head of the column of labels, and `title` names the table's subject. `lead` has
    the sentences that are shown before the table and state its result.
    """

    heads: Sequence[CellLike]
    sections: Sequence[Section]
    notes: Sequence[str] = ()
    title: str = ""
    corner: str = ""
    sides: str = ""
    lead: Sequence[str] = ()

    @property
    def aligned(self) -> str:
        """The letter of each column's alignment, the labels first; see `sides`."""
        return self.sides or f"l{'r' * len(self.heads)}"

    @property
    def lines(self) -> list[Line]:
        """The rows of all sections."""
        return [line for section in self.sections for line in section.lines]

    def __bool__(self) -> bool:
        return any(section.lines for section in self.sections)


def cell_of(value: CellLike) -> Cell:
    """Return a value as a cell; a text becomes a cell without emphasis."""
    return value if isinstance(value, Cell) else Cell(value)
