"""Test sets: from documents to references that can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.testset.additions import unjudged
    from fullrecall.testset.audit import Audit, check
    from fullrecall.testset.completed import CompletedSet
    from fullrecall.testset.completion import complete
    from fullrecall.testset.content import Problem
    from fullrecall.testset.following import Followed, LabelStatus, anchor, follow
    from fullrecall.testset.generation import TestSet, generate
    from fullrecall.testset.review import (
        Review,
        apply_review,
        lower_bound,
        reviews_needed,
        to_review,
    )

__all__ = [
    "Audit",
    "CompletedSet",
    "Followed",
    "LabelStatus",
    "Problem",
    "Review",
    "TestSet",
    "anchor",
    "apply_review",
    "check",
    "complete",
    "follow",
    "generate",
    "lower_bound",
    "reviews_needed",
    "to_review",
    "unjudged",
]

_MODULES = {
    "follow": "following",
    "anchor": "following",
    "LabelStatus": "following",
    "Followed": "following",
    "Audit": "audit",
    "CompletedSet": "completed",
    "Problem": "content",
    "Review": "review",
    "TestSet": "generation",
    "apply_review": "review",
    "check": "audit",
    "complete": "completion",
    "generate": "generation",
    "lower_bound": "review",
    "reviews_needed": "review",
    "to_review": "review",
    "unjudged": "additions",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
