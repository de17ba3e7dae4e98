"""What is between a model's client and the network: the least of a reply that is enough, in time.

A reply is read up to a bound, counted after it was decompressed. A redirect is not followed: it
would carry the question, and maybe the key, to whoever it names.
"""

from __future__ import annotations

import asyncio
import os
import threading
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias, TypeVar
from urllib.request import getproxies
from weakref import finalize

from anyio.from_thread import BlockingPortal, start_blocking_portal

from fullrecall.models.chat import Failure
from fullrecall.models.redaction import public_url, redacted

T = TypeVar("T")
Closing: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

MOST_BYTES = 2 << 20
"""Of a reply: its text may have 200,000 characters, escaped and beside the model's thoughts."""

MOST_ERROR_BYTES = 8 << 10
"""Of a reply that is an error: more says no more."""

_PIECE = 64 << 10
"""Bytes that are decompressed at a time."""

_ENCODINGS = "gzip, deflate"

_FRAMING = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})
"""Headers that say how a body was sent: of the one that was read they are no longer true."""

_READING = threading.Lock()

_CLOSING_SECONDS = 1.0
"""How long connections may take to close."""

_FIRST_ERROR = 300
"""The first HTTP status that is no answer."""


class ReplyError(Exception):
    """A reply that is not read to its end, and which failure that is."""

    def __init__(self, failure: Failure, problem: str) -> None:
        super().__init__(problem)
        self.failure = failure


@cache
def http_library(package: str) -> Any:
    """Return the HTTP library that a provider's client is built on."""
    base = import_module(package).DefaultAsyncHttpxClient.__mro__[1]
    return import_module(base.__module__.partition(".")[0])


@cache
def bounded_client(package: str) -> Any:
    """Return the class of a provider's HTTP client, with its replies bounded."""
    base_client: Any = import_module(package).DefaultAsyncHttpxClient
    library = http_library(package)

    class BoundedClient(base_client):  # type: ignore[misc]
        """Follows no redirect, and reads no more of a reply than `MOST_BYTES`."""

        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:  # noqa: ARG002
            """Send a request; return its response, read as far as it is."""
            options["follow_redirects"] = False
            request.headers["Accept-Encoding"] = _ENCODINGS
            response = await super().send(request, stream=True, **options)
            try:
                content = await _content(response)
            finally:
                await response.aclose()
            headers = [pair for pair in response.headers.raw if pair[0].lower() not in _FRAMING]
            if response.status_code >= _FIRST_ERROR:  # an exception will hold all of it
                headers = [(name, _redacted_bytes(value)) for name, value in headers]
                content = redacted(content.decode(errors="replace"), is_cut=True).encode()
                request = without_headers(request)
            return library.Response(
                response.status_code, headers=headers, content=content, request=request
            )

    return BoundedClient


