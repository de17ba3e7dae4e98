"""fullrecall: how much of what a question needs does your retriever find?"""

from __future__ import annotations

from importlib import import_module

from fullrecall._util.ports import PORTS

TYPE_CHECKING = False  # as type checkers know it: `typing` would be most of the import
if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.batches import BatchScorer as BatchScorer
    from fullrecall.calibration import Label as Label
    from fullrecall.calibration import calibrate as calibrate
    from fullrecall.diagnosis import diagnose as diagnose
    from fullrecall.judge import LLMJudge as LLMJudge
    from fullrecall.observe.reported import record as record
    from fullrecall.report import Report as Report
    from fullrecall.report import aevaluate as aevaluate
    from fullrecall.report import compare as compare
    from fullrecall.report import evaluate as evaluate
    from fullrecall.run.budget import Budget as Budget
    from fullrecall.run.contest import choose as choose
    from fullrecall.samples.context import Context as Context
    from fullrecall.samples.retrieval import Retrieval as Retrieval
    from fullrecall.samples.sample import Claim as Claim
    from fullrecall.samples.sample import Reference as Reference
    from fullrecall.samples.sample import Sample as Sample
    from fullrecall.scorers import ClaimRecall as ClaimRecall
    from fullrecall.scorers import ContextPrecision as ContextPrecision
    from fullrecall.scorers import EntityRecall as EntityRecall
    from fullrecall.scorers import IdRecall as IdRecall
    from fullrecall.scorers import QuestionRecall as QuestionRecall
    from fullrecall.scorers import SpanRecall as SpanRecall
    from fullrecall.scorers import TextRecall as TextRecall
    from fullrecall.stats.gate import Gate as Gate

__version__ = "0.1.0"

# Loaded when first used: the pytest plug-in is imported in every run of pytest. Other public names
# are in the faces of packages: measures in fullrecall.measures, summaries in fullrecall.report.
_MODULES = {
    "BatchScorer": "batches",
    "Budget": "run.budget",
    "Claim": "samples.sample",
    "ClaimRecall": "scorers",
    "Context": "samples.context",
    "ContextPrecision": "scorers",
    "EntityRecall": "scorers",
    "Gate": "stats.gate",
    "IdRecall": "scorers",
    "LLMJudge": "judge",
    "Label": "calibration",
    "QuestionRecall": "scorers",
    "Reference": "samples.sample",
    "Report": "report",
    "Retrieval": "samples.retrieval",
    "Sample": "samples.sample",
    "SpanRecall": "scorers",
    "TextRecall": "scorers",
    "aevaluate": "report",
    "calibrate": "calibration",
    "choose": "run.contest",
    "compare": "report",
    "diagnose": "diagnosis",
    "evaluate": "report",
    "record": "observe.reported",
}

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __all__ += ["__version__"]


PORTS |= {
    "comparison_page": "fullrecall.page:comparison_page",
    "judge": "fullrecall.lexical:LexicalJudge",
    "language": "fullrecall.lexical:English",
    "rewrite": "fullrecall.diagnosis:rewrite_of",
    "server": "fullrecall.batches:RedisLedger",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        from fullrecall._util.lazy import missing

        if not name.startswith("_") and name in import_module("fullrecall.measures").__all__:
            raise AttributeError(
                f"module {__name__!r} has no attribute {name!r}: import it from fullrecall.measures"
            )
        raise missing(__name__, name, _MODULES)
    from fullrecall._util.parameters import public

    value = public(getattr(import_module(f"{__name__}.{_MODULES[name]}"), name), __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
