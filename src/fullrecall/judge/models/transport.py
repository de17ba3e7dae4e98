"""The layer between a model's client and the network, which limits replies in size and time.

A reply is read up to a limit. It must not be compressed, since its unpacked size would have no
limit. Redirects are not followed, since they would send the question, and perhaps the key, to
another address.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar
from weakref import finalize

from fullrecall.judge.models.chat import Failure

T = TypeVar("T")
Closing: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

MOST_BYTES = 2 << 20
"""The most bytes of a reply: enough for 200,000 escaped characters of text, and for thoughts."""

MOST_ERROR_BYTES = 8 << 10
"""The most bytes of an error reply; more would add no information."""

_FRAMING = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})
"""Headers that describe the transfer of a body, and are wrong for the part that was read."""

_CLOSING_SECONDS = 1.0
"""The seconds that connections may take to close."""

_FIRST_ERROR = 300
"""The lowest HTTP status that is not an answer."""


class ReplyError(Exception):
    """A reply was not read to its end; `failure` is the reason."""

    def __init__(self, failure: Failure, problem: str) -> None:
        super().__init__(problem)
        self.failure = failure


@cache
def http_library(package: str) -> Any:
    """Return the HTTP library on which a provider's client is built."""
    base = import_module(package).DefaultAsyncHttpxClient.__mro__[1]
    return import_module(base.__module__.partition(".")[0])


@cache
def bounded_client(package: str) -> Any:
    """Return a subclass of a provider's HTTP client that limits its replies."""
    base_client: Any = import_module(package).DefaultAsyncHttpxClient
    library = http_library(package)

    class BoundedClient(base_client):  # type: ignore[misc]
        """Follows no redirects, and reads at most `MOST_BYTES` of a reply."""

        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:  # noqa: ARG002
            """Send a request; return its response with the part of its body that was read."""
            options["follow_redirects"] = False
            request.headers["Accept-Encoding"] = "identity"
            # Stream the reply; otherwise the client would read without a limit.
            response = await super().send(request, stream=True, **options)
            try:
                content = await _content(response)
            finally:
                await response.aclose()
            headers = [pair for pair in response.headers.raw if pair[0].lower() not in _FRAMING]
            return library.Response(
                response.status_code, headers=headers, content=content, request=request
            )

    return BoundedClient


async def _content(response: Any) -> bytes:
    """Return the body of a reply, or the beginning of an error's body."""
    is_error = response.status_code >= _FIRST_ERROR
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        if is_error:
            return b""  # the status of an error is enough
        raise ReplyError(Failure.MALFORMED, f"its encoding was not asked for: {encoding}")
    most = MOST_ERROR_BYTES if is_error else MOST_BYTES
    content = bytearray()
    async for piece in response.aiter_raw():
        content += piece
        if len(content) > most:
            if is_error:
                return bytes(content[:most])
            raise ReplyError(Failure.TOO_LARGE, f"it has more than {most:,} bytes")
    return bytes(content)


class Portal:
    """An event loop in its own thread, so that calls from sync code have a time limit.

    A coroutine can be cancelled from outside, but a blocking call cannot. The functions in
    `closing` are called in the loop before it ends. After a fork, which ends all threads, a new
    loop is created.
    """

    def __init__(self) -> None:
        self.closing: list[Closing] = []
        self._lock = threading.Lock()
        self._pid = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ending: finalize[..., Portal] | None = None

    def call(self, function: Callable[..., Coroutine[Any, Any, T]], *arguments: object) -> T:
        """Run an async function to its end while this thread waits for it.

        Ctrl-C may raise before any line, so this method takes no lock that could stay locked.
        """
        # Use a SimpleQueue, which is written in C: Ctrl-C can leave the lock of a Future locked.
        ends: SimpleQueue[asyncio.Task[T]] = SimpleQueue()
        tasks = self.begin(partial(function, *arguments), ends.put)
        try:
            return ends.get().result()
        except BaseException:
            # The result is no longer needed.
            self.soon(lambda: [task.cancel() for task in tasks])
            raise

    def begin(
        self,
        function: Callable[[], Coroutine[Any, Any, T]],
        tell: Callable[[asyncio.Task[T]], object],
    ) -> Sequence[asyncio.Task[T]]:
        """Start an async function in the loop; when it ends, call `tell` with its task.

        The returned list is empty until the loop has created the task.
        """
        loop = self._running()
        tasks: list[asyncio.Task[T]] = []

        def start() -> None:
            tasks.append(loop.create_task(function()))
            tasks[0].add_done_callback(tell)

        loop.call_soon_threadsafe(start)
        return tasks

    def soon(self, function: Callable[[], object]) -> None:
        """Call a function in the loop, if one is running.

        Takes no lock, so that signal handlers may call it.
        """
        if (loop := self._loop) is not None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(function)

    def is_here(self) -> bool:
        """Return whether the caller runs in the portal's own loop."""
        return threading.current_thread() is self._thread

    def close(self, patience: float | None = None) -> None:
        """End the loop and its thread, waiting up to `patience` seconds.

        The next call creates new ones.
        """
        with self._lock:
            ending, thread = self._ending, self._thread
            self._loop = self._thread = self._ending = None
        if ending is not None:
            ending()
        if thread is not None and thread is not threading.current_thread():
            thread.join(patience)

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is not None and self._pid == os.getpid():
            return self._loop
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(loop,), name="fullrecall-portal", daemon=True
                )
                self._thread.start()
                self._pid, self._loop, self.closing = os.getpid(), loop, []
                self._ending = finalize(self, _end, self._loop, self.closing, self._pid)
                # Do not call `_end` at exit: the loop's daemon thread no longer runs then, so it
                # would close nothing.
                self._ending.atexit = False
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, then cancel its tasks."""
    # A Runner cancels tasks and closes generators; `loop.close` does neither.
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.get_loop().run_forever()


def _end(loop: asyncio.AbstractEventLoop, closing: Sequence[Closing], pid: int) -> None:
    """Tell a portal's loop to end; do not wait, since the garbage collector may call this."""

    async def end() -> None:
        await closed(closing)
        loop.stop()

    tasks = []  # a loop holds only weak references to its tasks
    if pid == os.getpid():
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(lambda: tasks.append(loop.create_task(end())))


async def closed(closing: Iterable[Closing]) -> None:
    """Close connections concurrently; after a second, abandon those that are still open."""
    with suppress(Exception):
        async with asyncio.timeout(_CLOSING_SECONDS):
            await asyncio.gather(*(close() for close in closing), return_exceptions=True)
            await asyncio.sleep(0)  # transports close in the loop's next iteration
