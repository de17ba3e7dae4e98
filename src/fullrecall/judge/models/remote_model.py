"""A model behind an HTTP endpoint, asked through its provider's official client.

The clients of OpenAI and Anthropic are similar, so one class serves both. It sends a request
through the client's `post`, and reads the reply. The time limit is here, the size limit in
`transport`.
"""

from __future__ import annotations

import asyncio
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit
from urllib.request import getproxies
from weakref import WeakKeyDictionary

from fullrecall._util.extras import imported
from fullrecall._util.naming import parameter
from fullrecall._util.parameters import check_seconds
from fullrecall.errors import ParameterError
from fullrecall.judge.models.chat import ChatRequest, Completion, Failure
from fullrecall.judge.models.failures import (
    failed,
    failed_grammar,
    is_server_error,
    links,
    named_field,
)
from fullrecall.judge.models.redaction import (
    hide,
    hide_environment,
    hide_url,
    hide_values,
    public_options,
    public_url,
    redacted,
    watch_logs,
)
from fullrecall.judge.models.retries import sound
from fullrecall.judge.models.transport import (
    Portal,
    ReplyError,
    bounded_client,
    closed,
    http_library,
)

_OWN = {"extra_headers": "headers", "extra_query": "params"}
"""Options that are not in the request's body, with their names in the client's `post`."""

_MOST_VALUES = 100_000
"""The most values in a reply, including those in its text; parsing more could delay the event loop.
"""

_SHOWN = 8_192
"""The most bytes of an unreadable reply that are put into the failure's detail. The detail is
shortened only after secrets are removed, so that no secret is cut in two.
"""

_FROM_ENVIRONMENT = {"api_key": "API_KEY", "base_url": "BASE_URL", "options": "CUSTOM_HEADERS"}
"""Fields that may hold secrets, with the ends of the environment variables that also set them."""

_NO_KEY = "none"
"""The key for a server that needs none, since clients require a key."""


