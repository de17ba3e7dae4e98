"""Sheets as HTML: in a notebook, in whose colors they are shown, and on pages.

Every text in them is escaped, and its direction stays its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from fullrecall.views.sheet import Bar, Cell, CellLike, Line, Section, Sheet, cell_of
from fullrecall.views.text import spelled

if TYPE_CHECKING:
    from markupsafe import Markup

_AXIS = 232
"""Length of the axis of a bar."""

_WRAPPED = {"strong": "b", "good": "b", "bad": "b", "mark": "mark", "void": "s"}


def visible(text: object) -> Markup:
    """Return `text` escaped and isolated, so that its direction stays its own.

    Characters that show nothing, or reorder what stands beside them, are shown by their number.
    """
    number = _markup('<span class="code">{}</span>')
    pieces = (
        _markup("{}{}").format(piece, number.format(code) if code else "")
        for piece, code in spelled(str(text))
    )
    return _markup("<bdi>{}</bdi>").format(_joined(pieces))


def text_of(*sheets: Sheet) -> str:
    """Return sheets for a notebook: small tables, no script, each note a paragraph."""
    return str(_markup("<div>{}</div>").format(_joined(map(_in_notebook, sheets))))


def table(
    sheet: Sheet,
    classes: str = "",
    *,
    first: int | None = None,
    marks: Sequence[object] = (),
    swatches: Sequence[Markup] = (),
) -> Markup:
    """Return the table of a sheet for a page, whose style says how it looks.

    Of a sheet with one section for each choice of the reader, `first` is shown. `marks` name the
    columns that a script underlines, such as the k of each; `swatches` stand before the labels.
    """
    heads = [
        _head(cell_of(head), side, mark)
        for head, side, mark in zip(
            sheet.heads, sheet.aligned[1:], marks or [None] * len(sheet.heads), strict=True
        )
    ]
    bodies = [
        _markup('<tbody role="rowgroup"{}>{}</tbody>\n').format(
            _choice(nth, first),
            _joined(
                _line(line, sheet, swatch)
                for line, swatch in zip_longest(section.lines, swatches[: len(section.lines)])
            ),
        )
        for nth, section in enumerate(sheet.sections)
    ]
    return _markup(
        '<table class="{}" role="table">\n<thead role="rowgroup"><tr role="row">'
        '<th scope="col" role="columnheader">{}</th>{}</tr></thead>\n{}</table>'
    ).format(classes, visible(sheet.corner), _joined(heads), _joined(bodies))


def swatch(style: int, *, hollow: bool) -> Markup:
    """Return a short piece of a chart's line, by the number of its style."""
    dot = "hollow" if hollow else "dot"
    return _markup(
        f'<svg class="swatch c{style}" viewBox="0 0 44 14" aria-hidden="true"><path class="curve '
        f'd{style}" d="M0 7L44 7"/><circle class="{dot}" cx="22" cy="7" r="3.5"/></svg>'
    )


def _in_notebook(sheet: Sheet) -> Markup:
    notes = _joined(_markup("<p>{}</p>").format(visible(note)) for note in sheet.notes)
    first = [*sheet.lead, *[sheet.title] * bool(sheet.title)]
    title = _joined(_markup("<p><b>{}</b></p>").format(visible(line)) for line in first)
    if not sheet:
        return _markup("{}{}").format(title, notes)
    heads = _joined(
        _markup('<th style="text-align:left">{}</th>').format(visible(cell_of(head).text))
        for head in (sheet.corner, *sheet.heads)
    )
    rows = _joined(_section(section, len(sheet.heads)) for section in sheet.sections)
    return _markup("{}<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}").format(
        title, heads, rows, notes
    )


def _section(section: Section, columns: int) -> Markup:
    rows = [_row([Cell(section.title, "strong"), *[""] * columns])] if section.title else []
    return _joined([*rows, *(_row([line.label, *line.cells]) for line in section.lines)])


