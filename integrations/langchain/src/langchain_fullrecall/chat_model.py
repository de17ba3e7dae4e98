"""Any LangChain `BaseChatModel` as the model of a fullrecall judge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from fullrecall.judges import ChatRequest, Completion

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable, RunnableConfig


class LangChainChatModel:
    """Asks a LangChain chat model by `invoke` and `ainvoke`, as the application does.

    So its cache, rate limiter and callbacks apply; a runnable around it (`.with_retry()`,
    `.bind(…)`) is taken too. Structured output is left aside: it fails in four ways, one of them
    silent; the judge reads the text, and asks again for what is missing.

    `name` identifies the model in stores; it is the class and the model's name unless given.
    `config` goes with every request. Requests raise what the model raises.
    """

    def __init__(
        self,
        model: BaseChatModel | Runnable[Any, BaseMessage],
        *,
        name: str | None = None,
        config: RunnableConfig | None = None,
    ) -> None:
        self._model = model
        self._config = config
        self.name = name or f"langchain:{_described(model)}"

    def complete(self, request: ChatRequest) -> Completion:
        """Return the model's answer."""
        return _completion(self._model.invoke(_messages(request), self._config))

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return the model's answer without blocking the event loop."""
        return _completion(await self._model.ainvoke(_messages(request), self._config))


def _messages(request: ChatRequest) -> list[BaseMessage]:
    kinds = {"system": SystemMessage, "user": HumanMessage}
    return [kinds[role](content) for role, content in request.messages]


def _completion(reply: BaseMessage) -> Completion:
    text = reply.content if isinstance(reply.content, str) else _joined(reply.content)
    about = reply.response_metadata
    return Completion.of(
        text,
        tokens=_spent(reply),
        stop=about.get("finish_reason") or about.get("stop_reason") or about.get("done_reason"),
        refusal=reply.additional_kwargs.get("refusal"),
    )


def _spent(reply: BaseMessage) -> tuple[int, int]:
    """Return the tokens of prompt and answer; none for what came from the framework's cache."""
    usage: Any = (reply.usage_metadata if isinstance(reply, AIMessage) else None) or {}
    if usage.get("total_cost") == 0:
        return 0, 0
    return usage.get("input_tokens", 0), usage.get("output_tokens", 0)


def _joined(blocks: list[Any]) -> str:
    """Return the text blocks of a message, thinking and tool calls left out."""
    texts = (
        block if isinstance(block, str) else block.get("text", "")
        for block in blocks
        if isinstance(block, str) or block.get("type") == "text"
    )
    return "".join(texts)


def _described(model: object) -> str:
    inner = getattr(model, "bound", model)
    chosen = getattr(inner, "model_name", None) or getattr(inner, "model", None) or ""
    temperature = getattr(inner, "temperature", None)
    return f"{type(inner).__name__}:{chosen},t={temperature}"
