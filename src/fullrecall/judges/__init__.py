"""Judges: who says whether a claim is supported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy
from fullrecall.errors import JudgeError

if TYPE_CHECKING:
    from fullrecall.judges.cascade import Cascade, VerbatimJudge
    from fullrecall.judges.cross_encoder import CrossEncoderJudge
    from fullrecall.judges.judge import Ask, Citation, Flow, Judge, Verdict
    from fullrecall.judges.lexical import EmbeddedJudge, LexicalJudge
    from fullrecall.judges.llm import LLMJudge
    from fullrecall.judges.panel import Panel
    from fullrecall.judges.prompts import Prompts

__all__ = [
    "Ask",
    "Cascade",
    "Citation",
    "CrossEncoderJudge",
    "EmbeddedJudge",
    "Flow",
    "Judge",
    "JudgeError",
    "LLMJudge",
    "LexicalJudge",
    "Panel",
    "Prompts",
    "VerbatimJudge",
    "Verdict",
]

_MODULES = {
    "Ask": "judge",
    "Cascade": "cascade",
    "Citation": "judge",
    "CrossEncoderJudge": "cross_encoder",
    "EmbeddedJudge": "lexical",
    "Flow": "judge",
    "Judge": "judge",
    "LLMJudge": "llm",
    "LexicalJudge": "lexical",
    "Panel": "panel",
    "Prompts": "prompts",
    "VerbatimJudge": "cascade",
    "Verdict": "judge",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
