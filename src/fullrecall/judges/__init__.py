"""Judges: who says whether a claim is supported."""

from fullrecall.errors import JudgeError
from fullrecall.judges.cascade import Cascade, VerbatimJudge
from fullrecall.judges.cross_encoder import CrossEncoderJudge
from fullrecall.judges.lexical import EmbeddedJudge, LexicalJudge
from fullrecall.judges.llm import LLMJudge
from fullrecall.judges.panel import Panel
from fullrecall.judges.prompts import Prompts
from fullrecall.judges.protocols import (
    Ask,
    ChatModel,
    ChatRequest,
    Citation,
    Completion,
    Failure,
    Flow,
    Judge,
    Message,
    Verdict,
)

__all__ = [
    "Ask",
    "Cascade",
    "ChatModel",
    "ChatRequest",
    "Citation",
    "Completion",
    "CrossEncoderJudge",
    "EmbeddedJudge",
    "Failure",
    "Flow",
    "Judge",
    "JudgeError",
    "LLMJudge",
    "LexicalJudge",
    "Message",
    "Panel",
    "Prompts",
    "VerbatimJudge",
    "Verdict",
]
