"""fullrecall: of everything a question needs, how much did the retriever bring?"""

from fullrecall.context import Context, Stage
from fullrecall.errors import (
    FullrecallError,
    InputError,
    MissingExtraError,
    ParameterError,
    ReportError,
)
from fullrecall.evaluation import evaluate
from fullrecall.finding import Evidence, Finding, Step, Target
from fullrecall.judges import LLMJudge
from fullrecall.report import Missed, Report, Row, ScoreSummary, Summary
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
    "Claim",
    "ClaimRecall",
    "Context",
    "ContextPrecision",
    "ContextUtilization",
    "EntityRecall",
    "Evidence",
    "Finding",
    "FullrecallError",
    "IdRecall",
    "InputError",
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
    "Sample",
    "ScoreSummary",
    "Scorer",
    "SpanRecall",
    "Stage",
    "Status",
    "Step",
    "Summary",
    "Target",
    "TextRecall",
    "Usage",
    "__version__",
    "evaluate",
]
