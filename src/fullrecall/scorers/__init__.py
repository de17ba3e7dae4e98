"""The scorers: each finds its own kind of target, and all share the measures."""

from fullrecall.scorers.claims import ClaimRecall
from fullrecall.scorers.entities import EntityRecall
from fullrecall.scorers.ids import IdRecall
from fullrecall.scorers.judged import JudgedScorer
from fullrecall.scorers.precision import ContextPrecision, ContextUtilization
from fullrecall.scorers.questions import QuestionRecall
from fullrecall.scorers.scorer import DeterministicScorer, FindingScorer, Found, Scorer
from fullrecall.scorers.spans import SpanRecall
from fullrecall.scorers.text import TextRecall

__all__ = [
    "ClaimRecall",
    "ContextPrecision",
    "ContextUtilization",
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