def _row(cells: Iterable[CellLike]) -> Markup:
    cell = _markup('<td style="text-align:left;vertical-align:top">{}</td>')
    return _markup("<tr>{}</tr>").format(_joined(cell.format(_inner(cell_of(c))) for c in cells))


def _inner(cell: Cell) -> Markup:
    """Return what stands in a cell: its lines, marked, with a link, the small part below it."""
    lines = [visible(line) for line in cell.text.split("\n")] if cell.text else []
    inner = _markup("<br>").join(lines)
    if cell.emphasis in _WRAPPED:
        tag = _markup(_WRAPPED[cell.emphasis])
        inner = _markup("<{}>{}</{}>").format(tag, inner, tag)
    if cell.link:
        inner = _markup('<a href="{}">{}</a>').format(cell.link, inner)
    if cell.small:
        inner = _markup("{} <small>{}</small>").format(inner, visible(cell.small))
    return inner


def _head(cell: Cell, side: str, mark: object) -> Markup:
    marked = "" if mark is None else _markup(' data-k="{}"').format(mark)
    return _markup('<th scope="col" role="columnheader"{}{}>{}</th>').format(
        _class(side), marked, _inner(cell)
    )


def _line(line: Line, sheet: Sheet, swatch: Markup | None) -> Markup:
    label = cell_of(line.label)
    letter = _markup('<span class="letter">{}</span> ').format(label.letter) if label.letter else ""
    cells = (
        _data(cell_of(cell), side) for cell, side in zip(line.cells, sheet.aligned[1:], strict=True)
    )
    return _markup('<tr role="row"><th scope="row" role="rowheader">{}{}{}</th>{}</tr>\n').format(
        swatch or "", letter, _inner(label), _joined(cells)
    )


def _data(cell: Cell, side: str) -> Markup:
    if cell.bar is not None:
        return _markup('<td role="cell" class="axis">{}</td>').format(_whisker(cell.bar))
    label = _markup(' data-label="{}"').format(cell.label) if cell.label else ""
    return _markup('<td role="cell"{}{}>{}</td>').format(
        _class(side, cell.emphasis), label, _inner(cell)
    )


def _class(side: str, emphasis: str = "") -> Markup:
    names = ["numeric"] * (side == "r") + [emphasis] * bool(emphasis)
    return _markup(' class="{}"').format(" ".join(names)) if names else _markup("")


def _choice(nth: int, first: int | None) -> Markup:
    if first is None:
        return _markup("")
    return _markup(' data-choice="{}"{}').format(nth, "" if nth == first else _markup(" hidden"))


def _whisker(bar: Bar) -> Markup:
    """Return a value with its interval on an axis, drawn as SVG."""

    def at(value: float) -> float:
        share = (min(max(value, bar.low), bar.high) - bar.low) / (bar.high - bar.low)
        return round(4 + share * _AXIS, 1)

    kind, middle = ("rule", "M120 2L120 22") if bar.low < 0 else ("grid", "M120 8L120 16")
    drawn = [
        '<path class="grid" d="M4 8L4 16M236 8L236 16M4 12L236 12"/>',
        f'<path class="{kind}" d="{middle}"/>',
    ]
    if bar.ends is not None:
        low, high = map(at, bar.ends)
        ends = f"M{low} 12L{high} 12M{low} 7L{low} 17M{high} 7L{high} 17"
        drawn.append(f'<path class="ink" stroke-width="2" d="{ends}"/>')
    if bar.value is not None:
        drawn.append(f'<circle class="ink" cx="{at(bar.value)}" cy="12" r="4.5"/>')
    svg = f'<svg class="whisker" viewBox="0 0 240 24" aria-hidden="true">{"".join(drawn)}</svg>'
    return _markup(svg)


def _joined(parts: Iterable[Markup]) -> Markup:
    return _markup("").join(parts)


def _markup(source: str) -> Markup:
    """Return our own markup; what is formatted into it is escaped."""
    from markupsafe import Markup

    return Markup(source)  # noqa: S704
