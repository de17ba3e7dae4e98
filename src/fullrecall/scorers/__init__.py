"""The scorers: each finds its own kind of target, and all share the measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.scorers.claims import ClaimRecall
    from fullrecall.scorers.entities import EntityRecall
    from fullrecall.scorers.ids import IdRecall
    from fullrecall.scorers.judged import JudgedScorer
    from fullrecall.scorers.precision import ContextPrecision
    from fullrecall.scorers.questions import QuestionRecall
    from fullrecall.scorers.scorer import DeterministicScorer, FindingScorer, Found, Scorer
    from fullrecall.scorers.spans import SpanRecall
    from fullrecall.scorers.text import TextRecall

__all__ = [
    "ClaimRecall",
    "ContextPrecision",
    "DeterministicScorer",
    "EntityRecall",
    "FindingScorer",
    "Found",
    "IdRecall",
    "JudgedScorer",
    "QuestionRecall",
    "Scorer",
    "SpanRecall",
    "TextRecall",
]

_MODULES = {
    "ClaimRecall": "claims",
    "ContextPrecision": "precision",
    "DeterministicScorer": "scorer",
    "EntityRecall": "entities",
    "FindingScorer": "scorer",
    "Found": "scorer",
    "IdRecall": "ids",
    "JudgedScorer": "judged",
    "QuestionRecall": "questions",
    "Scorer": "scorer",
    "SpanRecall": "spans",
    "TextRecall": "text",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
