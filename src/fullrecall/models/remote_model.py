"""A model behind an HTTP endpoint, asked through its provider's official client.

The clients of OpenAI and Anthropic are built alike, so that one way serves both: the body of a
request goes through the client's `post`, bounded in time here and in bytes by `transport`, and the
reply is read here.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, ClassVar, Self
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from fullrecall.errors import MissingExtraError, ParameterError
from fullrecall.models.chat import ChatRequest, Completion, Failure
from fullrecall.models.failures import failed
from fullrecall.models.redaction import (
    hide,
    hide_environment,
    hide_url,
    hide_values,
    public_url,
    redacted,
    watch_logs,
)
from fullrecall.models.retries import sound
from fullrecall.models.transport import (
    Portal,
    ReplyError,
    bounded_client,
    closed,
    http_library,
    verification,
    without_headers,
)

_REFUSALS = 2
"""So many requests that were rejected with a schema and answered without one settle it: a single
one may have been rejected for another reason."""

_OWN = {"extra_headers": "headers", "extra_query": "params"}
"""What is no part of the request's body, and what the client's `post` calls it."""

_MOST_VALUES = 100_000
"""Of a reply, those in its text included: to parse more could hold up the event loop."""

_SHOWN = 200
"""Bytes of a reply that is no completion that its reason shows."""

_MOST_REJECTIONS = 1_000
"""Requests of which is remembered that they are to be sent without a schema."""

_NO_KEY = "none"
"""What a server that needs no key gets: clients insist on one."""


@dataclass(repr=False, kw_only=True)
class RemoteModel(ABC):
    """What `OpenAIChatModel` and `AnthropicChatModel` share; each adds what its API looks like."""

    model: str = field(kw_only=False)
    base_url: str | None = None
    api_key: str | None = None
    temperature: float | None = 0.0
    schema: bool = True
    timeout: float = 60.0
    options: dict[str, Any] = field(default_factory=dict)
    _keyed: bool = field(default=False, init=False, compare=False)
    _refusals: float = field(default=0, init=False, compare=False)
    _rejections: set[int] = field(default_factory=set, init=False, compare=False)
    _portal: Portal = field(default_factory=Portal, init=False, compare=False)
    _clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = field(
        default_factory=WeakKeyDictionary, init=False, compare=False
    )

    package: ClassVar[str]
    """The client's package, and the extra that installs it."""

    client: ClassVar[str]
    """The client's class."""

    path: ClassVar[str]
    """Where requests go, from the base URL on."""

    reserved: ClassVar[tuple[str, ...]] = ("model", "messages", "temperature", "stream")
    """Fields of the body that no option may set: parameters say it, or the judge."""

    def __post_init__(self) -> None:
        self._check_options()
        try:
            import_module(self.package)  # clients are made when they are first used
        except ImportError:
            raise MissingExtraError(self.package, self.package, type(self).__name__) from None
        # The client reads these too: what decides who is asked is known here, and no secret shows.
        hide_environment(self.package, os.environ)
        self.base_url = self.base_url or self._environment("BASE_URL") or None
        for line in self._environment("CUSTOM_HEADERS").splitlines():
            name, _, value = line.partition(":")
            hide_values({name: value}, all_of_them=True)
        if self.base_url is not None:
            _check_address(self.base_url)
            hide_url(self.base_url)
        for option in _OWN:
            hide_values(self.options.get(option) or {}, all_of_them=True)
        hide_values(self.options)
        self._keyed = self._keyed or bool(self.api_key)
        if self._keyed and not (self.api_key or self._environment("API_KEY")):
            raise ParameterError(
                f"no API key: {self.package.upper()}_API_KEY must be set where workers run, for "
                "api_key=… is not sent to them"
            )
        if self._key() is None:
            raise ParameterError(
                f"no API key: set {self.package.upper()}_API_KEY, pass api_key=…, or pass the "
                "base_url of a server that needs none"
            )

    @abstractmethod
    def _body(self, request: ChatRequest, *, schema: bool) -> dict[str, Any]:
        """Return the body of a request, with the schema of its answer or without."""

    @abstractmethod
    def _read(self, reply: Any) -> Completion:
        """Return the answer that the JSON of a reply holds.

        Raises `TypeError`, `KeyError`, `IndexError` or `AttributeError` for what holds none.
        """

    @property
    def name(self) -> str:
        """The model and what decides its answers."""
        # Headers decide who asks, not what is answered, and may hold secrets.
        named = sorted(key for key in self.options if not key.startswith("extra_"))
        options = "".join(f",{key}={self.options[key]!r}" for key in named)
        if "extra_body" in self.options:  # decides, and may be long or private: a digest tells
            body = repr(sorted(dict(self.options["extra_body"]).items())).encode()
            options += f",extra_body={hashlib.sha256(body).hexdigest()[:8]}"
        endpoint = f"{self.package}:{self.model}@{self._shown_address},t={self.temperature}"
        return f"{endpoint}{self._decides}{redacted(options)}"

    @property
    def _decides(self) -> str:
        """What else decides the answers, for the name."""
        return ""

    def __repr__(self) -> str:
        address = "" if self.base_url is None else f", base_url={self._shown_address!r}"
        return f"{type(self).__name__}({self.model!r}{address})"

    def complete(self, request: ChatRequest) -> Completion:
        """Return the model's answer; raises what the client raises."""
        return self._portal.call(self.acomplete, request)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return the model's answer without blocking; raises what the client raises."""
        client = await self._client()
        with_schema = self._sends_schema(request)
        try:
            async with asyncio.timeout(self._seconds) as limit:
                reply = await client.post(**self._post(request, schema=with_schema))
        except Exception as error:  # noqa: BLE001 - told or raised by `_failed`
            if limit.expired():
                message = f"timed out: no answer within {self._seconds:g} s ({self._shown_address})"
                raise TimeoutError(message) from None
            return self._failed(request, error, with_schema=with_schema)
        return sound(self._answered(request, reply.content, with_schema=with_schema))

    @property
    def _shown_address(self) -> str:
        return "default" if self.base_url is None else public_url(self.base_url)

    @property
    def _seconds(self) -> float:
        seconds = self.options.get("timeout")
        return seconds if isinstance(seconds, (int, float)) else self.timeout

    def _sends_schema(self, request: ChatRequest) -> bool:
        if not self.schema or self._refusals >= _REFUSALS or request.schema is None:
            return False
        return hash(request.messages) not in self._rejections

    def _failed(self, request: ChatRequest, error: Exception, *, with_schema: bool) -> Completion:
        """Return what a reply that is no answer is, or raise what the client raised."""
        for link in _chain(error):
            if isinstance(link, ReplyError):
                return sound(Completion("", failure=link.failure, detail=str(link)))
        _clean(error)
        package = import_module(self.package)
        if isinstance(error, package.BadRequestError) and with_schema:
            rejected = failed(error)
            if rejected.failure is Failure.INVALID:
                # The schema may be to blame: whoever drives asks again, then without it.
                if len(self._rejections) >= _MOST_REJECTIONS:
                    self._rejections.clear()
                self._rejections.add(hash(request.messages))
                return Completion("", failure=Failure.SCHEMA, detail=rejected.detail)
        if isinstance(error, package.APIConnectionError):
            raise ConnectionError(f"{error} ({self._shown_address})") from error
        raise error

    def _answered(self, request: ChatRequest, content: bytes, *, with_schema: bool) -> Completion:
        """Return the answer, and learn from it whether schemas are refused here."""
        if with_schema:
            self._refusals = float("-inf")  # they are taken
        elif hash(request.messages) in self._rejections:
            self._rejections.discard(hash(request.messages))
            self._refusals += 1
        return self._completion(content)

    def _completion(self, content: bytes) -> Completion:
        """Return the answer that a body holds, whatever type the endpoint says that it has."""
        if sum(map(content.count, (b",", b"[", b"{"))) > _MOST_VALUES:
            detail = f"it has more than {_MOST_VALUES:,} values"
            return Completion("", failure=Failure.TOO_LARGE, detail=detail)
        try:
            reply = json.loads(content)
        except (ValueError, RecursionError) as error:
            detail = f"{type(error).__name__}: {error}"
            return Completion("", failure=Failure.MALFORMED, detail=detail)
        try:
            return self._read(reply)
        except (TypeError, KeyError, IndexError, AttributeError):
            beginning = content[:_SHOWN].decode(errors="replace")
            detail = f"the reply is not a chat completion: {beginning}"
            return Completion("", failure=Failure.MALFORMED, detail=detail)

    def __getstate__(self) -> dict[str, Any]:
        # Connections stay behind: a copy opens its own. So do secrets: they are in the environment
        # of each worker, and in no file or message that holds a pickled model.
        own = {"_portal": None, "_clients": None, "api_key": None, "base_url": self._sent_url()}
        self._check_sent_options()
        return {**self.__dict__, **own}

    def _sent_url(self) -> str | None:
        """Return the address that a worker gets; None where it reads its own."""
        address = self.base_url
        if address is None or address == self._shown_address:
            return address
        if address == self._environment("BASE_URL"):
            return None
        raise ParameterError(
            f"base_url holds secrets, which are not sent to workers: set "
            f"{self.package.upper()}_BASE_URL here and where they run, and pass no base_url"
        )

    def _check_sent_options(self) -> None:
        secret_options = [name for name in _OWN if self.options.get(name)]
        shown_options = repr(self.options)
        if secret_options or redacted(shown_options) != shown_options:
            named = " and ".join(secret_options) or "options"
            raise ParameterError(
                f"{named} may hold secrets, which are not sent to workers: set headers as "
                f"{self.package.upper()}_CUSTOM_HEADERS where they run"
            )

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
        """Close the connections of the sync path; the model can be used again."""
        self._portal.close()

    async def aclose(self) -> None:
        """Close the connections that this event loop opened, as far as they do within a second."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await closed([client.close])

    async def _client(self) -> Any:
        # A connection belongs to the loop that opened it: one client for each loop.
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            verify = await verification(self.package, self.base_url or "https://")
        if loop not in self._clients:
            http_client = bounded_client(self.package)(timeout=None, verify=verify)
            kind = getattr(import_module(self.package), self.client)
            client = kind(http_client=http_client, **self._settings())
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

    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "api_key": self._key(),
            "timeout": None,  # `acomplete` bounds the whole request
            "max_retries": 0,
        }
        if self.base_url is not None:
            parts = urlsplit(self.base_url)
            host = parts.netloc.rpartition("@")[2]
            settings["base_url"] = urlunsplit((parts.scheme, host, parts.path, "", ""))
            settings["default_query"] = dict(parse_qsl(parts.query, keep_blank_values=True))
            if parts.username or parts.password:
                both = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
                encoded = base64.b64encode(both.encode()).decode()
                settings["default_headers"] = {"Authorization": f"Basic {encoded}"}
        return settings

    def _check_options(self) -> None:
        fields = {**self.options, **(self.options.get("extra_body") or {})}
        wrong = next((name for name in self.reserved if name in fields), None)
        if wrong is None:
            return
        way_out = f"pass {wrong}=…" if wrong in self.__dataclass_fields__ else "leave it out"
        raise ParameterError(f"options must not set {wrong}, got {fields[wrong]!r}: {way_out}")

    def _post(self, request: ChatRequest, *, schema: bool) -> dict[str, Any]:
        """Return the arguments of the client's `post`."""
        options = dict(self.options)
        options.pop("timeout", None)  # `acomplete` keeps to it
        own = {name: options.pop(option) for option, name in _OWN.items() if option in options}
        more = options.pop("extra_body", None) or {}
        body = self._body(request, schema=schema) | options | more
        cast_to = http_library(self.package).Response
        return {"path": self.path, "cast_to": cast_to, "body": body, "options": own}


