"""How a run gets its completions: from what is kept, or from the model, within all its limits.

Each layer is an `Answer` around another one: what is stored is looked up first; then retries
around the endpoint's limits around what keeps and pays for a completion, around the model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fullrecall.evaluation.budget import Account
from fullrecall.evaluation.endpoints import Endpoint
from fullrecall.evaluation.keeping import Keeper
from fullrecall.evaluation.spending import Spending
from fullrecall.judges.flow import Answer, NotAsked
from fullrecall.judges.protocols import Ask, ChatModel, Completion, Failure
from fullrecall.judges.retrying import Attempt, Retries


class Asking:
    """The way from an ask to a completion, for one run in one event loop."""

    def __init__(
        self,
        *,
        max_concurrency: int,
        timeout: float | None,
        retries: Retries,
        spending: Spending,
        keeper: Keeper,
        account: Account,
        seconds_left: Callable[[], float | None],
    ) -> None:
        self._most = max_concurrency
        self._timeout = timeout
        self._retries = retries
        self._spending = spending
        self._seconds_left = seconds_left
        self._in_all = asyncio.Semaphore(max_concurrency)
        self._endpoints: dict[str, Endpoint] = {}
        self._models: dict[int, ChatModel] = {}
        self._read = keeper.reading(self._asked)
        self._send = keeper.keeping(account.paying(self._timed(self._model)))

    @property
    def stopped(self) -> str | None:
        """Why the run is over: a model that does not answer; None while all do."""
        return next((end.stopped for end in self._endpoints.values() if end.stopped), None)

    async def answer(self, ask: Ask) -> Completion:
        """Return the completion of an ask, or the one that says why there is none.

        Raises `NotAsked` where the run sends no more.
        """
        left = self._seconds_left()
        if left is None:
            return await self._read(ask)
        try:
            async with asyncio.timeout(left) as limit:
                return await self._read(ask)
        except TimeoutError:
            if limit.expired():
                raise NotAsked("the run's deadline passed before it was judged") from None
            raise

    async def close(self) -> None:
        """Close the connections that the models opened in this event loop."""
        for model in self._models.values():
            close = getattr(model, "aclose", None)
            if close is not None:
                await close()

    async def _asked(self, ask: Ask) -> Completion:
        endpoint = self._endpoint(ask.model)
        sent = 0

        async def once() -> Attempt:
            nonlocal sent
            sent += 1
            return await self._once(ask, endpoint, again=sent > 1)

        async with endpoint.asking() as began:
            last = await self._retries.atried(once)
            if (
                last.trouble is not None
                and not last.trouble.passing
                and sent <= self._retries.most
                and await endpoint.answers_others(last.trouble)
            ):
                # Whoever answers others may have turned this one away by mistake.
                await asyncio.sleep(self._retries.first_wait)
                last = await once()
            if last.trouble is not None and not last.trouble.failure.is_reply:
                hopeless = self._retries.gives_up(last.trouble)
                endpoint.fails(last.trouble, began, hopeless=hopeless)
        return last.completion

    async def _once(self, ask: Ask, endpoint: Endpoint, *, again: bool) -> Attempt:
        async with endpoint.slot() as began:
            self._spending.retries += again
            try:
                attempt = Attempt.of(await self._send(ask))
            except NotAsked:
                raise
            except Exception as error:  # noqa: BLE001 - whatever a client raises is a failed request
                attempt = Attempt.failed(error)
            if attempt.trouble is None or attempt.trouble.failure.is_reply:
                endpoint.answers()
            elif not self._retries.gives_up(attempt.trouble):
                endpoint.is_full(attempt.trouble, began)
        return attempt

    def _timed(self, answer: Answer) -> Answer:
        if self._timeout is None:
            return answer

        async def timed(ask: Ask) -> Completion:
            try:
                async with asyncio.timeout(self._timeout) as limit:
                    return await answer(ask)
            except TimeoutError:
                if not limit.expired():
                    raise
                detail = f"no answer within {self._timeout:g} s; timeout=… allows more"
                return Completion("", failure=Failure.TIMEOUT, detail=detail)

        return timed

    async def _model(self, ask: Ask) -> Completion:
        self._spending.calls += 1
        completion = await ask.model.acomplete(ask.request)
        self._spending.add(completion)
        return completion

    def _endpoint(self, model: ChatModel) -> Endpoint:
        self._models[id(model)] = model
        name = model.name
        if name not in self._endpoints:
            self._endpoints[name] = Endpoint(name, self._most, self._in_all)
        return self._endpoints[name]
