"""The scorers: each finds its own kind of target, and all share the measures."""

from fullrecall.scorers.entities import EntityRecall
from fullrecall.scorers.ids import IdRecall
from fullrecall.scorers.precision import ContextPrecision
from fullrecall.scorers.scorer import FindingScorer, Scorer
from fullrecall.scorers.spans import SpanRecall
from fullrecall.scorers.text import TextRecall

__all__ = [
    "ContextPrecision",
    "EntityRecall",
    "FindingScorer",
    "IdRecall",
    "Scorer",
    "SpanRecall",
    "TextRecall",
]
