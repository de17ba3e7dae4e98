"""Judges: who says whether a claim is supported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy
from fullrecall.errors import JudgeError

if TYPE_CHECKING:
    from fullrecall.judges.cross_encoder import CrossEncoderJudge
    from fullrecall.judges.judge import Ask, Citation, Flow, Judge, Verdict
    from fullrecall.judges.llm import LLMJudge
    from fullrecall.judges.local import LexicalJudge
    from fullrecall.judges.panel import Panel
    from fullrecall.judges.prompts import Prompts

__all__ = [
    "Ask",
    "Citation",
    "CrossEncoderJudge",
    "Flow",
    "Judge",
    "JudgeError",
    "LLMJudge",
    "LexicalJudge",
    "Panel",
    "Prompts",
    "Verdict",
]

_MODULES = {
    "Ask": "judge",
    "Citation": "judge",
    "CrossEncoderJudge": "cross_encoder",
    "Flow": "judge",
    "Judge": "judge",
    "LLMJudge": "llm",
    "LexicalJudge": "local",
    "Panel": "panel",
    "Prompts": "prompts",
    "Verdict": "judge",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
