"""Measures as values: what to count of a scorer's findings.

`Recall` is a measure, and so are `Recall @ 5`, which counts the first 5 ranks, and
`nDCG(gain="exponential") @ 10`, which has a parameter of its own. A measure is frozen, prints as
it is typed, and has a text form that `parse` reads: `ndcg(gain=exponential)@10`.
"""

from fullrecall._util.parameters import all_public
from fullrecall.measures.budgets import CutBudget, calls, seconds, tokens
from fullrecall.measures.leaks import Leak
from fullrecall.measures.measure import GradedMeasure, Measure, Threshold
from fullrecall.measures.ranking import AP, RR, MeanPrecision, nDCG
from fullrecall.measures.sets import F1, AllFound, Hit, Precision, Recall
from fullrecall.measures.text import MEASURES, as_measures, parse, parse_threshold, unaliased

__all__ = [
    "AP",
    "DEFAULT_KS",
    "F1",
    "MEASURES",
    "RR",
    "AllFound",
    "CutBudget",
    "GradedMeasure",
    "Hit",
    "Leak",
    "MeanPrecision",
    "Measure",
    "Precision",
    "Recall",
    "Threshold",
    "as_measures",
    "calls",
    "nDCG",
    "parse",
    "parse_threshold",
    "seconds",
    "tokens",
    "unaliased",
]

DEFAULT_KS = (1, 3, 5, 10)
"""Where a report reads recall unless told otherwise."""

all_public(__name__)


def __getattr__(name: str) -> object:
    from fullrecall._util.lazy import missing

    raise missing(__name__, name, __all__)
