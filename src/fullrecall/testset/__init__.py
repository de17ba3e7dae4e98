"""Test sets: from documents to references that can be trusted."""

from fullrecall._util.parameters import all_public
from fullrecall.testset.additions import unjudged
from fullrecall.testset.audit import Audit, Issue, check
from fullrecall.testset.completeness import Figure
from fullrecall.testset.completion import CompletedSet, CompletenessEstimate, PairToLabel, complete
from fullrecall.testset.content import Problem
from fullrecall.testset.draft import Backed, Draft, Rejection
from fullrecall.testset.following import Followed, FollowedLabel, LabelStatus, anchor, follow
from fullrecall.testset.generation import TestSet, generate
from fullrecall.testset.review import Review, apply_review, lower_bound, reviews_needed, to_review
from fullrecall.testset.seeds import SeedPassage

__all__ = [
    "Audit",
    "Backed",
    "CompletedSet",
    "CompletenessEstimate",
    "Draft",
    "Figure",
    "Followed",
    "FollowedLabel",
    "Issue",
    "LabelStatus",
    "PairToLabel",
    "Problem",
    "Rejection",
    "Review",
    "SeedPassage",
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

all_public(__name__)
