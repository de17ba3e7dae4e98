"""Measures as immutable objects; each computes a number from a scorer's findings.

`Recall` is a measure, and so are `Recall @ 5`, which counts the first 5 ranks, and
`nDCG(gain="exponential") @ 10`, which also sets the parameter `gain`. A measure prints as it is
typed, and has a text form that `parse` reads: `ndcg(gain=exponential)@10`.
"""

from contextlib import suppress
from typing import TYPE_CHECKING

from fullrecall._util import lazy
from fullrecall.errors import ParameterError

if TYPE_CHECKING:  # `lazy` reads these imports as the list of all exports
    from fullrecall.measures.budgets import CutBudget as CutBudget
    from fullrecall.measures.budgets import calls as calls
    from fullrecall.measures.budgets import seconds as seconds
    from fullrecall.measures.budgets import tokens as tokens
    from fullrecall.measures.counts import Judged as Judged
    from fullrecall.measures.counts import Leak as Leak
    from fullrecall.measures.counts import Relevant as Relevant
    from fullrecall.measures.counts import RelevantRetrieved as RelevantRetrieved
    from fullrecall.measures.counts import Retrieved as Retrieved
    from fullrecall.measures.given import as_measures as as_measures
    from fullrecall.measures.given import as_shares as as_shares
    from fullrecall.measures.measure import GradedMeasure as GradedMeasure
    from fullrecall.measures.measure import Measure as Measure
    from fullrecall.measures.measure import Threshold as Threshold
    from fullrecall.measures.ranking import AP as AP
    from fullrecall.measures.ranking import ERR as ERR
    from fullrecall.measures.ranking import RBP as RBP
    from fullrecall.measures.ranking import RR as RR
    from fullrecall.measures.ranking import BPref as BPref
    from fullrecall.measures.ranking import InterpolatedPrecision as InterpolatedPrecision
    from fullrecall.measures.ranking import MeanPrecision as MeanPrecision
    from fullrecall.measures.ranking import RPrecision as RPrecision
    from fullrecall.measures.ranking import nDCG as nDCG
    from fullrecall.measures.recall_measure import Recall as Recall
    from fullrecall.measures.sets import F1 as F1
    from fullrecall.measures.sets import AllFound as AllFound
    from fullrecall.measures.sets import FBeta as FBeta
    from fullrecall.measures.sets import Hit as Hit
    from fullrecall.measures.sets import Precision as Precision
    from fullrecall.measures.text import MEASURES as MEASURES
    from fullrecall.measures.text import parse as parse
    from fullrecall.measures.text import parse_threshold as parse_threshold

DEFAULT_KS = (1, 3, 5, 10)
"""The values of k at which a report shows recall by default."""


def __getattr__(name: str) -> object:
    try:
        return lazy.names(__name__, "DEFAULT_KS")(name)
    except AttributeError as error:
        if not name.startswith("_"):
            from fullrecall.measures.text import parse

            # Raise `ImportError`: `from fullrecall.measures import MRR` would hide the text of an
            # `AttributeError`, and with it the advice.
            with suppress(ParameterError):
                raise ImportError(f"{__name__} has no {name}: import {parse(name)!r}") from None
            if "did you mean" in str(error):
                raise ImportError(str(error)) from None
        raise


def __dir__() -> list[str]:
    return sorted({*globals(), *lazy.exports(__name__)})
