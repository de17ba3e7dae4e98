"""The judge that `--judge` names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from fullrecall.judges import Judge

KINDS = "lexical, embedded or openai:MODEL"


@dataclass(frozen=True)
class JudgeOptions:
    """What the command line says of the judge."""

    judge: str | None = None
    base_url: str | None = None
    require_evidence: bool = False

    @property
    def given(self) -> bool:
        """Whether any of it is said."""
        return self != JudgeOptions()


def judge_of(options: JudgeOptions) -> Judge | None:
    """Return the judge named, None for the default.

    Raises `typer.BadParameter` for another kind, and what the judge raises where it lacks a
    package or a key.
    """
    kind, _, model = (options.judge or "").partition(":")
    if options.base_url is not None and kind != "openai":
        raise typer.BadParameter("needs --judge openai:MODEL", param_hint="--base-url")
    match kind:
        case "":
            return None
        case "lexical" | "embedded" if not model:
            from fullrecall.judges.lexical import EmbeddedJudge, LexicalJudge

            return LexicalJudge() if kind == "lexical" else EmbeddedJudge()
        case "openai" if model:
            from fullrecall.judges import LLMJudge
            from fullrecall.judges.openai import OpenAIChatModel

            return LLMJudge(OpenAIChatModel(model, base_url=options.base_url))
    raise typer.BadParameter(f"must be {KINDS}, got {options.judge!r}", param_hint="--judge")
