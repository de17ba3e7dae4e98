"""The review page: one file, no server, no request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from fullrecall.views.page import document


def review_page(
    drawn: Sequence[Mapping[str, Any]], *, digest: str, total: int, allowed: int, title: str
) -> str:
    """Return the page for the drawn questions, as plain values; `digest` names their set."""

    def own(name: str) -> str:
        return (files(__package__) / "files" / name).read_text(encoding="utf-8")

    index = {"set": digest, "planned": len(drawn), "samples": list(drawn)}
    return document.document(
        own("review.html"),
        own("review.js"),
        document.page_style() + own("review.css"),
        [("index", index)],
        title=title,
        planned=len(drawn),
        total=total,
        allowed=allowed,
    )
