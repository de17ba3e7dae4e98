"""The HTML around the data: one file that fetches nothing and runs nothing but its own script."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullrecall.markup import plain_title, visible
from fullrecall.views.page.encoding import script_json, source_hash
from fullrecall.views.page.payload import Payload

if TYPE_CHECKING:
    from jinja2 import Environment

    from fullrecall.report.bounds import Interval

_FILES = "files"


def rendered(template: str, data: Payload, **values: Any) -> str:
    """Return the page that `template` makes of `values`, with the data that its script reads."""
    return document(template, _file("page.js"), _file("page.css"), data.blocks, **values)


def document(
    template: str, script: str, style: str, blocks: Sequence[tuple[str, Any]], **values: Any
) -> str:
    """Return one file with a script, a style, and blocks of data by the IDs that it reads them by.

    `template` is the name of a file of this package, or a template that extends one.
    """
    from markupsafe import Markup

    # Scripts and styles are allowed by their hashes alone, so that an inline one that an escaping
    # slip let in would not run; a page under this policy can fetch nothing, and no string can be
    # made markup by its script.
    policy = (
        f"default-src 'none'; script-src {source_hash(script)}; style-src {source_hash(style)}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )
    # Both are our own files, and `script_json` escapes all that HTML could take for markup.
    inlined = {
        "script": Markup(script),  # noqa: S704
        "style": Markup(style),  # noqa: S704
        "blocks": [(name, Markup(script_json(block))) for name, block in blocks],  # noqa: S704
    }
    from fullrecall import __version__

    environment = _environment()
    made = (
        environment.get_template(template)
        if template.endswith(".html")
        else environment.from_string(template)
    )
    return made.render(policy=policy, version=__version__, **inlined, **values)


def page_style() -> str:
    """Return the style that all pages share."""
    return _file("page.css")


def write(page: str, path: str | Path) -> None:
    """Write a page; a file of that name is replaced once all is written."""
    part = Path(f"{path}.part")
    try:
        part.write_text(page, encoding="utf-8", newline="\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "visible": visible,
        "title_text": plain_title,
        "number": _number,
        "signed": _signed,
        "interval": _interval,
        "count": lambda count: f"{count:,}",
        "p_value": _p_value,
    }
    return environment


@cache
def _file(name: str) -> str:
    return (files(__package__) / _FILES / name).read_text(encoding="utf-8")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"  # noqa: RUF001 - a dash for no number


def _signed(value: float | None) -> str:
    if value is None:
        return "–"  # noqa: RUF001 - the same
    shown = f"{abs(value):.3f}"
    sign = "" if float(shown) == 0 else "+" if value > 0 else "−"  # noqa: RUF001 - a minus
    return f"{sign}{shown}"


def _interval(interval: Interval | None, *, signed: bool = False) -> str:
    if interval is None:
        return "–"  # noqa: RUF001 - the same
    if signed:
        return f"{_signed(interval.low)} to {_signed(interval.high)}"
    return f"{interval.low:.3f}–{interval.high:.3f}"  # noqa: RUF001 - a range


def _p_value(p: float | None) -> str:
    if p is None:
        return "–"  # noqa: RUF001 - the same
    return "< 0.001" if p < 0.001 else f"{p:.3f}"  # noqa: PLR2004 - as many digits as are shown
