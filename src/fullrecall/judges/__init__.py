"""Judges: who says whether a claim is supported."""

from fullrecall.errors import JudgeError
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
