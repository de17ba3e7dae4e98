"""Asking nobody twice: what wraps an `Answer` so that completions and results are kept."""

from __future__ import annotations

import asyncio
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fullrecall.errors import ParameterError, StoreError
from fullrecall.evaluation.keys import completion_key, result_key
from fullrecall.evaluation.spending import Spending
from fullrecall.evaluation.store import Store
from fullrecall.judges.flow import Answer
from fullrecall.judges.protocols import Ask, Completion
from fullrecall.result import Result, Status
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import Scorer

_MOST_CHARACTERS = 64_000_000
"""Of the completions that a run without a store remembers: its memory stays flat."""


@contextmanager
def open_keeper(
    store: Store | str | Path | None, spending: Spending | None = None
) -> Iterator[Keeper]:
    """Yield what keeps a run's completions and results, and counts in `spending` what it reuses.

    None keeps completions in memory, for this run. A path is opened and closed again, a `Store`
    stays open. Raises `StoreError` for a file that is no store, and `ParameterError` for what is
    neither.
    """
    if isinstance(store, Store):
        yield Keeper(store, spending)
    elif isinstance(store, (str, Path)):
        with Store(store) as opened:
            yield Keeper(opened, spending)
    elif store is None:
        yield Keeper(None, spending)
    else:
        raise ParameterError(f"store is a path, a Store or None, got {store!r}")


class Keeper:
    """Keeps what one run is answered, and answers from what was kept."""

    def __init__(self, store: Store | None = None, spending: Spending | None = None) -> None:
        self._spending = spending or Spending()
        self._store = store
        self._memory = _Memory()
        self._sent: dict[bytes, asyncio.Future[Completion]] = {}
        self._keys: dict[int, bytes] = {}  # of the asks on their way, by identity
        self._warned = False
        if store is not None:
            if store.is_closed:
                raise StoreError(f"the store {store.path} is closed: open it anew")
            self._warn()

    @property
    def problem(self) -> str:
        """Why the store keeps nothing any more; empty while all is well, and without a store."""
        return "" if self._store is None else self._store.problem

    def reading(self, answer: Answer) -> Answer:
        """Return `answer`, asked only for what is not kept; equal asks share one answer."""

        async def read(ask: Ask) -> Completion:
            key = completion_key(ask)
            kept = self._kept(key)
            if ask.known is not None:
                self._spending.reused += 1
                return kept or await self._keep(key, ask, ask.known)
            while kept is None and key in self._sent:
                sent = self._sent[key]
                await asyncio.wait([sent])
                if not sent.cancelled():  # else whoever waited for it is gone: it is our turn
                    kept = sent.result()
            if kept is not None:
                self._spending.reused += 1
                return kept
            return await self._send(key, ask, answer)

        return read

    def keeping(self, answer: Answer) -> Answer:
        """Return `answer`, with what it gives kept before it is returned."""

        async def kept(ask: Ask) -> Completion:
            completion = await answer(ask)
            if not _is_answer(ask, completion):
                return completion
            key = self._keys.get(id(ask)) or completion_key(ask)
            return await self._keep(key, ask, completion)

        return kept

    def result(self, scorer: Scorer, sample: Sample) -> Result | None:
        """Return a sample's result that a run finished before; None where there is none."""
        if self._store is None:
            return None
        key = result_key(scorer, sample)
        result = None if key is None else self._store.result(key, scorer.method)
        self._spending.results_reused += result is not None
        return result

    async def keep_result(self, scorer: Scorer, sample: Sample, result: Result) -> None:
        """Keep a finished result; one that is unscored, or rests on less than all, is none."""
        if self._store is None or result.status is Status.UNSCORED or result.unmeasured:
            return
        key = result_key(scorer, sample)
        if key is not None:
            await asyncio.wrap_future(self._store.keep_result(key, result))
            self._warn()

    async def _send(self, key: bytes, ask: Ask, answer: Answer) -> Completion:
        sent = asyncio.get_running_loop().create_future()
        self._sent[key] = sent
        self._keys[id(ask)] = key
        try:
            completion = await answer(ask)
        except asyncio.CancelledError:
            sent.cancel()
            raise
        except Exception as error:
            sent.set_exception(error)
            sent.exception()  # whoever shares it raises it; nobody may
            raise
        else:
            sent.set_result(completion)
            return completion
        finally:
            del self._sent[key], self._keys[id(ask)]

    def _kept(self, key: bytes) -> Completion | None:
        kept = self._memory.get(key)
        if kept is None and self._store is not None:
            kept = self._store.completion(key)
        return kept

    async def _keep(self, key: bytes, ask: Ask, completion: Completion) -> Completion:
        """Return the completion to go by: another process may have kept its own before."""
        if self._store is not None and not self._store.problem:
            await asyncio.wrap_future(self._store.keep_completion(key, ask.model.name, completion))
            self._warn()
            kept = self._store.completion(key)
            if kept is not None:
                return kept
        self._memory.keep(key, completion)
        return completion

    def _warn(self) -> None:
        if self.problem and not self._warned:
            self._warned = True
            warnings.warn(self.problem, UserWarning, stacklevel=2)


class _Memory:
    """The last completions, as many as fit."""

    def __init__(self) -> None:
        self._completions: OrderedDict[bytes, Completion] = OrderedDict()
        self._characters = 0

    def get(self, key: bytes) -> Completion | None:
        completion = self._completions.get(key)
        if completion is not None:
            self._completions.move_to_end(key)
        return completion

    def keep(self, key: bytes, completion: Completion) -> None:
        if key in self._completions:
            return
        self._completions[key] = completion
        self._characters += len(completion.text)
        while self._characters > _MOST_CHARACTERS and len(self._completions) > 1:
            _, dropped = self._completions.popitem(last=False)
            self._characters -= len(dropped.text)


def _is_answer(ask: Ask, completion: Completion) -> bool:
    """Whether a completion holds something of an answer: no other is ever kept."""
    if ask.accepts is None:
        return completion.failure is None
    return ask.accepts(completion)
