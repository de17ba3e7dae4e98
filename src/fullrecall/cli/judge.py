"""The judge that `--judge` names, and the models that options name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall.cli.options import bad_option

if TYPE_CHECKING:
    from fullrecall.judge import Judge
    from fullrecall.judge.models import ChatModel


def judge_of(
    name: str | None, base_url: str | None = None, unsure: str | None = None
) -> Judge | None:
    """Return the judge that `--judge` names, or None for the default.

    With `unsure`, a band such as "0.3,0.65", it judges only the claims that the
    built-in judge is unsure of.

    Raises `typer.BadParameter` for another kind, and the judge's own error if it lacks a package
    or a key.
    """
    kind, _, folder = (name or "").partition(":")
    if base_url is not None and kind not in ("openai", "anthropic"):
        raise bad_option("--base-url", "needs --judge openai:MODEL")
    if unsure is not None:
        return _cascade(name, base_url, unsure)
    if name is None:
        return None
    # Loaded only if named: each may need an extra.
    if name == "lexical":
        from fullrecall.lexical import LexicalJudge

        return LexicalJudge()
    if kind == "nli" and folder:
        from fullrecall.lexical.cross_encoder import CrossEncoderJudge

        return CrossEncoderJudge(folder)
    from fullrecall.judge import LLMJudge

    return LLMJudge(model_of(name, base_url, "--judge", "lexical, nli:FOLDER, "))


def _cascade(name: str | None, base_url: str | None, unsure: str) -> Judge:
    from fullrecall.judge import Cascade
    from fullrecall.lexical import LexicalJudge

    second = judge_of(name, base_url)
    if second is None:
        raise bad_option("--unsure", "needs --judge openai:MODEL, the judge to ask")
    try:
        low, high = map(float, unsure.split(","))
    except ValueError:
        raise bad_option(
            "--unsure", f"expected LOW,HIGH such as 0.3,0.65, got {unsure!r}"
        ) from None
    return Cascade(LexicalJudge(), second, unsure=(low, high))


def model_of(name: str, base_url: str | None, option: str, judges: str = "") -> ChatModel:
    """Return the model that an option names; `judges` lists the judges that it may also name."""
    kind, _, model = name.partition(":")
    if kind == "openai" and model:
        from fullrecall.judge.models.openai import OpenAIChatModel

        return OpenAIChatModel(model, base_url=base_url)
    if kind == "anthropic" and model:
        from fullrecall.judge.models.anthropic import AnthropicChatModel

        return AnthropicChatModel(model, base_url=base_url)
    meant = "" if ":" in name else f": did you mean openai:{name}?"
    if kind in ("openai", "anthropic"):
        meant = f": name a model of it, {kind}:MODEL"
    elif model:
        address = " http://localhost:11434/v1" if kind == "ollama" else " and its address"
        meant = f": for a server with OpenAI's interface, openai:{model} and --base-url{address}"
    kinds = f"{judges}openai:MODEL or anthropic:MODEL"
    raise bad_option(option, f"expected {kinds}, got {name!r}{meant}")
