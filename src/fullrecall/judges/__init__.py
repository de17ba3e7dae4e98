"""Judges: who says whether a claim is supported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy
from fullrecall.errors import JudgeError

if TYPE_CHECKING:
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

_MODULES = {
    "Ask": "protocols",
    "Cascade": "cascade",
    "ChatModel": "protocols",
    "ChatRequest": "protocols",
    "Citation": "protocols",
    "Completion": "protocols",
    "CrossEncoderJudge": "cross_encoder",
    "EmbeddedJudge": "lexical",
    "Failure": "protocols",
    "Flow": "protocols",
    "Judge": "protocols",
    "LLMJudge": "llm",
    "LexicalJudge": "lexical",
    "Message": "protocols",
    "Panel": "panel",
    "Prompts": "prompts",
    "VerbatimJudge": "cascade",
    "Verdict": "protocols",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
