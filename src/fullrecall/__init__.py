"""fullrecall: of everything a question needs, how much did the retriever bring?"""

from fullrecall.context import Context, Stage
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
    "Budget",
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
    "Row",
    "RunStopped",
    "Sample",
    "ScoreSummary",
    "Scorer",
    "SmallestK",
    "SpanRecall",
    "Stage",
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
    "compare",
    "diagnose",
    "evaluate",
    "evaluate_stages",
]
