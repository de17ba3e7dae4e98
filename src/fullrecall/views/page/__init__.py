"""Reports as web pages: one file each, which fetches nothing and works without a server."""

from fullrecall.views.page.causes import Diagnosis
from fullrecall.views.page.comparison_page import comparison_page
from fullrecall.views.page.report_page import report_page
from fullrecall.views.page.runs_page import runs_page
from fullrecall.views.page.shell import write

__all__ = ["Diagnosis", "comparison_page", "report_page", "runs_page", "write"]
