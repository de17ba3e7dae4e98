"""Test sets: from documents to references that can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.testset.acceptance import lower_bound, reviews_needed
    from fullrecall.testset.audit import Audit, Issue, Problem, check
    from fullrecall.testset.chunk_ids import Derived, chunk_ids
    from fullrecall.testset.completion import CompletedSet, acomplete, complete
    from fullrecall.testset.draft import Defect, Draft
    from fullrecall.testset.exports import Exported, export
    from fullrecall.testset.gain import Unjudged, unjudged
    from fullrecall.testset.generation import TestSet, agenerate, generate
    from fullrecall.testset.pair_labels import PairToLabel
    from fullrecall.testset.review import Review, apply_review, to_review

__all__ = [
    "Audit",
    "CompletedSet",
    "Defect",
    "Derived",
    "Draft",
    "Exported",
    "Issue",
    "PairToLabel",
    "Problem",
    "Review",
    "TestSet",
    "Unjudged",
    "acomplete",
    "agenerate",
    "apply_review",
    "check",
    "chunk_ids",
    "complete",
    "export",
    "generate",
    "lower_bound",
    "reviews_needed",
    "to_review",
    "unjudged",
]

_MODULES = {
    "Audit": "audit",
    "CompletedSet": "completion",
    "Defect": "draft",
    "Derived": "chunk_ids",
    "Draft": "draft",
    "Exported": "exports",
    "Issue": "audit",
    "PairToLabel": "pair_labels",
    "Problem": "audit",
    "Review": "review",
    "TestSet": "generation",
    "Unjudged": "gain",
    "acomplete": "completion",
    "agenerate": "generation",
    "apply_review": "review",
    "check": "audit",
    "chunk_ids": "chunk_ids",
    "complete": "completion",
    "export": "exports",
    "generate": "generation",
    "lower_bound": "acceptance",
    "reviews_needed": "acceptance",
    "to_review": "review",
    "unjudged": "gain",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
