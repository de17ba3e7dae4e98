"""fullrecall: how much of what a question needs does your retriever find?"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it: `typing` would be most of the import
if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.batches import BatchScorer as BatchScorer
    from fullrecall.calibration import Label as Label
    from fullrecall.calibration import calibrate as calibrate
    from fullrecall.context import Context as Context
    from fullrecall.diagnosis import diagnose as diagnose
    from fullrecall.evaluation.contest import choose as choose
    from fullrecall.evaluation.run import aevaluate as aevaluate
    from fullrecall.evaluation.run import evaluate as evaluate
    from fullrecall.judges import LLMJudge as LLMJudge
    from fullrecall.report import Report as Report
    from fullrecall.report import compare as compare
    from fullrecall.results.gate import Gate as Gate
    from fullrecall.retrieval import Retrieval as Retrieval
    from fullrecall.run.budget import Budget as Budget
    from fullrecall.sample import Claim as Claim
    from fullrecall.sample import Reference as Reference
    from fullrecall.sample import Sample as Sample
    from fullrecall.scorers import ClaimRecall as ClaimRecall
    from fullrecall.scorers import ContextPrecision as ContextPrecision
    from fullrecall.scorers import EntityRecall as EntityRecall
    from fullrecall.scorers import IdRecall as IdRecall
    from fullrecall.scorers import QuestionRecall as QuestionRecall
    from fullrecall.scorers import SpanRecall as SpanRecall
    from fullrecall.scorers import TextRecall as TextRecall

__version__ = "0.1.0"

# Loaded when first used: the pytest plug-in is imported in every run of pytest. Measures are in
# fullrecall.measures, returned types in the modules that return them, errors in fullrecall.errors.
_MODULES = {
    "BatchScorer": "batches",
    "Budget": "run.budget",
    "Claim": "sample",
    "ClaimRecall": "scorers",
    "Context": "context",
    "ContextPrecision": "scorers",
    "EntityRecall": "scorers",
    "Gate": "results.gate",
    "IdRecall": "scorers",
    "LLMJudge": "judges",
    "Label": "calibration",
    "QuestionRecall": "scorers",
    "Reference": "sample",
    "Report": "report",
    "Retrieval": "retrieval",
    "Sample": "sample",
    "SpanRecall": "scorers",
    "TextRecall": "scorers",
    "aevaluate": "evaluation.run",
    "calibrate": "calibration",
    "choose": "evaluation.contest",
    "compare": "report",
    "diagnose": "diagnosis",
    "evaluate": "evaluation.run",
}

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __all__ += ["__version__"]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        from fullrecall.lazy import missing

        if not name.startswith("_") and name in import_module("fullrecall.measures").__all__:
            raise AttributeError(
                f"module {__name__!r} has no attribute {name!r}: import it from fullrecall.measures"
            )
        raise missing(__name__, name, _MODULES)
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
