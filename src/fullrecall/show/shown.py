"""Values that print as sheets, and draw themselves in a notebook."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from fullrecall.show import terminal
from fullrecall.show.sheet import Sheet


class Shown:
    """A value that prints as sheets, and is shown as them in a notebook."""

    @property
    @abstractmethod
    def sheets(self) -> Sequence[Sheet]:
        """The sheets of this value."""

    def __str__(self) -> str:
        return terminal.text_of(*self.sheets)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from fullrecall.show import html

        return html.text_of(*self.sheets)
