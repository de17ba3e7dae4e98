"""The base of values that print as tables, also in notebooks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from fullrecall.show import terminal
from fullrecall.show.sheet import Sheet


class Shown:
    """A value that prints as its `sheets`; a notebook shows them as HTML."""

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
