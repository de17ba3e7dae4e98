"""Judges: who says whether a claim is supported."""

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
    JudgeError,
    Message,
    Verdict,
)

__all__ = [
    "Ask",
    "ChatModel",
    "ChatRequest",
    "Citation",
    "Completion",
    "Failure",
    "Flow",
    "Judge",
    "JudgeError",
    "LLMJudge",
    "Message",
    "Panel",
    "Prompts",
    "Verdict",
]
