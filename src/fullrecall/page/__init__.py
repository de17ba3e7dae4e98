"""Reports as web pages: one file each, which fetches nothing and works without a server."""

from fullrecall.page.document import document
from fullrecall.page.page import comparison_page, report_page

__all__ = ["comparison_page", "document", "report_page"]
