"""Any LlamaIndex `LLM` as the model of a fullrecall judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import LLM

from fullrecall.judges import ChatRequest, Completion


class LlamaIndexChatModel:
    """Asks a LlamaIndex `LLM`: by `chat` where it is a chat model, by `complete` where it is not.

    Structured output is left aside: it asks once, and fails in ways of its own; the judge reads
    the text, and asks again for what is missing. `name` identifies the model in stores; it is
    the class and model name unless given. Requests raise what the LLM raises.
    """

    def __init__(self, llm: LLM, *, name: str | None = None) -> None:
        self._llm = llm
        self.name = name or f"llama-index:{llm.class_name()}:{llm.metadata.model_name}"

    def complete(self, request: ChatRequest) -> Completion:
        """Return the LLM's answer."""
        if self._llm.metadata.is_chat_model:
            reply = self._llm.chat(_messages(request))
            return _completion(reply.message.content, reply)
        text = self._llm.complete(_prompt(request), formatted=True)
        return _completion(text.text, text)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return the LLM's answer without blocking the event loop."""
        if self._llm.metadata.is_chat_model:
            reply = await self._llm.achat(_messages(request))
            return _completion(reply.message.content, reply)
        text = await self._llm.acomplete(_prompt(request), formatted=True)
        return _completion(text.text, text)


def _messages(request: ChatRequest) -> list[ChatMessage]:
    return [ChatMessage(role=role, content=content) for role, content in request.messages]


def _prompt(request: ChatRequest) -> str:
    return "\n\n".join(content for _, content in request.messages)


def _completion(text: str | None, reply: Any) -> Completion:
    """Return the reply with the tokens and the reason to stop that its raw form tells."""
    text = text or ""
    raw = getattr(reply, "raw", None)
    usage = _read(raw, "usage") or {}
    counts = getattr(reply, "additional_kwargs", None) or {}
    asked = _count(_read(usage, "prompt_tokens"), counts.get("prompt_tokens"))
    answered = _count(_read(usage, "completion_tokens"), counts.get("completion_tokens"))
    choices = _read(raw, "choices") or [None]
    stop = _read(choices[0], "finish_reason") or _read(raw, "stop_reason")
    refusal = _read(_read(choices[0], "message"), "refusal")
    return Completion.of(text, tokens=(asked, answered), stop=stop, refusal=refusal)


def _read(thing: object, name: str) -> Any:
    """Return a field of what may be a mapping, an object, or nothing."""
    if isinstance(thing, Mapping):
        return thing.get(name)
    return getattr(thing, name, None)


def _count(*candidates: object) -> int:
    return next((count for count in candidates if isinstance(count, int)), 0)
