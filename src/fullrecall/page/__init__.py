"""Reports as web pages: single files that make no requests and need no server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from fullrecall.page.page import comparison_page as comparison_page
    from fullrecall.page.page import diagnosed as diagnosed
    from fullrecall.page.page import report_page as report_page
    from fullrecall.page.single_file import document as document
else:
    __getattr__ = lazy.names(__name__)
