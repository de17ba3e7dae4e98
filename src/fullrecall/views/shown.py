"""What is shown as sheets: one way to print it, and one for notebooks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from fullrecall.views.sheet import Sheet


class Shown:
    """What is shown as sheets: printed, and in a notebook."""

    @property
    @abstractmethod
    def sheets(self) -> Sequence[Sheet]:
        """What it says."""

    def __str__(self) -> str:
        # Imported when something is shown: it draws with rich.
        from fullrecall.views import terminal

        return terminal.text_of(*self.sheets)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from fullrecall.views import html

        return html.text_of(*self.sheets)
