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
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias, TypeVar
from urllib.request import getproxies
from weakref import finalize

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
    made: Any = import_module(package).DefaultAsyncHttpxClient
    library = http_library(package)

    class BoundedClient(made):  # type: ignore[misc]
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
            headers = response.headers.copy()
            for name in ("content-encoding", "content-length", "transfer-encoding"):
                headers.pop(name, None)
            if response.status_code >= _FIRST_ERROR:  # an exception will hold all of it
                headers = {name: redacted(value) for name, value in headers.items()}
                content = redacted(content.decode(errors="replace"), is_cut=True).encode()
                request = without_headers(request)
            return library.Response(
                response.status_code, headers=headers, content=content, request=request
            )

    return BoundedClient


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
        self._pid = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ending: finalize[[asyncio.AbstractEventLoop], Portal] | None = None

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end while this thread waits for it."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._running())
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C: nobody waits for it any more
            raise

    def serves(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether this loop is the portal's own."""
        return loop is self._loop

    def close(self) -> None:
        """End the loop and its thread; the next call begins others."""
        with self._lock:
            loop, self._loop = self._loop, None
            if loop is None or self._pid != os.getpid():
                return
            if self._ending is not None:
                self._ending.detach()
        _end(loop)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                self._pid = os.getpid()
                self._loop = asyncio.new_event_loop()
                self.closing = []
                self._thread = threading.Thread(
                    target=_serve,
                    args=(self._loop, self.closing),
                    name="fullrecall-portal",
                    daemon=True,
                )
                self._ending = finalize(self, _end, self._loop)
                self._ending.atexit = False
                self._thread.start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop, closing: Sequence[Closing]) -> None:
    """Run a loop until it is stopped; give up what is in flight, and close what it opened."""
    try:
        loop.run_forever()
        loop.run_until_complete(_wound_up(closing))
    finally:
        loop.close()


async def _wound_up(closing: Sequence[Closing]) -> None:
    pending = asyncio.all_tasks() - {asyncio.current_task()}
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    await closed(closing)
    await asyncio.get_running_loop().shutdown_asyncgens()


def _end(loop: asyncio.AbstractEventLoop) -> None:
    with suppress(RuntimeError):  # it is closed already
        loop.call_soon_threadsafe(loop.stop)


async def closed(closing: Iterable[Closing]) -> None:
    """Close connections side by side, as far as they do within a second: the rest end anyway."""
    with suppress(Exception):
        async with asyncio.timeout(_CLOSING_SECONDS):
            await asyncio.gather(*(close() for close in closing), return_exceptions=True)
            await asyncio.sleep(0)  # a transport ends in the loop's next turn
