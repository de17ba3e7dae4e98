"""Build a page: one HTML file that makes no requests and runs only its own script."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fullrecall.page.tables import path
from fullrecall.show.html import table, visible
from fullrecall.show.text import replaced

if TYPE_CHECKING:
    from jinja2 import Environment

# Characters to escape. `<`, `>` and `&` may be markup in HTML; U+2028 and U+2029 end lines in old
# scripts; direction overrides would reorder the source; UTF-8 cannot encode a lone surrogate.
_UNSAFE_IN_SCRIPT = re.compile(
    "[<>&\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def script_json(value: Any) -> str:
    """Return `value` as JSON for a `<script>`: no part of it ends the element or the line."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE_IN_SCRIPT.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def rendered(blocks: Sequence[tuple[str, Any]], **values: Any) -> str:
    """Return the page of reports, with the blocks of data that its script reads."""
    return document(_file("page.html"), _file("page.js"), "", blocks, **values)


def document(
    template: str, script: str, style: str, blocks: Sequence[tuple[str, Any]], **values: Any
) -> str:
    """Return one HTML file with a script, a style, and an element for each block of data.

    `template` is the text of a template, which may extend a file of this package. `style` is added
    to the style that all pages share.
    """
    from markupsafe import Markup

    from fullrecall import __version__

    style = _file("page.css") + style
    # Scripts and styles are allowed only by hash, so that an inline script that an escaping error
    # lets in does not run. Under this policy, a page cannot make requests, and its script cannot
    # turn strings into markup.
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )
    # Script and style come from this package, and `script_json` escapes every character that HTML
    # could read as markup.
    inlined = {
        "script": Markup(script),  # noqa: S704
        "style": Markup(style),  # noqa: S704
        "blocks": [(name, Markup(script_json(block))) for name, block in blocks],  # noqa: S704
    }
    page = _environment().from_string(template)
    return page.render(policy=policy, version=__version__, **inlined, **values)


def _hash(code: str) -> str:
    """Return the hash by which a content security policy allows an inline script or style."""
    return f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    # Strict, so that a misspelled name raises an error instead of printing an empty text.
    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "visible": visible,
        "title_text": replaced,
        "table": table,
        "count": lambda count: f"{count:,}",
        "path": path,
    }
    return environment


@cache
def _file(name: str) -> str:
    return (files(__package__) / "files" / name).read_text(encoding="utf-8")
