"""The one way from an ask to a completion: cache, retry, limit, budget, model."""

from __future__ import annotations

import asyncio
import email.utils  # noqa: F401 - loaded here, since where it is used an event loop would wait
from collections.abc import Callable
from itertools import count

from fullrecall.evaluation.budget import Account
from fullrecall.evaluation.cache import Cache, Turn
from fullrecall.evaluation.endpoint import Endpoint
from fullrecall.evaluation.limits import LATE, Limits
from fullrecall.judges.flow import NotAsked, counted
from fullrecall.judges.judge import Ask
from fullrecall.models import redaction  # noqa: F401 - likewise
from fullrecall.models.chat import ChatModel, Completion, Failure
from fullrecall.models.retries import Attempt
from fullrecall.models.transport import closed


class Requests:
    """What one run sends, in one event loop."""

    def __init__(
        self,
        limits: Limits,
        cache: Cache,
        account: Account,
        seconds_left: Callable[[], float | None],
    ) -> None:
        self._limits = limits
        self._retries = limits.retrying()
        self._cache = cache
        self._account = account
        self._seconds_left = seconds_left
        self._in_all = asyncio.Semaphore(limits.max_concurrency)
        self._endpoints: dict[str, Endpoint] = {}
        self._models: dict[int, tuple[ChatModel, Endpoint]] = {}  # held: its number stays its own

    @property
    def stopped(self) -> str | None:
        """Why the run is over: a model that does not answer; None while all do."""
        return next((end.stopped for end in self._endpoints.values() if end.stopped), None)

    async def answer(self, ask: Ask) -> Completion:
        """Return the completion of an ask, or the one that says why there is none.

        Raises `NotAsked` where the run sends no more.
        """
        calls, pardoned = 0, False
        endpoint = self._endpoint(ask.model)
        try:
            async with (
                asyncio.timeout(self._seconds_left()) as limit,
                self._cache.turn(ask) as turn,
            ):
                if turn.kept is not None:
                    return turn.kept
                async with endpoint.asking() as began:
                    if (answered := await turn.leased()) is not None:
                        return answered
                    for sent in count(1):
                        async with (
                            endpoint.slot() as entered,
                            self._account.charged(ask, sent) as charge,
                        ):
                            calls = sent
                            attempt = await self._attempt(ask)
                            turn.keep(counted(ask, attempt, sent))
                            charge.completion = attempt.completion
                            endpoint.hears(attempt, entered, self._retries)
                        await self._account.hears(attempt)
                        wait = self._retries.wait(sent, attempt.trouble)
                        if wait is None and not pardoned:
                            pardoned = await self._is_pardoned(attempt, sent, endpoint, turn)
                            wait = self._retries.first_wait if pardoned else None
                        if wait is None:
                            break
                        await asyncio.sleep(wait)
                    self._tell(endpoint, attempt, began, turn)
                return await turn.written()
        except NotAsked as why:
            why.requests = calls
            raise
        except TimeoutError:
            if not limit.expired():
                raise
            raise NotAsked(LATE, calls) from None

    async def close(self) -> None:
        """Close the connections that the models opened in this event loop, as far as they do."""
        closing = (getattr(model, "aclose", None) for model, _ in self._models.values())
        await closed(close for close in closing if close is not None)

    async def _attempt(self, ask: Ask) -> Attempt:
        """Send one request; whatever its client raises is a failed one."""
        try:
            async with asyncio.timeout(self._limits.timeout) as limit:
                return Attempt.of(await ask.model.acomplete(ask.request))
        except TimeoutError as error:
            if not limit.expired():
                return Attempt.failed(error)
            detail = f"no answer within {self._limits.timeout:g} s; timeout=… allows more"
            return Attempt.of(Completion("", failure=Failure.TIMEOUT, detail=detail))
        except Exception as error:  # noqa: BLE001 - whatever a client raises is a failed request
            return Attempt.failed(error)

    async def _is_pardoned(
        self, attempt: Attempt, sent: int, endpoint: Endpoint, turn: Turn
    ) -> bool:
        """Whether a request that was turned away for good goes once more.

        Whoever answers others may have turned this one away by mistake.
        """
        trouble = attempt.trouble
        if trouble is None or trouble.passing or sent > self._retries.most or turn.failed_before:
            return False
        return await endpoint.answers_others(trouble)

    def _tell(self, endpoint: Endpoint, attempt: Attempt, began: float, turn: Turn) -> None:
        """Tell the endpoint's record of an ask that failed for good.

        One of which a run before knows that it fails while others are answered is no sign: what
        is left for a later run may be nothing else.
        """
        trouble = attempt.trouble
        if trouble is None or trouble.failure.is_reply or turn.failed_before:
            return
        hopeless = self._retries.gives_up(trouble)
        endpoint.fails(trouble, began, hopeless=hopeless, remember=turn.remember_failure)

    def _endpoint(self, model: ChatModel) -> Endpoint:
        if id(model) not in self._models:
            name = model.name
            if name not in self._endpoints:
                self._endpoints[name] = Endpoint(name, self._limits.max_concurrency, self._in_all)
            self._models[id(model)] = model, self._endpoints[name]
        return self._models[id(model)][1]
