"""Any LlamaIndex `LLM` as the model of a fullrecall judge."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

from llama_index.core import Settings
from llama_index.core.base.llms.generic_utils import messages_to_prompt
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import LLM

from fullrecall.errors import ParameterError
from fullrecall.judge import ChatRequest, Completion
from fullrecall.judge.models.redaction import hide_fields, public_options, public_url
from fullrecall.run.threads import in_thread
from fullrecall.samples.hit_fields import field_of
from llama_index.evaluation.fullrecall.listening import unrecorded
from llama_index.evaluation.fullrecall.nodes import got


class LlamaIndexChatModel:
    """Asks a LlamaIndex `LLM`: a chat model by `chat`, any other by `complete`.

    - `llm`: the model; None is `Settings.llm`, looked up once, when a judge first needs it.
    - `name`: identifies the model in stores; by default its class, its name, its temperature, its
      address and its `additional_kwargs`.

    A completion model gets the messages in its own form (`messages_to_prompt`). Structured output
    is not used, because it asks only once and raises errors of its own. The judge reads the text
    instead, and asks again for missing verdicts. Every request has new message objects.

    Requests raise the errors of the LLM's client unchanged, so that `evaluate` can tell a rate
    limit from a wrong key. Raises `ParameterError` for an `llm` that is not an `LLM`, and if
    `Settings` has no LLM.
    """

    def __init__(self, llm: LLM | None = None, *, name: str | None = None) -> None:
        if llm is not None and not isinstance(llm, LLM):
            raise ParameterError(f"expected a LlamaIndex LLM, {got(llm)}")
        self._own_llm = llm
        self._name = name

    @property
    def name(self) -> str:
        """The name of the model in stores: two models with one name must give the same answers."""
        return self._name or _described(self._llm)

    def complete(self, request: ChatRequest) -> Completion:
        """Return the LLM's answer; a capture of the application does not record this request."""
        llm = self._llm
        messages = [ChatMessage(role=role, content=content) for role, content in request.messages]
        with unrecorded():
            if llm.metadata.is_chat_model:
                reply = llm.chat(messages)
                return _completion(reply.message.content, reply)
            prompt = (llm.messages_to_prompt or messages_to_prompt)(messages)
            text = llm.complete(prompt, formatted=True)
            return _completion(text.text, text)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return the LLM's answer without blocking the event loop."""
        return await in_thread(partial(self.complete, request))

    @cached_property
    def _llm(self) -> LLM:
        try:
            llm = Settings.llm if self._own_llm is None else self._own_llm
        except (ImportError, ValueError) as error:
            raise ParameterError(
                "a judge needs a model, and LlamaIndex's Settings has none: pass "
                f"LlamaIndexChatModel(llm), or set Settings.llm ({' '.join(str(error).split())})"
            ) from error
        hide_fields(llm)
        return llm


def _described(llm: LLM) -> str:
    more = dict(getattr(llm, "additional_kwargs", None) or {})
    temperature = more.pop("temperature", getattr(llm, "temperature", None))
    sampled = f",t={temperature}" if isinstance(temperature, (int, float)) else ""
    urls = (getattr(llm, name, None) for name in ("api_base", "base_url"))
    address = next((f"@{public_url(url)}" for url in urls if isinstance(url, str)), "")
    name = f"{llm.class_name()}:{llm.metadata.model_name}"
    return f"llama-index:{name}{address}{sampled}{public_options(more)}"


def _completion(text: str | None, reply: Any) -> Completion:
    """Return a reply's text, with the tokens, stop reason and refusal of the reply's raw form."""
    raw = getattr(reply, "raw", None)
    counts = getattr(reply, "additional_kwargs", None) or {}
    sources = (field_of(raw, "usage"), field_of(raw, "usage_metadata"), counts)
    choices = field_of(raw, "choices") or [None]
    return Completion.of(
        text or "",
        tokens=(_count(sources, _ASKED), _count(sources, _ANSWERED)),
        stop=field_of(choices[0], "finish_reason") or field_of(raw, "stop_reason"),
        refusal=field_of(field_of(choices[0], "message"), "refusal"),
    )


_ASKED = ("prompt_tokens", "input_tokens", "prompt_token_count")
_ANSWERED = ("completion_tokens", "output_tokens", "candidates_token_count")
"""The names of OpenAI, Anthropic and Google for the tokens of the prompt and of the answer."""


def _count(sources: tuple[object, ...], names: tuple[str, ...]) -> int:
    """Return the first count that a source has under one of the names, or 0."""
    counts = (field_of(source, name) for source in sources for name in names)
    return next((count for count in counts if isinstance(count, int)), 0)
