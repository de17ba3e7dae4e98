"""Measures as values; each counts a scorer's findings by its own formula.

`Recall` is a measure, and so are `Recall @ 5`, which counts the first 5 ranks, and
`nDCG(gain="exponential") @ 10`, which has a parameter of its own. A measure is frozen, prints as
it is typed, and has a text form that `parse` reads: `ndcg(gain=exponential)@10`.
"""

from contextlib import suppress

from fullrecall._util.parameters import all_public
from fullrecall.errors import ParameterError
from fullrecall.measures.budgets import CutBudget, calls, seconds, tokens
from fullrecall.measures.counts import Judged, Leak, Relevant, RelevantRetrieved, Retrieved
from fullrecall.measures.measure import GradedMeasure, Measure, Threshold
from fullrecall.measures.ranking import (
    AP,
    ERR,
    RBP,
    RR,
    BPref,
    InterpolatedPrecision,
    MeanPrecision,
    RPrecision,
    nDCG,
)
from fullrecall.measures.sets import F1, AllFound, FBeta, Hit, Precision, Recall
from fullrecall.measures.text import MEASURES, as_measures, as_shares, parse, parse_threshold

__all__ = [
    "AP",
    "DEFAULT_KS",
    "ERR",
    "F1",
    "MEASURES",
    "RBP",
    "RR",
    "AllFound",
    "BPref",
    "CutBudget",
    "FBeta",
    "GradedMeasure",
    "Hit",
    "InterpolatedPrecision",
    "Judged",
    "Leak",
    "MeanPrecision",
    "Measure",
    "Precision",
    "RPrecision",
    "Recall",
    "Relevant",
    "RelevantRetrieved",
    "Retrieved",
    "Threshold",
    "as_measures",
    "as_shares",
    "calls",
    "nDCG",
    "parse",
    "parse_threshold",
    "seconds",
    "tokens",
]

DEFAULT_KS = (1, 3, 5, 10)
"""Where a report reads recall unless told otherwise."""

all_public(__name__)


def __getattr__(name: str) -> object:
    from fullrecall._util.lazy import missing

    error = missing(__name__, name, __all__)
    if not name.startswith("_"):
        # The text of an `AttributeError` is lost in `from fullrecall.measures import MRR`.
        with suppress(ParameterError):
            raise ImportError(f"{__name__} has no {name}: import {parse(name)!r}")
        if "did you mean" in str(error):
            raise ImportError(str(error))
    raise error
