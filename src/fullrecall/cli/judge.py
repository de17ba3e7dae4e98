"""The judge that `--judge` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall.cli.exits import wrong

if TYPE_CHECKING:
    from fullrecall.judges import Judge

KINDS = "lexical, nli:FOLDER, openai:MODEL or anthropic:MODEL"

_GRADING = ("lexical", "nli")


def judge_of(name: str | None, base_url: str | None = None) -> Judge | None:
    """Return the judge named, None for the default; `@0.6` behind its name sets its threshold.

    Raises `typer.BadParameter` for another kind, and what the judge raises where it lacks a
    package or a key.
    """
    from fullrecall.judges import LLMJudge

    kind, _, model = (name or "").partition(":")
    if base_url is not None and kind not in ("openai", "anthropic"):
        raise wrong("--base-url", "needs --judge openai:MODEL")
    if name is None:
        return None
    threshold: float | None = None
    if kind.partition("@")[0] in _GRADING:
        kind, model, threshold = _with_threshold(kind, model)
    match kind:
        case "lexical" if not model:
            from fullrecall.judges.local import LexicalJudge

            return LexicalJudge(threshold)
        case "nli" if model:
            from fullrecall.judges.cross_encoder import CrossEncoderJudge

            return CrossEncoderJudge(model, 0.5 if threshold is None else threshold)
        case "openai" if model:
            from fullrecall.models.openai import OpenAIChatModel

            return LLMJudge(OpenAIChatModel(model, base_url=base_url))
        case "anthropic" if model:
            from fullrecall.models.anthropic import AnthropicChatModel

            return LLMJudge(AnthropicChatModel(model, base_url=base_url))
    meant = "" if ":" in name else f": did you mean openai:{name}?"
    raise wrong("--judge", f"must be {KINDS}, got {name!r}{meant}")


def _with_threshold(kind: str, model: str) -> tuple[str, str, float | None]:
    """Return kind, model and threshold of `lexical@0.6` or `nli:FOLDER@0.6`."""
    name, marked, text = (model or kind).rpartition("@")
    if not marked:
        return kind, model, None
    try:
        threshold = float(text)
    except ValueError:
        return kind, model, None  # an @ of the model's own name
    return (kind, name, threshold) if model else (name, "", threshold)
