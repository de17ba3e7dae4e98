"""Test sets: write them from documents, and check and maintain their references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from fullrecall.testset.audit import Audit as Audit
    from fullrecall.testset.audit import Issue as Issue
    from fullrecall.testset.audit import check as check
    from fullrecall.testset.completeness import Figure as Figure
    from fullrecall.testset.completion import CompletedSet as CompletedSet
    from fullrecall.testset.completion import CompletenessEstimate as CompletenessEstimate
    from fullrecall.testset.completion import PairToLabel as PairToLabel
    from fullrecall.testset.completion import complete as complete
    from fullrecall.testset.completion import unjudged as unjudged
    from fullrecall.testset.content import Problem as Problem
    from fullrecall.testset.draft import Backed as Backed
    from fullrecall.testset.draft import Draft as Draft
    from fullrecall.testset.draft import Rejection as Rejection
    from fullrecall.testset.following import Followed as Followed
    from fullrecall.testset.following import FollowedLabel as FollowedLabel
    from fullrecall.testset.following import LabelStatus as LabelStatus
    from fullrecall.testset.following import anchor as anchor
    from fullrecall.testset.following import follow as follow
    from fullrecall.testset.generation import TestSet as TestSet
    from fullrecall.testset.generation import generate as generate
    from fullrecall.testset.review import Review as Review
    from fullrecall.testset.review import apply_review as apply_review
    from fullrecall.testset.review import lower_bound as lower_bound
    from fullrecall.testset.review import reviews_needed as reviews_needed
    from fullrecall.testset.review import to_review as to_review
    from fullrecall.testset.seeds import SeedPassage as SeedPassage
else:
    __getattr__ = lazy.names(__name__)
