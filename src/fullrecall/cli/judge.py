"""The judge that `--judge` names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from fullrecall.judges import Judge

KINDS = "lexical, nli:MODEL, openai:MODEL or anthropic:MODEL"

_ENDPOINTS = ("openai", "anthropic")
_GRADING = ("lexical", "nli")


@dataclass(frozen=True)
class JudgeOptions:
    """What the command line says of the judge."""

    judge: str | None = None
    base_url: str | None = None
    require_evidence: bool = False
    split: str | None = None

    @property
    def given(self) -> bool:
        """Whether any of it is said."""
        return self != JudgeOptions()


def judge_of(options: JudgeOptions) -> Judge | None:
    """Return the judge named, None for the default; `@0.6` behind its name sets its threshold.

    Raises `typer.BadParameter` for another kind, and what the judge raises where it lacks a
    package or a key.
    """
    if options.judge is None:
        if options.base_url is not None:
            raise typer.BadParameter("needs --judge openai:MODEL", param_hint="--base-url")
        return None
    kind, _, model = options.judge.partition(":")
    threshold: float | None = None
    if kind.partition("@")[0] in _GRADING:
        kind, model, threshold = _with_threshold(kind, model)
    if options.base_url is not None and kind not in _ENDPOINTS:
        raise typer.BadParameter("needs --judge openai:MODEL", param_hint="--base-url")
    match kind:
        case "lexical" if not model:
            from fullrecall.judges.local import LexicalJudge

            return LexicalJudge(threshold)
        case "nli" if model:
            from fullrecall.judges.cross_encoder import CrossEncoderJudge

            return CrossEncoderJudge(model, 0.5 if threshold is None else threshold)
        case "openai" if model:
            from fullrecall.judges import LLMJudge
            from fullrecall.models.openai import OpenAIChatModel

            return LLMJudge(OpenAIChatModel(model, base_url=options.base_url))
        case "anthropic" if model:
            from fullrecall.judges import LLMJudge
            from fullrecall.models.anthropic import AnthropicChatModel

            return LLMJudge(AnthropicChatModel(model, base_url=options.base_url))
    raise typer.BadParameter(f"must be {KINDS}, got {options.judge!r}", param_hint="--judge")


def _with_threshold(kind: str, model: str) -> tuple[str, str, float | None]:
    """Return kind, model and threshold of `lexical@0.6` or `nli:MODEL@0.6`."""
    name, marked, given = (model or kind).rpartition("@")
    if not marked:
        return kind, model, None
    try:
        threshold = float(given)
    except ValueError:
        return kind, model, None  # an @ of the model's own name
    return (kind, name, threshold) if model else (name, "", threshold)
