"""Reports as web pages: one file each, which fetches nothing and works without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.page.page import comparison_page as comparison_page
    from fullrecall.page.page import report_page as report_page
    from fullrecall.page.single_file import document as document

_MODULES = {
    "comparison_page": "page",
    "document": "single_file",
    "report_page": "page",
}

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __getattr__ = lazy.names(__name__, _MODULES)
