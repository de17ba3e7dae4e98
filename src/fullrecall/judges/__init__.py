"""Judges: who says whether a claim is supported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy
from fullrecall.errors import JudgeError as JudgeError

if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.judges.cross_encoder import CrossEncoderJudge as CrossEncoderJudge
    from fullrecall.judges.judge import Ask as Ask
    from fullrecall.judges.judge import Citation as Citation
    from fullrecall.judges.judge import Flow as Flow
    from fullrecall.judges.judge import Judge as Judge
    from fullrecall.judges.judge import Verdict as Verdict
    from fullrecall.judges.llm import LLMJudge as LLMJudge
    from fullrecall.judges.local import LexicalJudge as LexicalJudge
    from fullrecall.judges.panel import Panel as Panel
    from fullrecall.judges.prompts import Prompts as Prompts

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

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __all__ += ["JudgeError"]
    __getattr__ = lazy.names(__name__, _MODULES)
