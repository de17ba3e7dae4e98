"""The origin of a report's scores: the corpus that labels were compared with, the list scored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Self

from fullrecall.errors import ReportError
from fullrecall.samples.retrieval import View


class Origin(NamedTuple):
    """The fingerprint of the corpus, None without one, and which list was scored."""

    corpus: str | None = None
    view: View = "contexts"

    @classmethod
    def common(cls, origins: Iterable[Origin]) -> Self:
        """Return the origin of the parts of one report: without a corpus if theirs differ.

        Raises `ReportError` for parts of different lists.
        """
        corpora, views = map(set, zip(*origins, strict=True))
        if len(views) > 1:
            raise ReportError(
                f"parts scored by view={', '.join(sorted(views))} are not parts of one evaluation"
            )
        return cls(corpora.pop() if len(corpora) == 1 else None, views.pop())


UNKNOWN = Origin()
"""The origin of a report that names none."""
