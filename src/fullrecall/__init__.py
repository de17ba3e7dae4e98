"""fullrecall: of everything a question needs, how much did the retriever bring?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fullrecall.calibration import Calibration, Label, calibrate, labels_for_width
    from fullrecall.context import Context
    from fullrecall.diagnosis import Cause, Diagnosed, Diagnosis, diagnose
    from fullrecall.errors import (
        FullrecallError,
        InputError,
        Interrupted,
        MissingExtraError,
        ParameterError,
        ReportError,
        RunStopped,
        StoreError,
    )
    from fullrecall.evaluation import aevaluate, evaluate
    from fullrecall.evaluation.batches import BatchScorer, score_batch
    from fullrecall.evaluation.budget import Budget
    from fullrecall.evaluation.stages import StageReports, aevaluate_stages, evaluate_stages
    from fullrecall.finding import Evidence, Finding, Step, Target
    from fullrecall.judges import LLMJudge
    from fullrecall.report import (
        Comparison,
        Gate,
        GateResult,
        Interval,
        Missed,
        Report,
        Row,
        ScoreSummary,
        SmallestK,
        Summary,
        compare,
    )
    from fullrecall.result import Method, Result, Status
    from fullrecall.retrieval import Retrieval
    from fullrecall.sample import Claim, Reference, Sample
    from fullrecall.scorers import (
        ClaimRecall,
        ContextPrecision,
        ContextUtilization,
        EntityRecall,
        IdRecall,
        PrecisionRecall,
        QuestionRecall,
        Scorer,
        SpanRecall,
        TextRecall,
    )
    from fullrecall.usage import Usage

__version__ = "0.1.0"

__all__ = [
    "BatchScorer",
    "Budget",
    "Calibration",
    "Cause",
    "Claim",
    "ClaimRecall",
    "Comparison",
    "Context",
    "ContextPrecision",
    "ContextUtilization",
    "Diagnosed",
    "Diagnosis",
    "EntityRecall",
    "Evidence",
    "Finding",
    "FullrecallError",
    "Gate",
    "GateResult",
    "IdRecall",
    "InputError",
    "Interrupted",
    "Interval",
    "LLMJudge",
    "Label",
    "Method",
    "Missed",
    "MissingExtraError",
    "ParameterError",
    "PrecisionRecall",
    "QuestionRecall",
    "Reference",
    "Report",
    "ReportError",
    "Result",
    "Retrieval",
    "Row",
    "RunStopped",
    "Sample",
    "ScoreSummary",
    "Scorer",
    "SmallestK",
    "SpanRecall",
    "StageReports",
    "Status",
    "Step",
    "StoreError",
    "Summary",
    "Target",
    "TextRecall",
    "Usage",
    "__version__",
    "aevaluate",
    "aevaluate_stages",
    "calibrate",
    "compare",
    "diagnose",
    "evaluate",
    "evaluate_stages",
    "labels_for_width",
    "score_batch",
]

# Loaded when first used: the pytest plug-in is imported in every run of pytest.
_MODULES = {
    "BatchScorer": "evaluation.batches",
    "Budget": "evaluation.budget",
    "Calibration": "calibration",
    "Cause": "diagnosis",
    "Claim": "sample",
    "ClaimRecall": "scorers",
    "Comparison": "report",
    "Context": "context",
    "ContextPrecision": "scorers",
    "ContextUtilization": "scorers",
    "Diagnosed": "diagnosis",
    "Diagnosis": "diagnosis",
    "EntityRecall": "scorers",
    "Evidence": "finding",
    "Finding": "finding",
    "FullrecallError": "errors",
    "Gate": "report",
    "GateResult": "report",
    "IdRecall": "scorers",
    "InputError": "errors",
    "Interrupted": "errors",
    "Interval": "report",
    "LLMJudge": "judges",
    "Label": "calibration",
    "Method": "result",
    "Missed": "report",
    "MissingExtraError": "errors",
    "ParameterError": "errors",
    "PrecisionRecall": "scorers",
    "QuestionRecall": "scorers",
    "Reference": "sample",
    "Report": "report",
    "ReportError": "errors",
    "Result": "result",
    "Retrieval": "retrieval",
    "Row": "report",
    "RunStopped": "errors",
    "Sample": "sample",
    "ScoreSummary": "report",
    "Scorer": "scorers",
    "SmallestK": "report",
    "SpanRecall": "scorers",
    "StageReports": "evaluation.stages",
    "Status": "result",
    "Step": "finding",
    "StoreError": "errors",
    "Summary": "report",
    "Target": "finding",
    "TextRecall": "scorers",
    "Usage": "usage",
    "aevaluate": "evaluation",
    "aevaluate_stages": "evaluation.stages",
    "calibrate": "calibration",
    "compare": "report",
    "diagnose": "diagnosis",
    "evaluate": "evaluation",
    "evaluate_stages": "evaluation.stages",
    "labels_for_width": "calibration",
    "score_batch": "evaluation.batches",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
