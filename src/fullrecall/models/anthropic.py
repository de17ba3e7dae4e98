"""Anthropic's models as a chat model, through the official client."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from fullrecall.errors import MissingExtraError, ParameterError
from fullrecall.identifiers import shown
from fullrecall.models.chat import ChatRequest, Completion, Failure, Message
from fullrecall.models.failures import trouble_of
from fullrecall.models.redaction import hide, hide_url, hide_values, public_url

_REFUSALS = 2
"""So many requests that were rejected with a schema and answered without one settle it."""

_OWN = {"extra_headers": "headers", "extra_query": "params", "timeout": "timeout"}
"""What is no part of the request's body, and what the client's `post` calls it."""

_NO_KEY = "none"

_FULL = frozenset({"max_tokens", "model_context_window_exceeded"})


@dataclass
class AnthropicChatModel:
    """A model behind Anthropic's Messages API.

    - `model`: its name there. `base_url`: the endpoint, None for Anthropic's own.
    - `api_key`: None reads ANTHROPIC_API_KEY; an endpoint of your own may need none.
    - `max_tokens`: the most that one answer may have; the API wants a number.
    - `temperature`: None sends none, for models that take none.
    - `schema`: ask for the answer as the input of a tool that has its JSON schema. A request that
      is rejected with status 400 is to be sent again, and goes without it then. An endpoint that
      answered two such requests, and none with a schema, gets none from then on.
    - `options`: more fields of the request, such as `top_k`, and the client's own
      `extra_headers`, `extra_query`, `extra_body` and `timeout`.
    - `timeout`: seconds for one request. The client's own retries are off: what drives the model
      retries, and counts it.

    Raises `MissingExtraError` without the `anthropic` package, `ParameterError` without a key
    where Anthropic's own endpoint needs one. Requests raise what the client raises.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    max_tokens: int = 8_192
    temperature: float | None = 0.0
    schema: bool = True
    timeout: float = 60.0
    options: dict[str, Any] = field(default_factory=dict, repr=False)
    _refusals: float = field(default=0, init=False, repr=False, compare=False)
    _rejections: set[tuple[Message, ...]] = field(
        default_factory=set, init=False, repr=False, compare=False
    )
    _client: Any = field(default=None, init=False, repr=False, compare=False)
    _clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = field(
        default_factory=WeakKeyDictionary, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.base_url is not None and not self.base_url.startswith(("http://", "https://")):
            raise ParameterError(
                f"base_url must begin with http:// or https://, got {self.base_url!r}"
            )
        if self.base_url is not None:
            hide_url(self.base_url)
        if not isinstance(self.max_tokens, int) or self.max_tokens < 1:
            raise ParameterError(f"max_tokens must be at least 1, got {self.max_tokens!r}")
        try:
            import anthropic  # noqa: F401 - clients are made when they are first used
        except ImportError:
            raise MissingExtraError("anthropic", "anthropic", "AnthropicChatModel") from None
        for given in ("extra_headers", "extra_query"):
            hide_values(self.options.get(given) or {}, all_of_them=True)
        hide_values(self.options)
        key = self._settings()["api_key"]
        if key is not None and key != _NO_KEY:
            hide(key)
        if key is None:
            raise ParameterError(
                "no API key: set ANTHROPIC_API_KEY, give api_key=…, or give the base_url of a "
                "server that needs none"
            )

    @property
    def name(self) -> str:
        """The model and what decides its answers."""
        # Headers decide who asks, not what is answered, and may hold secrets.
        told = sorted(key for key in self.options if not key.startswith("extra_"))
        options = "".join(f",{key}={self.options[key]!r}" for key in told)
        if "extra_body" in self.options:  # decides, and may be long or private: a digest tells
            body = repr(sorted(dict(self.options["extra_body"]).items())).encode()
            options += f",extra_body={hashlib.sha256(body).hexdigest()[:8]}"
        return (
            f"anthropic:{self.model}@{self._place},t={self.temperature},{self.max_tokens}{options}"
        )

    @property
    def _place(self) -> str:
        return "default" if self.base_url is None else public_url(self.base_url)

    def complete(self, request: ChatRequest) -> Completion:
        """Return the model's answer; raises what the client raises."""
        from anthropic import APIConnectionError, BadRequestError

        with_schema = self._sends_schema(request)
        try:
            reply = self._sync_client().post(**self._post(request, schema=with_schema))
        except APIConnectionError as error:
            raise self._unreachable(error) from error
        except BadRequestError as error:
            return self._rejected(request, error, with_schema=with_schema)
        return self._answered(request, reply, with_schema=with_schema)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return the model's answer without blocking; raises what the client raises."""
        from anthropic import APIConnectionError, BadRequestError

        with_schema = self._sends_schema(request)
        try:
            async with asyncio.timeout(self.timeout) as limit:
                reply = await self._async_client().post(**self._post(request, schema=with_schema))
        except TimeoutError:
            if not limit.expired():
                raise
            told = f"timed out: no answer within {self.timeout:g} s ({self._place})"
            raise TimeoutError(told) from None
        except APIConnectionError as error:
            raise self._unreachable(error) from error
        except BadRequestError as error:
            return self._rejected(request, error, with_schema=with_schema)
        return self._answered(request, reply, with_schema=with_schema)

    def _sends_schema(self, request: ChatRequest) -> bool:
        if not self.schema or self._refusals >= _REFUSALS or request.schema is None:
            return False
        return request.messages not in self._rejections

    def _rejected(self, request: ChatRequest, error: Exception, *, with_schema: bool) -> Completion:
        """Return that the schema may be to blame: whoever drives asks again, then without it."""
        if not with_schema or trouble_of(error).failure is not Failure.INVALID:
            raise error
        self._rejections.add(request.messages)
        return Completion("", failure=Failure.SCHEMA, detail=f"{type(error).__name__}: {error}")

    def _answered(self, request: ChatRequest, reply: Any, *, with_schema: bool) -> Completion:
        """Return the answer, and learn from it whether schemas are refused here."""
        if with_schema:
            self._refusals = float("-inf")  # they are taken
        elif request.messages in self._rejections:
            self._rejections.discard(request.messages)
            self._refusals += 1
        return _completion(reply)

    def __getstate__(self) -> dict[str, Any]:
        # Connections stay behind: a copy opens its own.
        return {**self.__dict__, "_client": None, "_clients": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _clients=WeakKeyDictionary())
        self.__post_init__()

    def __hash__(self) -> int:
        return hash(self.name)

    def close(self) -> None:
        """Close the connections of the sync path; the model can be used again."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Close the connections that this event loop opened."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _unreachable(self, error: Exception) -> OSError:
        from anthropic import APITimeoutError

        kind = TimeoutError if isinstance(error, APITimeoutError) else ConnectionError
        return kind(f"{error} ({self._place})")

    def _sync_client(self) -> Any:
        import anthropic

        if self._client is None:
            self._client = anthropic.Anthropic(**self._settings())
        return self._client

    def _async_client(self) -> Any:
        # A connection belongs to the loop that opened it: one client for each loop.
        import anthropic

        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = anthropic.AsyncAnthropic(**self._settings())
        return self._clients[loop]

    def _settings(self) -> dict[str, Any]:
        key = self.api_key or os.environ.get("ANTHROPIC_API_KEY")
        key = key or (_NO_KEY if self.base_url else None)
        return {
            "base_url": self.base_url,
            "api_key": key,
            "timeout": self.timeout,
            "max_retries": 0,
        }

    def _post(self, request: ChatRequest, *, schema: bool) -> dict[str, Any]:
        """Return the arguments of the client's `post`."""
        options = dict(self.options)
        own = {name: options.pop(given) for given, name in _OWN.items() if given in options}
        more = options.pop("extra_body", None) or {}
        body = self._body(request, schema=schema) | options | more
        return {"path": "/v1/messages", "cast_to": object, "body": body, "options": own}

    def _body(self, request: ChatRequest, *, schema: bool) -> dict[str, Any]:
        said = [message for message in request.messages if message.role != "system"]
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "messages": [message._asdict() for message in said],
        }
        orders = [message.content for message in request.messages if message.role == "system"]
        if orders:
            body["system"] = "\n\n".join(orders)
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if schema:
            name = request.schema_name
            form = {"name": name, "description": "Give the answer in this form.",
                    "input_schema": request.plain_schema()}  # fmt: skip
            body |= {"tools": [form], "tool_choice": {"type": "tool", "name": name}}
        return body


def _completion(reply: Any) -> Completion:
    """Return the answer: the input of the tool that was asked for, or the text."""
    try:
        blocks, stop = reply["content"], reply.get("stop_reason")
        usage = reply.get("usage") or {}
        inputs = [json.dumps(b["input"]) for b in blocks if b.get("type") == "tool_use"]
        texts = [b["text"] for b in blocks if b.get("type") == "text"]
        text = "\n".join(inputs or texts).strip()
        # What was read from or written to the prompt cache is of the prompt, too.
        read = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        tokens = (sum(usage.get(name) or 0 for name in read), usage.get("output_tokens") or 0)
    except (TypeError, KeyError, AttributeError):
        return Completion(
            "", failure=Failure.MALFORMED, detail=f"the reply is not a message: {shown(reply)}"
        )
    return Completion.of(text, tokens=tokens, stop="max_tokens" if stop in _FULL else stop)
