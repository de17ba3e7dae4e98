"""fullrecall: of everything a question needs, how much did the retriever bring?"""

from fullrecall.errors import (
    FullrecallError,
    InputError,
    MissingExtraError,
    ParameterError,
    ReportError,
)
from fullrecall.evaluation import evaluate
from fullrecall.finding import Evidence, Finding, Step, Target
from fullrecall.report import Missed, Report, Row, ScoreSummary, Summary
from fullrecall.result import Method, Result, Status
from fullrecall.sample import Context, Reference, Sample
from fullrecall.scorers import (
    ContextPrecision,
    EntityRecall,
    IdRecall,
    Scorer,
    SpanRecall,
    TextRecall,
)

__version__ = "0.1.0"

__all__ = [
    "Context",
    "ContextPrecision",
    "EntityRecall",
    "Evidence",
    "Finding",
    "FullrecallError",
    "IdRecall",
    "InputError",
    "Method",
    "Missed",
    "MissingExtraError",
    "ParameterError",
    "Reference",
    "Report",
    "ReportError",
    "Result",
    "Row",
    "Sample",
    "ScoreSummary",
    "Scorer",
    "SpanRecall",
    "Status",
    "Step",
    "Summary",
    "Target",
    "TextRecall",
    "__version__",
    "evaluate",
]