@dataclass(repr=False, kw_only=True)
class RemoteModel(ABC):
    """The base of `OpenAIChatModel` and `AnthropicChatModel`, which build the requests."""

    model: str = field(kw_only=False)
    base_url: str | None = None
    api_key: str | None = None
    temperature: float | None = 0.0
    schema: bool = True
    timeout: float = 60.0
    options: dict[str, Any] = field(default_factory=dict)
    _instead_of: dict[str, str] = field(default_factory=dict, init=False, compare=False)
    """The other name of each field that the endpoint rejects, or "" to leave it out."""
    _takes_schemas: bool = field(default=False, init=False, compare=False)
    """Whether the endpoint has answered a request with a schema."""
    _rejected: dict[int, bool] = field(default_factory=dict, init=False, compare=False)
    """Hashes of the messages of requests that failed with a schema, and are sent again without it;
    True if the error suggests that the schema was the cause.
    """
    _portal: Portal = field(default_factory=Portal, init=False, compare=False)
    _clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = field(
        default_factory=WeakKeyDictionary, init=False, compare=False
    )

    package: ClassVar[str]
    """The client's package, and the extra that installs it."""

    client: ClassVar[str]
    """The client's class."""

    path: ClassVar[str]
    """The path of requests below the base URL."""

    form: ClassVar[tuple[str, ...]]
    """The fields of the body that request the schema."""

    required: ClassVar[tuple[str, ...]] = ("model", "messages")
    """The fields of the body that every request has."""

    other_names: ClassVar[Mapping[str, str]] = {}
    """Fields with their other name at some endpoints."""

    reserved: ClassVar[tuple[str, ...]] = tuple(
        "model messages temperature timeout stream extra_body".split()
    )
    """Fields that options must not set, since parameters or the judge set them."""

    defaults: ClassVar[Mapping[str, Any]] = {}
    """Options that the endpoint requires, with their default values."""

    def __post_init__(self) -> None:
        self._check_fields()
        self.options = {**self.defaults, **self.options}
        # Check now that the package exists, since clients are created only when they are first
        # used.
        imported(self.package, self.package, self.package, type(self).__name__)
        # The client would read these variables too. Read them here, so that secrets are hidden.
        hide_environment(self.package, os.environ)
        self.base_url = self.base_url or self._environment("BASE_URL") or None
        for line in self._environment("CUSTOM_HEADERS").splitlines():
            hide_values(line.partition(":")[2], is_secret=True)
        if self.base_url is not None:
            hide_url(self.base_url)
            _check_address(self.base_url)
        hide_values(self.options)
        if self._key() is None:
            raise ParameterError(
                f"no API key: set {self.package.upper()}_API_KEY (in Python also api_key=), or "
                f"pass {parameter('base_url')} with the address of a server that needs none"
            )

    @abstractmethod
    def _body(self, request: ChatRequest) -> dict[str, Any]:
        """Return the body of a request, with its schema, but without the model and its options."""

    @abstractmethod
    def _read(self, reply: Any) -> Completion:
        """Return the answer in the JSON of a reply.

        Raises `TypeError`, `KeyError`, `IndexError` or `AttributeError` if it has no answer.
        """

    @property
    def name(self) -> str:
        """The model and the options that affect its answers."""
        endpoint = f"{self.package}:{self.model}@{self._shown_address},t={self.temperature}"
        return f"{endpoint}{public_options(self.options)}"

    def __repr__(self) -> str:
        address = "" if self.base_url is None else f", base_url={self._shown_address!r}"
        return f"{type(self).__name__}({self.model!r}{address})"

    def complete(self, request: ChatRequest) -> Completion:
        """Return the model's answer, or a completion with a failure."""
        return self._portal.call(self.acomplete, request)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return the completion that `complete` returns, without blocking the event loop."""
        client = await self._client()
        post = self._post(request)
        try:
            async with asyncio.timeout(self.timeout) as limit:
                reply = await client.post(**post)
        except Exception as error:  # noqa: BLE001 - any exception is a failed request
            if limit.expired():
                detail = f"timed out: no answer within {self.timeout:g} s ({self._shown_address})"
                return Completion("", failure=Failure.TIMEOUT, detail=detail)
            return self._failed(request, error, post["body"])
        if self._has_form(post["body"]):
            self._takes_schemas = True
        elif self._rejected.get(hash(request.messages)) and not self._takes_schemas:
            self._instead_of.update(dict.fromkeys(self.form, ""))
        return sound(self._completion(reply.content))

    @property
    def _shown_address(self) -> str:
        return "default" if self.base_url is None else public_url(self.base_url)

    @property
    def adjustments(self) -> Sequence[str]:
        """Sentences on the fields that the endpoint rejects, which are left out or renamed."""
        return [
            f"{self.model} rejects {name}: sent {f'as {other}' if other else 'without it'}."
            for name, other in list(self._instead_of.items())
        ]

    def _has_form(self, body: Mapping[str, Any]) -> bool:
        return any(name in body for name in self.form)

    def _failed(
        self, request: ChatRequest, error: Exception, body: Mapping[str, Any]
    ) -> Completion:
        """Return the failed completion for a client's exception.

        Remember a field that was rejected.
        """
        for link in links(error):
            if isinstance(link, ReplyError):
                return sound(Completion("", failure=link.failure, detail=str(link)))
        completion = failed(error)
        if completion.failure is Failure.CONNECTION:
            return replace(completion, detail=f"{completion.detail} ({self._shown_address})")
        is_invalid = completion.failure is Failure.INVALID
        rejected = self._rejected_field(error, body) if is_invalid else ""
        if rejected:
            self._replace(rejected)
        elif self._has_form(body) and (is_invalid or is_server_error(error)):
            # The schema may be the cause. The driver sends the request again, and `_post` then
            # leaves the schema out.
            self._rejected[hash(request.messages)] = is_invalid or failed_grammar(error)
        else:
            return completion
        return replace(completion, failure=Failure.ADJUSTED)

    def _rejected_field(self, error: Exception, body: Mapping[str, Any]) -> str:
        """Return the field of a body that an error names, or ""."""
        names = [name for name in body if name not in self.required]
        return next(filter(None, (named_field(link, names) for link in links(error))), "")

    def _replace(self, name: str) -> None:
        """From now on, send a field under its other name, or leave it out."""
        original = next((old for old, new in self._instead_of.items() if new == name), name)
        other = self.other_names.get(name, "") if original == name else ""
        self._instead_of.update(
            dict.fromkeys(self.form if name in self.form else [original], other)
        )

    def _completion(self, content: bytes) -> Completion:
        """Return the answer in a reply's body; ignore the content type in its headers."""
        # Count values before parsing, which could block the loop for seconds.
        if sum(map(content.count, (b",", b"[", b"{"))) > _MOST_VALUES:
            detail = f"it has more than {_MOST_VALUES:,} values"
            return Completion("", failure=Failure.TOO_LARGE, detail=detail)
        try:
            return self._read(json.loads(content))
        except (ValueError, RecursionError) as error:
            detail = f"{type(error).__name__}: {error}"
        except (TypeError, KeyError, IndexError, AttributeError):
            beginning = content[:_SHOWN].decode(errors="replace")
            detail = f"the reply is not a chat completion: {beginning}"
        return Completion("", failure=Failure.MALFORMED, detail=detail)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without connections and secrets, for a copy in a worker.

        The worker reads secrets from environment variables. Raises `ParameterError` for a field
        with secrets that no environment variable sets.
        """
        state = {**self.__dict__, "_portal": None, "_clients": None}
        for name, variable in _FROM_ENVIRONMENT.items():
            if state[name] and state[name] == self._environment(variable):
                state[name] = None
            elif redacted(repr(state[name])) != repr(state[name]):
                raise ParameterError(
                    f"{name} holds secrets, which are not sent to workers: set "
                    f"{self.package.upper()}_{variable} here and where they run instead"
                )
        return state

    def __copy__(self) -> Self:
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return replace(self, options=deepcopy(self.options, memo))

    def __dask_tokenize__(self) -> tuple[str, str]:
        return type(self).__qualname__, self.name

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _portal=Portal(), _clients=WeakKeyDictionary())
        self.__post_init__()

    def __hash__(self) -> int:
        return hash(self.name)

    def close(self) -> None:
        """Close the connections that `complete` opened; the model can be used again."""
        self._portal.close()

    async def aclose(self) -> None:
        """Close the connections that this event loop opened; give up after a second."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await closed([client.close])

    async def _client(self) -> Any:
        # A connection belongs to the loop that opened it, so there is one client for each loop.
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            # Create the client in a thread, since reading the certificates takes 0.1 s.
            is_verified = not (self.base_url or "").startswith("http://") or bool(getproxies())
            make_client = partial(bounded_client(self.package), timeout=None, verify=is_verified)
            http_client = await asyncio.to_thread(make_client)
        # Check again: another request may have created the client meanwhile.
        if loop not in self._clients:
            client = getattr(import_module(self.package), self.client)(
                api_key=self._key(),
                base_url=self.base_url,
                http_client=http_client,
                timeout=None,  # `acomplete` bounds the whole request
                max_retries=0,
            )
            watch_logs()
            self._clients[loop] = client
            if self._portal.is_here():
                self._portal.closing.append(client.close)
        return self._clients[loop]

    def _environment(self, name: str) -> str:
        return os.environ.get(f"{self.package.upper()}_{name}", "").strip()

    def _key(self) -> str | None:
        key = (self.api_key or self._environment("API_KEY")).strip()
        hide(key)
        return key or (_NO_KEY if self.base_url else None)

    def _check_fields(self) -> None:
        for name in ("model", "base_url", "api_key"):
            value = getattr(self, name)
            if not isinstance(value, str) and (value is not None or name == "model"):
                # The value is not shown, since it may be a key.
                raise ParameterError(f"must be a text, got a {type(value).__name__}", name)
        if not isinstance(self.options, Mapping):
            raise ParameterError(
                f"must be a mapping, got a {type(self.options).__name__}", "options"
            )
        check_seconds(self.timeout, "timeout")
        for name in self.reserved:
            if name in self.options:
                is_field = name in self.__dataclass_fields__
                way_out = f"pass {name}=…" if is_field else "options are the body's own fields"
                raise ParameterError(f"must not set {name}: {way_out}", "options")

    def _fields(self) -> dict[str, Any]:
        """Return the fields of the body that options and `temperature` set."""
        fields = {name: value for name, value in self.options.items() if name not in _OWN}
        return fields if self.temperature is None else fields | {"temperature": self.temperature}

    def _post(self, request: ChatRequest) -> dict[str, Any]:
        """Return the arguments of the client's `post`."""
        own = {name: self.options[key] for key, name in _OWN.items() if key in self.options}
        body = {"model": self.model, **self._body(request), **self._fields()}
        without = self.form if hash(request.messages) in self._rejected else ()
        named = {
            self._instead_of.get(name, name): body[name] for name in body if name not in without
        }
        named.pop("", None)
        cast_to = http_library(self.package).Response
        return {"path": self.path, "cast_to": cast_to, "body": named, "options": own}


def _check_address(base_url: str) -> None:
    if not base_url.startswith(("http://", "https://")):
        # Show no address with an @, since any character before it may belong to a password.
        address = "another address" if "@" in base_url else repr(redacted(base_url))
        raise ParameterError(f"must begin with http:// or https://, got {address}", "base_url")
    try:
        parts = urlsplit(base_url)
        _ = parts.port
    except ValueError as error:
        raise ParameterError(f"must be an address, got one with {error}", "base_url") from None
    if parts.query:
        raise ParameterError(
            f"must have no parameters, got {public_url(base_url)}?…: pass them as "
            'options={"extra_query": {…}}',
            "base_url",
        )
