"""Test sets: from documents to references that can be trusted."""

from fullrecall.testset.additions import unjudged
from fullrecall.testset.audit import Audit, check
from fullrecall.testset.completion import CompletedSet, complete
from fullrecall.testset.content import Problem
from fullrecall.testset.following import Followed, LabelStatus, anchor, follow
from fullrecall.testset.generation import TestSet, generate
from fullrecall.testset.review import Review, apply_review, lower_bound, reviews_needed, to_review

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
