"""Documents as a prompt has them."""

from __future__ import annotations

from fullrecall import Context


def joined(documents: list[Context]) -> str:
    """Return documents as a prompt has them."""
    return "\n\n".join(str(document.text) for document in documents)
