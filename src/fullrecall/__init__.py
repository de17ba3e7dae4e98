"""fullrecall: how much of what a question needs does your retriever find?"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it: `typing` would be most of the import
if TYPE_CHECKING:
    from fullrecall.batches import BatchScorer
    from fullrecall.calibration import Label, calibrate
    from fullrecall.context import Context
    from fullrecall.diagnosis import diagnose
    from fullrecall.evaluation.contest import choose
    from fullrecall.evaluation.run import aevaluate, evaluate
    from fullrecall.judges import LLMJudge
    from fullrecall.report import Report, compare
    from fullrecall.results import Gate
    from fullrecall.retrieval import Retrieval
    from fullrecall.run.budget import Budget
    from fullrecall.sample import Claim, Reference, Sample
    from fullrecall.scorers import (
        ClaimRecall,
        ContextPrecision,
        EntityRecall,
        IdRecall,
        QuestionRecall,
        SpanRecall,
        TextRecall,
    )

__version__ = "0.1.0"

# Measures are in fullrecall.measures, returned types in the modules that return them, errors in
# fullrecall.errors.
__all__ = [
    "BatchScorer",
    "Budget",
    "Claim",
    "ClaimRecall",
    "Context",
    "ContextPrecision",
    "EntityRecall",
    "Gate",
    "IdRecall",
    "LLMJudge",
    "Label",
    "QuestionRecall",
    "Reference",
    "Report",
    "Retrieval",
    "Sample",
    "SpanRecall",
    "TextRecall",
    "__version__",
    "aevaluate",
    "calibrate",
    "choose",
    "compare",
    "diagnose",
    "evaluate",
]

# Loaded when first used: the pytest plug-in is imported in every run of pytest.
_MODULES = {
    "BatchScorer": "batches",
    "Budget": "run.budget",
    "Claim": "sample",
    "ClaimRecall": "scorers",
    "Context": "context",
    "ContextPrecision": "scorers",
    "EntityRecall": "scorers",
    "Gate": "results",
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
    return sorted({*globals(), *__all__})
