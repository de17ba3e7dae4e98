"""Any OpenAI-compatible endpoint as a chat model, through the official client.

This covers OpenAI itself, and vLLM, Ollama, LM Studio, llama.cpp and other servers by `base_url`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fullrecall.judge.models.chat import ChatRequest, Completion, Failure
from fullrecall.judge.models.remote_model import RemoteModel
from fullrecall.judge.models.retries import tokens_used


class OpenAIChatModel(RemoteModel):
    """A model behind an OpenAI-compatible endpoint.

    - `model`: its name at the endpoint. `base_url`: the endpoint, None for OPENAI_BASE_URL or
      OpenAI's own. A user and password in the URL are sent as basic authorization.
    - `api_key`: None reads OPENAI_API_KEY; local servers need none.
    - `temperature`: None sends none.
    - `schema`: send the JSON schema of the answer.
    - `options`: more fields of the request, such as `max_tokens` or `seed`, and the client's own
      `extra_headers` and `extra_query`. A field that the endpoint rejects by name (`temperature`,
      `response_format`, …) is left out from then on; a rejected `max_tokens` is first sent as
      `max_completion_tokens`. `adjustments` reports these changes. If the endpoint rejects a
      request but names no field, or fails because of the schema's grammar, the request is sent
      again without the schema.
    - `timeout`: seconds for one request, from the first byte sent to the last byte read. The
      client's own retries are off: fullrecall retries and counts the requests.

    At most 2 MiB of a reply are read, and redirects are not followed. Secrets (the key, and those
    in `base_url`, `extra_headers` and `extra_query`) are removed from replies and errors before
    any other code sees them.

    Requests use the client's `post`, which takes two thirds of the CPU time of
    `chat.completions.create`; tools that trace `create` do not see these requests.

    Raises `MissingExtraError` without the `openai` package, `ParameterError` without a key if
    OpenAI's own endpoint is used, and for an option that a parameter already sets, such as
    `temperature`. A failed request does not raise; its completion has the `failure`.
    """

    package: ClassVar[str] = "openai"
    client: ClassVar[str] = "AsyncOpenAI"
    path: ClassVar[str] = "/chat/completions"
    form: ClassVar[tuple[str, ...]] = ("response_format",)
    other_names: ClassVar[Mapping[str, str]] = {"max_tokens": "max_completion_tokens"}

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        messages = [message._asdict() for message in request.messages]
        body: dict[str, Any] = {"messages": messages}
        if self.schema and request.schema is not None:
            form = {
                "name": request.schema_name,
                "schema": request.schema,
                "strict": True,
            }
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def _read(self, reply: Any) -> Completion:
        # Sort choices by index, since replies may list them in any order. Use the first if all
        # agree.
        choices = sorted(reply["choices"], key=lambda choice: choice.get("index") or 0)
        choice, text = choices[0], _text(choices[0])
        if any(_text(other) != text for other in choices[1:]):
            detail = f"{len(choices)} choices; ask for one (n=1)"
            return Completion("", failure=Failure.AMBIGUOUS, detail=detail)
        return Completion.of(
            text,
            tokens=(tokens_used(reply, "prompt_tokens"), tokens_used(reply, "completion_tokens")),
            stop=choice.get("finish_reason"),
            refusal=choice["message"].get("refusal"),
        )


def _text(choice: Any) -> str:
    """Return the answer of a choice, from any field of its message."""
    message = choice["message"]
    content = message.get("content") or ""
    # Join only the texts: an answer may also have parts such as thoughts or images.
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if part.get("type", "text") == "text")
    if content.strip():
        return str(content.strip())
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    calls += [message["function_call"]] if message.get("function_call") else []
    if calls:
        return "\n".join(call["arguments"] for call in calls)
    # Thoughts that were cut off contain drafts, not an answer.
    is_whole = choice.get("finish_reason") == "stop"
    thoughts = message.get("reasoning_content") or message.get("reasoning") or ""
    return str(thoughts).strip() if is_whole else ""
