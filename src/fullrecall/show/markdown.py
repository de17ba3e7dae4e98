"""Sheets in GitHub's Markdown, for a pull request or a job's summary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fullrecall.show.sheet import Cell, CellLike, Line, Sheet, cell_of
from fullrecall.show.text import printable

_SPECIAL = r"([\\`*_{}\[\]<>()#+\-!|~&@:])"

_MENTION = r"(?<!\w)\\@(?=\w)|\\#(?=\w)"


def text_of(title: str, *sheets: Sheet) -> str:
    """Return sheets below a heading: tables with bold titles of sections, and lists of notes."""
    body = "\n".join(_sheet_text(sheet) for sheet in sheets if sheet or sheet.notes)
    return f"### {title}\n\n{body}"


def folded(sheet: Sheet, summary: str) -> str:
    """Return a sheet's title, and its table in a `<details>` block; "" for an empty sheet.

    A click on the line `summary` shows the table.
    """
    if not sheet:
        return ""
    table = "\n".join(_table(sheet))
    opening = f"<details><summary>{summary}</summary>"
    return f"{escaped(sheet.title)}\n\n{opening}\n\n{table}\n\n</details>\n"


def escaped(text: str) -> str:
    """Return `text` as one line that Markdown shows literally, links and HTML included."""
    line = re.sub(_SPECIAL, r"\\\1", " ".join(printable(text).split())).replace("www.", r"www\.")
    # A backslash does not stop mentions and references, which GitHub finds after it has read the
    # Markdown. An HTML comment between the sign and the name does.
    return re.sub(_MENTION, lambda match: f"{match[0][1]}<!-- -->", line)


def _sheet_text(sheet: Sheet) -> str:
    title = [f"**{escaped(sheet.title)}**", ""] if sheet.title else []
    title += [f"{escaped(sentence)}\n" for sentence in sheet.lead]
    table = [*_table(sheet), ""] if sheet else []
    notes = [f"- {escaped(note)}" for note in sheet.notes]
    return "\n".join([*title, *table, *notes, *([""] if notes else [])])


def _table(sheet: Sheet) -> Iterator[str]:
    yield _row([sheet.corner, *sheet.heads])
    yield f"| {' | '.join('---:' if side == 'r' else '---' for side in sheet.aligned)} |"
    for section in sheet.sections:
        if section.title:
            blank = [""] * len(sheet.heads)
            yield _row([Cell(section.title, "strong"), *blank])
        for line in section.lines:
            yield from _rows(line)


def _rows(line: Line) -> Iterator[str]:
    """Yield a row, and a second row with the small parts of its cells."""
    yield _row([line.label, *line.cells])
    small = [cell_of(cell).small for cell in line.cells]
    if any(small):
        yield _row([line.small, *small])


def _row(cells: Sequence[CellLike]) -> str:
    written = []
    for cell in map(cell_of, cells):
        text = escaped(cell.text)
        is_bold = text and cell.emphasis in {"strong", "good", "bad"}
        written.append(f"**{text}**" if is_bold else text)
    return f"| {' | '.join(written)} |"
