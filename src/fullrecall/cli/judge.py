"""The judge that `--judge` names, and the models that options name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall.cli.options import bad_option

if TYPE_CHECKING:
    from fullrecall.judge import Judge
    from fullrecall.judge.models import ChatModel


def judge_of(name: str | None, base_url: str | None = None) -> Judge | None:
    """Return the judge named, None for the default.

    Raises `typer.BadParameter` for another kind, and what the judge raises where it lacks a
    package or a key.
    """
    kind, _, folder = (name or "").partition(":")
    if base_url is not None and kind not in ("openai", "anthropic"):
        raise bad_option("--base-url", "needs --judge openai:MODEL")
    if name is None:
        return None
    # Each is loaded where it is named: what it needs is an extra.
    if name == "lexical":
        from fullrecall.lexical import LexicalJudge

        return LexicalJudge()
    if kind == "nli" and folder:
        from fullrecall.lexical.cross_encoder import CrossEncoderJudge

        return CrossEncoderJudge(folder)
    from fullrecall.judge import LLMJudge

    return LLMJudge(model_of(name, base_url, "--judge", "lexical, nli:FOLDER, "))


def model_of(name: str, base_url: str | None, option: str, judges: str = "") -> ChatModel:
    """Return the model that an option names; `judges` are those that it may name instead."""
    kind, _, model = name.partition(":")
    if kind == "openai" and model:
        from fullrecall.judge.models.openai import OpenAIChatModel

        return OpenAIChatModel(model, base_url=base_url)
    if kind == "anthropic" and model:
        from fullrecall.judge.models.anthropic import AnthropicChatModel

        return AnthropicChatModel(model, base_url=base_url)
    meant = "" if ":" in name else f": did you mean openai:{name}?"
    kinds = f"{judges}openai:MODEL or anthropic:MODEL"
    raise bad_option(option, f"expected {kinds}, got {name!r}{meant}")