def _redacted_bytes(value: bytes) -> bytes:
    """Return a header's value without secrets; its bytes may be no text at all."""
    return redacted(value.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def without_headers(request: Any) -> Any:
    """Return a request as it may be shown: its method, and its address without secrets."""
    return type(request)(request.method, public_url(str(request.url)))


async def _content(response: Any) -> bytes:
    """Return the body of a reply, decompressed; of an error no more than its beginning."""
    is_error = response.status_code >= _FIRST_ERROR
    most = MOST_ERROR_BYTES if is_error else MOST_BYTES
    content = bytearray()
    async for piece in _decompressed(response):
        content += piece
        if len(content) > most:
            if is_error:
                return bytes(content[:most])
            raise ReplyError(Failure.TOO_LARGE, f"it has more than {most:,} bytes")
    return bytes(content)


async def _decompressed(response: Any) -> AsyncIterator[bytes]:
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("", "identity"):
        async for raw in response.aiter_raw():
            yield raw
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        problem = f"its content encoding {redacted(encoding)[:40]!r} was not asked for"
        raise ReplyError(Failure.MALFORMED, problem)
    decoder = None
    try:
        async for raw in response.aiter_raw():
            rest = raw
            while rest:
                decoder = decoder or zlib.decompressobj(_window(encoding, rest))
                yield decoder.decompress(rest, _PIECE)
                rest = decoder.unconsumed_tail
                if decoder.eof:  # gzip may have several members
                    rest, decoder = decoder.unused_data, None
        if decoder is not None:
            yield decoder.flush()
    except zlib.error as error:
        raise ReplyError(Failure.MALFORMED, f"it cannot be decompressed: {error}") from None


def _window(encoding: str, content: bytes) -> int:
    """Return what tells zlib the format: deflate comes with its header, and often without."""
    if encoding != "deflate":
        return 16 + zlib.MAX_WBITS
    return zlib.MAX_WBITS if content[0] & 0x0F == 0x08 else -zlib.MAX_WBITS  # noqa: PLR2004


@cache
def _certificates(package: str) -> Any:
    """Return the TLS settings of this process: reading its certificates takes 0.1 s."""
    with _READING:
        return http_library(package).create_ssl_context()


async def verification(package: str, address: str) -> Any:
    """Return how a client of this address verifies whom it talks to; read away from the loop."""
    if address.startswith("http://") and not getproxies():
        return False  # there is nothing to verify
    return await asyncio.to_thread(_certificates, package)


class Portal:
    """An event loop in a thread of its own, for callers without one: what they call ends in time.

    A blocking call cannot be given up from outside, a coroutine can. `closing` are called in the
    loop before it ends. The loop is made anew after a fork, which no thread survives.
    """

    def __init__(self) -> None:
        self.closing: list[Closing] = []
        self._lock = threading.Lock()
        self._pid = self._thread = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: finalize[..., Portal] | None = None

    def call(self, function: Callable[..., Coroutine[Any, Any, T]], *arguments: object) -> T:
        """Run an async function to its end while this thread waits for it."""
        future = self.start(function, *arguments)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C: nobody waits for it any more
            raise

    def start(
        self, function: Callable[..., Coroutine[Any, Any, T]], *arguments: object
    ) -> Future[T]:
        """Start an async function."""
        loop = self._running()
        return asyncio.run_coroutine_threadsafe(function(*arguments), loop)

    def soon(self, function: Callable[[], object]) -> None:
        """Call a function in the loop, if one runs; without a lock, for signal handlers do it."""
        if (loop := self._loop) is not None:
            with suppress(RuntimeError):  # it has ended
                loop.call_soon_threadsafe(function)

    def is_here(self) -> bool:
        """Whether this is called in the portal's own loop."""
        return self._loop is not None and threading.get_ident() == self._thread

    def close(self, patience: float | None = None) -> None:
        """End the loop and its thread, waiting so many seconds; the next call begins others."""
        with self._lock:
            ending, self._loop, self._ending = self._ending, None, None
        if ending is not None and (ended := ending()) is not None and not self.is_here():
            ended.join(patience)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                context = start_blocking_portal(name="fullrecall-portal")
                self._pid, portal, self.closing = os.getpid(), context.__enter__(), []
                self._loop = portal.call(_running_loop)
                self._thread = portal.call(threading.get_ident)
                self._ending = finalize(self, _ended, context, portal, self.closing, self._pid)
                self._ending.atexit = False
            return self._loop


async def _running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def _ended(
    context: AbstractContextManager[BlockingPortal],
    portal: BlockingPortal,
    closing: Sequence[Closing],
    pid: int,
) -> threading.Thread | None:
    """End a portal, beside whoever is at it: a collection of garbage waits for nobody."""

    def end() -> None:
        with suppress(RuntimeError):  # it has ended
            portal.call(closed, closing)
            portal.call(portal.stop, True)  # noqa: FBT003 - what is under way is cancelled
        context.__exit__(None, None, None)

    if pid != os.getpid():
        return None
    thread = threading.Thread(target=end, daemon=True)
    thread.start()
    return thread


async def closed(closing: Iterable[Closing]) -> None:
    """Close connections side by side, as far as they do within a second: the rest end anyway."""
    with suppress(Exception):
        async with asyncio.timeout(_CLOSING_SECONDS):
            await asyncio.gather(*(close() for close in closing), return_exceptions=True)
            await asyncio.sleep(0)  # a transport ends in the loop's next turn
