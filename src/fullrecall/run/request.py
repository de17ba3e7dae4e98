"""Send requests to models, within limits and a budget; reuse the answers in the ledger."""

from __future__ import annotations

import asyncio
import hashlib
import json
import warnings
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from weakref import WeakValueDictionary

from fullrecall.judge.flow import NotAsked, counted
from fullrecall.judge.judge import Ask
from fullrecall.judge.models import redaction  # noqa: F401 - a later import blocks the loop
from fullrecall.judge.models.chat import ChatModel, Completion, Failure
from fullrecall.judge.models.failures import failed
from fullrecall.judge.models.retries import sound
from fullrecall.judge.models.transport import closed
from fullrecall.run.account import Account
from fullrecall.run.endpoint import Endpoint
from fullrecall.run.ledger import Ledger
from fullrecall.run.work import Run
from fullrecall.scorers.scorer import LATE

_POLL_SECONDS = (0.02, 0.5)
"""The first and the longest pause, in seconds, between two checks of another run's request."""

_MOST_ANSWERS = 10_000
"""The most replies that a run keeps in memory, besides its store; they take about 20 MB."""


@dataclass(slots=True)
class _Request:
    """The state of one `Ask` until its completion is returned."""

    ask: Ask
    endpoint: Endpoint
    key: str
    failed_before: bool = False
    """Whether the request failed for good earlier, while other requests were answered."""
    sent: int = 0
    is_pardoned: bool = False
    """Whether the request was sent once more after a final failure."""
    lease: str = ""
    written: Future[str] | None = None
    """A future of the answer that is kept (the first one), done when it has been written."""


