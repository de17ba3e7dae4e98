"""The origin of a report's scores: the corpus of its labels, and the list that was scored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Self

from fullrecall.errors import ReportError
from fullrecall.samples.retrieval import View


class Origin(NamedTuple):
    """The origin of scores.

    `corpus` is the fingerprint of the corpus with which labels were compared, None without one;
    `view` is the name of the list that was scored.
    """

    corpus: str | None = None
    view: View = "contexts"

    @classmethod
    def common(cls, origins: Iterable[Origin]) -> Self:
        """Return the common origin of a report's parts; its corpus is None if corpora differ.

        Raises `ReportError` for parts that scored different lists.
        """
        corpora, views = map(set, zip(*origins, strict=True))
        if len(views) > 1:
            raise ReportError(
                f"parts scored by view={', '.join(sorted(views))} are not parts of one evaluation"
            )
        return cls(corpora.pop() if len(corpora) == 1 else None, views.pop())


UNKNOWN = Origin()
"""The origin of a report that names none: no corpus, and the list "contexts"."""
