"""fullrecall: measures the share of the needed information that your retriever finds."""

from __future__ import annotations

from importlib import import_module

from fullrecall._util.ports import PORTS

# Type checkers treat this name as True. It is not imported from `typing`, which would take most of
# the import time.
TYPE_CHECKING = False
if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
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

PORTS |= {
    "comparison_page": "fullrecall.page:comparison_page",
    "judge": "fullrecall.lexical:LexicalJudge",
    "language": "fullrecall.lexical:English",
    "rewrite": "fullrecall.diagnosis:rewrite_of",
    "server": "fullrecall.batches:RedisLedger",
}


# Load each name on its first use, since pytest imports this package in every run, for the plug-in.
# Other public names are in packages: measures in fullrecall.measures, summaries in
# fullrecall.report.
def __getattr__(name: str) -> object:
    from fullrecall._util import lazy

    try:
        return lazy.names(__name__, "__version__")(name)
    except AttributeError:
        where = f"module {__name__!r} has no attribute {name!r}"
        if not name.startswith("_") and name in import_module("fullrecall.measures").__all__:
            # Raise an `ImportError`: `from fullrecall import nDCG` would drop the text of an
            # `AttributeError`.
            raise ImportError(f"{where}: import it from fullrecall.measures") from None
        letters = name.replace("_", "").lower()
        # Ragas and deepeval have metrics of these names.
        if "contextrecall" in letters or letters.startswith("contextual"):
            raise ImportError(
                f"{where}: ClaimRecall scores a reference answer, TextRecall reference contexts"
            ) from None
        raise


def __dir__() -> list[str]:
    from fullrecall._util import lazy

    return sorted({*globals(), *lazy.exports(__name__)})