def _check_address(base_url: str) -> None:
    if not base_url.startswith(("http://", "https://")):
        address = redacted(base_url)
        raise ParameterError(f"base_url must begin with http:// or https://, got {address!r}")
    try:
        _ = urlsplit(base_url).port
    except ValueError as error:
        raise ParameterError(f"base_url must be an address, got one with {error}") from None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, its causes, and the parts of groups, each once."""
    pending: list[BaseException | None] = [error]
    visited: set[int] = set()
    while pending:
        link = pending.pop()
        if link is None or id(link) in visited:
            continue
        visited.add(id(link))
        yield link
        pending += [link.__context__, link.__cause__, *getattr(link, "exceptions", ())]


def _clean(error: Exception) -> None:
    """Take secrets out of an exception and its causes: words, request, the frames of the client.

    Those frames hold headers, which a traceback with local variables would show.
    """
    for link in _chain(error):
        link.args = tuple(redacted(each) if isinstance(each, str) else each for each in link.args)
        link.__traceback__ = None
        if hasattr(link, "__notes__"):
            link.__notes__ = list(map(redacted, link.__notes__))
        for name in ("message", "body"):
            text = getattr(link, name, None)
            if text is not None:
                setattr(link, name, redacted(text) if isinstance(text, str) else None)
        request = link.__dict__.get("request") or link.__dict__.get("_request")
        if request is not None:
            with suppress(AttributeError):
                link.request = without_headers(request)  # type: ignore[attr-defined]
