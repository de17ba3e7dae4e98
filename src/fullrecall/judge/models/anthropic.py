"""Anthropic's models as a chat model, through the official client."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from fullrecall.judge.models.chat import ChatRequest, Completion, Message
from fullrecall.judge.models.remote_model import RemoteModel
from fullrecall.judge.models.retries import tokens_used

_PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
"""The fields of `usage` whose sum is the tokens of the prompt, including cached tokens."""


_CONTEXTS = re.compile(r'contexts:\n(?:\d+ ".*"\n)+')
"""The lines of contexts in a prompt, which other requests share."""


class AnthropicChatModel(RemoteModel):
    """A model behind Anthropic's Messages API.

    - `model`: its name at the endpoint. `base_url`: the endpoint, None for ANTHROPIC_BASE_URL or
      Anthropic's own. A user and password in the URL are sent as basic authorization.
    - `api_key`: None reads ANTHROPIC_API_KEY; your own endpoint may need none.
    - `temperature`: None sends none.
    - `schema`: ask for the answer as the input of a tool that has its JSON schema.
    - `options`: more fields of the request, such as `top_k` or `max_tokens` (default 8,192, as
      the API requires a number), and the client's own `extra_headers` and `extra_query`.
      `cache_control` marks the contexts, which several requests share, for the prompt cache.
      Fields that the endpoint rejects are left out, as by `OpenAIChatModel`.
    - `timeout`: seconds for one request, from the first byte sent to the last byte read. The
      client's own retries are off: fullrecall retries and counts the requests.

    Replies are bounded, redirects are not followed, and secrets are removed, as in
    `OpenAIChatModel`.

    Raises `MissingExtraError` without the `anthropic` package, `ParameterError` without a key if
    Anthropic's own endpoint is used, and for an option that a parameter already sets, such as
    `temperature`. A failed request does not raise; its completion has the `failure`.
    """

    package: ClassVar[str] = "anthropic"
    client: ClassVar[str] = "AsyncAnthropic"
    path: ClassVar[str] = "/v1/messages"
    form: ClassVar[tuple[str, ...]] = ("tools", "tool_choice")
    required: ClassVar[tuple[str, ...]] = (*RemoteModel.required, "system", "max_tokens")
    reserved: ClassVar[tuple[str, ...]] = (*RemoteModel.reserved, "system")
    defaults: ClassVar[Mapping[str, Any]] = {"max_tokens": 8_192}

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        messages = [message for message in request.messages if message.role != "system"]
        body: dict[str, Any] = {"messages": [self._message(message) for message in messages]}
        # This API has no system role among its messages.
        orders = [message.content for message in request.messages if message.role == "system"]
        if orders:
            body["system"] = "\n\n".join(orders)
        if self.schema and request.schema is not None:
            name = request.schema_name
            form = {
                "name": name,
                "description": "Give the answer in this form.",
                "input_schema": request.schema,
            }
            # The model must use this one tool; the tool's input is the answer, in the form of the
            # schema.
            body |= {"tools": [form], "tool_choice": {"type": "tool", "name": name}}
        return body

    def _message(self, message: Message) -> dict[str, Any]:
        """Return a message in two parts: its contexts, marked for the cache, and the rest."""
        contexts = _CONTEXTS.match(message.content)
        if contexts is None or "cache_control" not in self.options:
            return message._asdict()
        shared = {"text": contexts[0], "cache_control": self.options["cache_control"]}
        parts = [shared, {"text": message.content[contexts.end() :]}]
        return {"role": message.role, "content": [{"type": "text", **part} for part in parts]}

    def _fields(self) -> dict[str, Any]:
        # `_message` sets `cache_control` on the contexts. As a field of the body, it would mark the
        # claims, which no other request shares.
        fields = super()._fields()
        fields.pop("cache_control", None)
        return fields

    def _read(self, reply: Any) -> Completion:
        """Return the answer: the input of the requested tool, or the text."""
        blocks = reply["content"]
        inputs = [json.dumps(b["input"]) for b in blocks if b.get("type") == "tool_use"]
        texts = [b["text"] for b in blocks if b.get("type") == "text"]
        return Completion.of(
            "\n".join(inputs or texts).strip(),
            tokens=(tokens_used(reply, *_PROMPT), tokens_used(reply, "output_tokens")),
            stop=reply.get("stop_reason"),
        )
