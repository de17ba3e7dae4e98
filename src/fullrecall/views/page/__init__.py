"""Reports as web pages: one file each, which fetches nothing and works without a server."""

from fullrecall.views.page.page import check_size, comparison_page, report_page

__all__ = ["check_size", "comparison_page", "report_page"]