@dataclass(slots=True, weakref_slot=True)
class _EqualAsks:
    """The state of equal requests: the first one is sent, and its completion answers all."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    completion: Completion | None = None


class Door:
    """Sends the requests of one run, in one event loop."""

    def __init__(self, run: Run, ledger: Ledger | None) -> None:
        self.stopped: str | None = None
        """Why the run is over: a model does not answer. None while all models answer."""
        self._run = run
        self._retries = run.limits.retrying()
        self._ledger = ledger
        self._is_warned = ledger is not None and bool(ledger.problem)
        self._account = Account(run, ledger)
        self._equal_asks: WeakValueDictionary[str, _EqualAsks] = WeakValueDictionary()
        self._replies: dict[str, Completion] = {}
        self._failed: set[str] = set()
        self._in_all = asyncio.Semaphore(run.limits.in_flight)
        self._endpoints: dict[str, Endpoint] = {}
        # Keep the models: the `id` of a deleted object may become that of another model.
        self._models: dict[int, tuple[ChatModel, Endpoint]] = {}

    async def answer(self, ask: Ask) -> Completion:
        """Return the completion of a request; it has a `failure` if the request failed for good.

        Raises `NotAsked` if the run sends no more requests, and at the run's deadline.
        """
        endpoint = self._endpoint(ask.model)
        request = _Request(ask, endpoint, completion_key(ask, endpoint.name))
        try:
            async with asyncio.timeout(self._run.seconds_left()) as limit:
                if ask.known is not None and self._looked_up(request) is None:
                    self._keep(request, ask.known)
                    self._account.spent.reused += 1
                    return await self._written(request, ask.known)
                equal = self._equal_asks.setdefault(request.key, _EqualAsks())
                async with equal.lock:
                    kept = equal.completion or self._looked_up(request)
                    self._account.spent.reused += kept is not None
                    equal.completion = kept or await self._paid(request)
                return equal.completion
        except NotAsked as why:
            why.requests = request.sent
            raise
        except TimeoutError:
            if not limit.expired():
                raise
            raise NotAsked(LATE, request.sent) from None

    async def close(self, *, connections: bool) -> None:
        """Close the connections that models opened in this event loop, if `connections` is true."""
        if connections:
            closing = (getattr(model, "aclose", None) for model, _ in self._models.values())
            await closed(close for close in closing if close is not None)

    async def _paid(self, request: _Request) -> Completion:
        """Return the answer that another run received meanwhile, or else the model's."""
        endpoint = request.endpoint
        began = await endpoint.enter()
        try:
            elsewhere = await self._leased(request)
            if elsewhere is not None:
                return elsewhere
            while True:
                completion = await self._sent(request)
                wait = self._pause(request, completion)
                if wait is None:
                    break
                await asyncio.sleep(wait)
            self._tell(request, completion, began)
        finally:
            if self._ledger is not None and request.lease:
                self._ledger.forget(request.key, request.lease)
            endpoint.leave()
            self.stopped = self.stopped or endpoint.stopped
        return await self._written(request, completion)

    async def _sent(self, request: _Request) -> Completion:
        """Send a request once, within the endpoint's limit and the budget; return its reply."""
        ask, account, endpoint = request.ask, self._account, request.endpoint
        reply = None
        entered = await endpoint.acquire()
        try:
            hold = await account.hold(ask, is_repeated=request.sent > 0)
            request.sent += 1
            try:
                reply = await self._reply(ask)
                account.spent.note(getattr(ask.model, "adjustments", ()))
                completion = counted(reply, request.sent)
                # No `await` after the reply: a canceled run keeps the replies that it has paid for.
                self._keep(request, completion)
            finally:
                await account.settle(ask, hold, reply, is_repeated=request.sent > 1)
        finally:
            endpoint.release(reply, entered)
        return completion

    def _pause(self, request: _Request, completion: Completion) -> float | None:
        """Return the seconds until a request is sent again; None if it is not sent again."""
        failure = completion.failure
        if failure is None or not failure.is_final:
            return None  # an answer, or a failed reply after which the judge asks again
        wait = self._retries.wait(request.sent, completion)
        if wait is not None or failure.is_passing:
            return wait
        # Send a request once more after a final failure or a refusal, which may be a mistake.
        once_more = request.sent <= self._retries.most and not request.is_pardoned
        if not once_more or request.failed_before:
            return None
        request.is_pardoned = True
        return self._retries.first_wait

    async def _reply(self, ask: Ask) -> Completion:
        """Send one request; convert any exception of its client to a failed completion."""
        timeout = self._run.limits.timeout
        try:
            async with asyncio.timeout(timeout) as limit:
                return sound(await ask.model.acomplete(ask.request))
        except TimeoutError as error:
            if not limit.expired():
                return failed(error)
            detail = f"no answer within {timeout:g} s; timeout=… allows more"
            return Completion("", failure=Failure.TIMEOUT, detail=detail)
        except Exception as error:  # noqa: BLE001 - whatever a client raises is a failed request
            return failed(error)

    def _tell(self, request: _Request, completion: Completion, began: float) -> None:
        """Tell the endpoint of a request if the request failed for good.

        Does nothing if the same request failed before, while the model answered other requests. A
        run that has only such requests left must not end as if the model did not answer.
        """
        failure = completion.failure
        if failure is None or failure.is_reply or request.failed_before:
            return
        request.endpoint.fails(completion, began, lambda: self._remember_failure(request.key))

    def _remember_failure(self, key: str) -> None:
        self._failed.add(key)
        if self._ledger is not None:
            self._ledger.put(f"failed:{key}", "1")

    def _endpoint(self, model: ChatModel) -> Endpoint:
        if id(model) not in self._models:
            endpoint = Endpoint(model.name, self._run.limits, self._in_all)
            self._models[id(model)] = model, self._endpoints.setdefault(endpoint.name, endpoint)
        return self._models[id(model)][1]

    # --- the ledger

    def _looked_up(self, request: _Request) -> Completion | None:
        """Return the stored answer, else this run's reply, else None; set `failed_before`."""
        request.failed_before = request.key in self._failed
        if self._ledger is not None:
            kept = self._ledger.get(request.key)
            if kept is not None:
                return completion_of(kept)
            request.failed_before |= self._ledger.get(f"failed:{request.key}") is not None
        return self._replies.get(request.key)

    async def _leased(self, request: _Request) -> Completion | None:
        """Wait until this run has the lease of a request, or another run has answered it.

        Returns the answer of the other run; None if this run must send the request.
        """
        ledger, pause = self._ledger, _POLL_SECONDS[0]
        while ledger is not None and not ledger.problem:
            request.lease, granted = ledger.lease(request.key)
            if await asyncio.wrap_future(granted):
                break
            kept = self._looked_up(request)
            if kept is not None:
                self._account.spent.reused += 1
                return kept
            await asyncio.sleep(pause)
            pause = min(2 * pause, _POLL_SECONDS[1])
        self._warn_once()
        return None

    def _keep(self, request: _Request, completion: Completion) -> None:
        """Keep a model's reply for this run; if it has any part of an answer, also in the store."""
        if completion.failure is None or completion.failure.is_reply:
            # Keep even a useless reply, so that this run does not request it again. A failed
            # connection is not kept, since it may recover.
            self._replies[request.key] = completion
            if len(self._replies) > _MOST_ANSWERS:
                # Delete the oldest reply: a dict keeps the order of its keys.
                del self._replies[next(iter(self._replies))]
        # Never store a completion that has no part of an answer.
        accepts = request.ask.accepts
        is_answer = accepts(completion) if accepts else completion.failure is None
        if self._ledger is not None and is_answer:
            lease, request.lease = request.lease, ""  # the lease ends when the answer is written
            request.written = self._ledger.put(request.key, text_of(completion), lease)

    async def _written(self, request: _Request, completion: Completion) -> Completion:
        """Return a completion once it is stored, or the one that another run stored first."""
        if request.written is None:
            return completion
        first = await asyncio.wrap_future(request.written)
        self._warn_once()
        return completion_of(first)

    def _warn_once(self) -> None:
        """Warn, once, that the store is lost."""
        if self._ledger is not None and self._ledger.problem and not self._is_warned:
            self._is_warned = True
            warnings.warn(self._ledger.problem, UserWarning, stacklevel=2)


def text_of(completion: Completion) -> str:
    """Return a completion as JSON, for `completion_of`."""
    return json.dumps(asdict(completion))


def completion_of(text: str) -> Completion:
    """Return the completion that `text_of` wrote."""
    fields = json.loads(text)
    failure = fields.pop("failure")
    return Completion(**fields, failure=None if failure is None else Failure(failure))


def completion_key(ask: Ask, model: str = "") -> str:
    """Return the key of a completion: a hash of the model's name and parameters, and the request.

    `model` is the name of the model; pass it if it is known, since a name takes long to compute.
    """
    request = ask.request
    # Hash messages as they are, which is faster than as JSON. Hash their lengths too, so that two
    # ways to split a text into messages have different keys.
    lengths = [(message.role, len(message.content)) for message in request.messages]
    settings = (lengths, request.schema, request.schema_name, request.sample, request.again)
    parts = ("completion", model or ask.model.name, *settings)
    # Use ASCII, so that a lone surrogate, which JSON allows, has a digest too.
    digest = hashlib.sha256(_ENCODED(parts).encode("ascii"))
    for message in request.messages:
        digest.update(message.content.encode("utf-8", "surrogatepass"))
    return f"answer:{digest.hexdigest()}"


_ENCODED = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=dict).encode
