"""Any OpenAI-compatible endpoint as a chat model, through the official client.

OpenAI itself, or vLLM, Ollama, LM Studio, llama.cpp and others by their `base_url`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from fullrecall.judge.models.chat import ChatRequest, Completion
from fullrecall.judge.models.remote_model import RemoteModel
from fullrecall.judge.models.retries import tokens_used


class OpenAIChatModel(RemoteModel):
    """A model behind an OpenAI-compatible endpoint.

    - `model`: its name there. `base_url`: the endpoint, None for OPENAI_BASE_URL or OpenAI's own.
      A user and password in it are sent as basic authorization.
    - `api_key`: None reads OPENAI_API_KEY; local servers need none.
    - `temperature`: None sends none, for models that take none.
    - `schema`: send the JSON schema of the answer. A request that is rejected is to be sent
      again, and goes without it then. An endpoint that answers such a request, and has answered
      none with a schema, gets none from then on.
    - `options`: more fields of the request, such as `max_tokens` or `seed`, and the client's own
      `extra_headers` and `extra_query`.
    - `timeout`: seconds for one request, from the first byte sent to the last one read. The
      client's own retries are off: what drives the model retries, and counts it.

    Of a reply at most 2 MiB are read, redirects are not followed, and secrets (the key, what
    stands in `base_url`, `extra_headers` and `extra_query`) are taken out of what the endpoint
    says before anything else sees it.

    Requests go through the client's `post`, at two thirds of the CPU that
    `chat.completions.create` takes: what traces the latter does not see them.

    Raises `MissingExtraError` without the `openai` package, `ParameterError` without a key where
    OpenAI's own endpoint needs one, and for an option that sets what a parameter says, such as
    `temperature`. A failed request raises nothing: its completion says why.
    """

    package: ClassVar[str] = "openai"
    client: ClassVar[str] = "AsyncOpenAI"
    path: ClassVar[str] = "/chat/completions"

    def _body(self, request: ChatRequest, *, schema: bool) -> dict[str, Any]:
        messages = [message._asdict() for message in request.messages]
        body: dict[str, Any] = {"messages": messages}
        if schema:
            form = {
                "name": request.schema_name,
                "schema": request.plain_schema(),
                "strict": True,
            }
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def _read(self, reply: Any) -> Completion:
        choice = reply["choices"][0]
        message = choice["message"]
        return Completion.of(
            (message.get("content") or "").strip(),
            tokens=(tokens_used(reply, "prompt_tokens"), tokens_used(reply, "completion_tokens")),
            stop=choice.get("finish_reason"),
            refusal=message.get("refusal"),
        )
