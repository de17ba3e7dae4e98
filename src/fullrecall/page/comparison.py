"""The comparison of two reports, with its web page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fullrecall._util.garbage import uncollected
from fullrecall.show.output import written
from fullrecall.stats.comparison import Comparison

if TYPE_CHECKING:
    from fullrecall.diagnosis import Diagnosis


class ReportComparison(Comparison):
    """A comparison that can also be written as a web page."""

    @uncollected()
    def to_html(
        self,
        path: str | Path | None = None,
        *,
        diagnosis: Diagnosis | Literal[False] | None = None,
        title: str | None = None,
    ) -> str:
        """Return the comparison as one HTML page, and write it to `path` if one is given.

        The page is whole, as that of `Report.to_html`. It answers first what fails now that did
        not, why, and what to change; then the differences with their intervals, the curves before
        and after, and every sample with both retrievals side by side. `diagnosis`, of the report
        after, says why each target was missed; None makes one by what the report alone tells,
        False leaves it out.
        """
        from fullrecall.page.page import comparison_page

        page = comparison_page(self, diagnosis=diagnosis, title=title)
        return written(page, path)
