"""Steps that only move contexts for the model's attention, which is no ranking."""

from __future__ import annotations

from collections.abc import Sequence

from fullrecall.context import Context

_NAMES = ("LongContextReorder", "transform_documents", "reorder")
_SURE = 5
"""Contexts from which that very order is not met by chance: 1 in 120."""


def is_reordering(
    name: str, before: Sequence[Context] | None, after: Sequence[Context] | None
) -> bool:
    """Return whether a step did no more than put the best contexts at both ends.

    That order, the best first and last and the worst in the middle, is known by itself where the
    list is long, and by the step's name where it is short.
    """
    if before is None or after is None or len(after) != len(before) or len(before) < 3:  # noqa: PLR2004
        return False
    if len(before) < _SURE and not any(name_part in name for name_part in _NAMES):
        return False
    return list(after) == _best_at_the_ends(before)


def _best_at_the_ends(contexts: Sequence[Context]) -> list[Context]:
    """Return contexts in the order that LangChain's LongContextReorder gives them."""
    ordered: list[Context] = []
    for index, context in enumerate(reversed(contexts)):
        if index % 2 == 1:
            ordered.append(context)
        else:
            ordered.insert(0, context)
    return ordered
