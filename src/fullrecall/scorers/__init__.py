"""The scorers: each finds one kind of target (IDs, texts, claims …), and all share the measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from fullrecall.measures.findings import CreditStep as CreditStep
    from fullrecall.measures.findings import Evidence as Evidence
    from fullrecall.measures.findings import Finding as Finding
    from fullrecall.measures.findings import Target as Target
    from fullrecall.scorers.claims import ClaimRecall as ClaimRecall
    from fullrecall.scorers.claims import ContextPrecision as ContextPrecision
    from fullrecall.scorers.claims import QuestionRecall as QuestionRecall
    from fullrecall.scorers.entities import EntityRecall as EntityRecall
    from fullrecall.scorers.ids import IdRecall as IdRecall
    from fullrecall.scorers.judged import JudgedScorer as JudgedScorer
    from fullrecall.scorers.result import Method as Method
    from fullrecall.scorers.result import Result as Result
    from fullrecall.scorers.result import Status as Status
    from fullrecall.scorers.scorer import DeterministicScorer as DeterministicScorer
    from fullrecall.scorers.scorer import FindingScorer as FindingScorer
    from fullrecall.scorers.scorer import Found as Found
    from fullrecall.scorers.scorer import Scorer as Scorer
    from fullrecall.scorers.scorer import Unmeasured as Unmeasured
    from fullrecall.scorers.scorer import require as require
    from fullrecall.scorers.scorer import retrieved_texts as retrieved_texts
    from fullrecall.scorers.spans import SpanRecall as SpanRecall
    from fullrecall.scorers.text import TextRecall as TextRecall
else:
    __getattr__ = lazy.names(__name__)
