"""Any LangChain `BaseChatModel` as the model of a fullrecall judge."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableBinding
from langchain_core.runnables.configurable import DynamicRunnable

from fullrecall._util.parts import rebuilt
from fullrecall._util.values import shown
from fullrecall.errors import ParameterError
from fullrecall.judge import ChatRequest, Completion
from fullrecall.judge.models.redaction import hide_fields, public_options, public_url
from fullrecall.observe.messages import text_of
from fullrecall.run.threads import in_thread
from langchain_fullrecall.depth import is_runnable

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig


class LangChainChatModel:
    """Asks a LangChain chat model by `invoke`, as the application does, in threads.

    The model's cache, rate limiter and callbacks apply. It also takes a runnable around a model
    (`.with_retry()`, `.bind(…)`, `.with_fallbacks(…)`). A repeated request, after an unusable reply
    or for several answers, skips the cache, which would give the same reply. Structured output is
    not used, because it fails in several ways, one of them without an error. Instead, the judge
    reads the text of an answer, and asks again for missing verdicts.

    - `name` identifies the model in stores. Default: the class, name and parameters of every model
      inside, and all bound and configured options. The parameters are those in the key of
      LangChain's own cache.
    - `config` goes with every request.

    Requests raise the errors of the model's client unchanged, so that `evaluate` can tell a rate
    limit from a wrong key. `evaluate` retries requests itself, so set `max_retries=0` on the model
    to switch off its client's retries. Raises `ParameterError` for anything but a runnable.
    """

    def __init__(
        self,
        model: BaseChatModel | Runnable[Any, BaseMessage],
        *,
        name: str | None = None,
        config: RunnableConfig | None = None,
    ) -> None:
        if not isinstance(model, Runnable):
            raise ParameterError(
                f"must be a chat model or a runnable of one, got {shown(model)}", "model"
            )
        self._model = model
        self._config = config
        description = _described(model) + _configured(config)
        self.name = name or f"langchain:{description}"

    def complete(self, request: ChatRequest) -> Completion:
        """Return the model's answer."""
        kinds = {"system": SystemMessage, "user": HumanMessage}
        messages = [kinds[role](content) for role, content in request.messages]
        model = self._uncached if request.again or request.sample else self._model
        return _completion(model.invoke(messages, self._config))

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return the model's answer without blocking the event loop."""
        return await in_thread(partial(self.complete, request))

    @cached_property
    def _uncached(self) -> Runnable[Any, BaseMessage]:
        return rebuilt(self._model, _without_cache, is_runnable)


def _without_cache(value: Any) -> Any:
    if not isinstance(value, BaseLanguageModel):
        return value
    # False switches the cache off; with None, LangChain would use that of `set_llm_cache`.
    return value.model_copy(update={"cache": False})


def _completion(reply: BaseMessage) -> Completion:
    about = reply.response_metadata
    usage: Any = (reply.usage_metadata if isinstance(reply, AIMessage) else None) or {}
    cached = usage.get("total_cost") == 0  # LangChain's cache sets a cost of 0.
    spent = {} if cached else usage
    return Completion.of(
        text_of(reply.content),  # This leaves out thinking and tool calls.
        tokens=(spent.get("input_tokens", 0), spent.get("output_tokens", 0)),
        stop=about.get("finish_reason") or about.get("stop_reason") or about.get("done_reason"),
        refusal=reply.additional_kwargs.get("refusal"),
    )


def _described(runnable: Runnable[Any, Any]) -> str:
    """Return a text with everything that changes a runnable's answers: models, bound options."""
    parts: list[str] = []

    def note(value: Any) -> Any:
        if isinstance(value, (RunnableBinding, DynamicRunnable)):
            kwargs = getattr(value, "kwargs", {})
            bound_options = public_options(kwargs) + _configured(value.config)
            parts.extend([f"bound{bound_options}"] if kwargs or bound_options else [])
        elif isinstance(value, BaseLanguageModel):
            hide_fields(value)
            parts.append(_model_described(value))
        return value

    rebuilt(runnable, note, is_runnable)
    return "|".join(parts) or type(runnable).__name__


def _configured(config: Mapping[str, Any] | None) -> str:
    """Return a config's values for the configurable fields and alternatives of a model, as text."""
    return public_options((config or {}).get("configurable") or {})


def _model_described(model: BaseLanguageModel[Any]) -> str:
    chosen = next(filter(None, (getattr(model, name, None) for name in _MODEL)), "")
    where = next(filter(None, (getattr(model, name, None) for name in _PLACES)), None)
    address = f"@{public_url(where)}" if isinstance(where, str) else ""
    # These parameters are the key of LangChain's own cache.
    identifying: Mapping[str, Any] = model._identifying_params  # noqa: SLF001
    options = {"temperature": getattr(model, "temperature", None), **identifying}
    options = {key: value for key, value in options.items() if key not in _MODEL}
    return f"{type(model).__name__}:{chosen}{address}{public_options(options)}"


_MODEL = ("model_name", "model", "model_id", "deployment_name")
_PLACES = ("openai_api_base", "base_url", "azure_endpoint", "endpoint_url")
"""Attributes in which LangChain's chat models keep the model's name and its address."""
