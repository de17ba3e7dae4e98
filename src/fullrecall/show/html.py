"""Sheets as HTML, in a notebook's colors or on pages.

Every text is escaped and keeps its own writing direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fullrecall.show.sheet import Bar, Cell, Sheet, cell_of
from fullrecall.show.text import spelled

if TYPE_CHECKING:
    from markupsafe import Markup

_AXIS = 232
"""The length of the axis of a bar, in units of the template's SVG."""


def visible(text: object) -> Markup:
    """Return `text` escaped and isolated, so that it keeps its own writing direction.

    Invisible characters, and those that reorder their neighbors, are shown by their number.
    """
    from markupsafe import Markup

    number = Markup('<span class="code">{}</span>')
    pieces = (
        Markup("{}{}").format(piece, number.format(code) if code else "")
        for piece, code in spelled(str(text))
    )
    return Markup("<bdi>{}</bdi>").format(Markup("").join(pieces))


def text_of(*sheets: Sheet) -> str:
    """Return sheets as HTML for a notebook: small tables without a script, notes as paragraphs."""
    return str(_macros().notebook(sheets))


def table(
    sheet: Sheet,
    classes: str = "",
    *,
    first: int | None = None,
    marks: Sequence[object] = (),
    curves: Sequence[Any] = (),
) -> Markup:
    """Return the HTML table of a sheet; the page must have the CSS for it.

    If the reader can choose one of the sections, `first` is the index of the section that is shown
    at first; None shows all sections. `marks` has a value for each column, such as its k, by which
    a script finds the columns to underline. If `curves` are given, a short piece of each line's
    curve is shown before the line's label, as in a legend.
    """
    markup: Markup = _macros().table(sheet, classes, first, marks, curves)
    return markup


# Cached: the template takes 30 ms to compile.
@cache
def _macros() -> Any:
    """Return the template macros for the parts of a sheet; they escape all values."""
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True)
    environment.filters |= {
        "visible": visible,
        "cell": cell_of,
        "strong": partial(Cell, emphasis="strong"),
        "on_axis": _on_axis,
    }
    from importlib.resources import files  # imported late, since it loads zipfile and tempfile

    source = (files("fullrecall.show") / "files" / "sheet.html").read_text("utf-8")
    return environment.from_string(source).module


def _on_axis(value: float, bar: Bar) -> float:
    """Return the position of a value on the axis of its bar."""
    share = (min(max(value, bar.low), bar.high) - bar.low) / (bar.high - bar.low)
    # The template's axis begins 4 units from the left, so that the cap of an interval is not cut.
    return round(4 + share * _AXIS, 1)
