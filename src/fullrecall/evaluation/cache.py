"""What was answered before, and who asks for what was not: one ask is paid once.

Among the tasks of a run, one asks and the others wait for its answer. Among the threads and
processes that share a store, the one that has its lease (`Store.claim`) does.
"""

from __future__ import annotations

import asyncio
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from fullrecall.errors import ParameterError, StoreError
from fullrecall.evaluation.keys import keys_of, result_key
from fullrecall.evaluation.served_store import SCHEMES, ServedStore, Server
from fullrecall.evaluation.store import JobFile, Store
from fullrecall.judges.judge import Ask
from fullrecall.models.chat import Completion
from fullrecall.result import Result, Status
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import Scorer
from fullrecall.usage import Spent

AnyStore: TypeAlias = Store | ServedStore

_MOST_CHARACTERS = 64_000_000
"""Of the completions that a run without a store remembers: its memory stays flat."""

_POLL_SECONDS = (0.02, 0.5)
"""Between two looks at what another process was asked: at first, and at most."""


@contextmanager
def opened(
    store: AnyStore | JobFile | Server | str | Path | None,
) -> Iterator[AnyStore | None]:
    """Yield the store that a run was given: a path or address is opened and closed again.

    An open store is not. Raises `StoreError` for a file that is no store or a server that is not
    there, and `ParameterError` for what is none of these.
    """
    if isinstance(store, str) and store.startswith(SCHEMES):
        store = Server(store)
    if store is None or isinstance(store, (Store, ServedStore)):
        yield store
    elif isinstance(store, JobFile):
        with Store(store.path, job=store.job) as made:
            yield made
    elif isinstance(store, Server):
        with ServedStore(store) as served:
            yield served
    elif isinstance(store, (str, Path)):
        with Store(store) as made:
            yield made
    else:
        raise ParameterError(
            f"store must be a path, a redis:// URL, a Store or None, got {store!r}"
        )


class Cache:
    """What one run is answered, and what was answered before it; lives in one event loop."""

    def __init__(self, store: AnyStore | None, spent: Spent) -> None:
        self.spent = spent
        self.store = store
        self.memory = _Memory()
        self.asked: dict[bytes, asyncio.Future[Completion]] = {}
        self._warned = False
        if store is not None:
            if store.is_closed:
                raise StoreError(f"the store {store.path} is closed: open it again")
            self.warn()

    def turn(self, ask: Ask) -> Turn:
        """Return the turn of an ask: entered, it knows what is kept, or may ask alone."""
        key, *others = keys_of(ask)
        return Turn(self, key, ask, others)

    def result(self, scorer: Scorer, sample: Sample) -> Result | None:
        """Return a sample's result that a run finished before; None where there is none."""
        if self.store is None:
            return None
        key = result_key(scorer, sample)
        result = None if key is None else self.store.result(key, scorer.method)
        self.spent.results_reused += result is not None
        return result

    async def keep_result(self, scorer: Scorer, sample: Sample, result: Result) -> None:
        """Keep a finished result; one that is unscored, or rests on less than all, is none."""
        if self.store is None or result.status is Status.UNSCORED or result.unmeasured:
            return
        key = result_key(scorer, sample)
        if key is not None:
            await asyncio.wrap_future(self.store.keep_result(key, result))
            self.warn()

    def completion(self, key: bytes) -> Completion | None:
        """Return what is kept under a key; None where there is nothing."""
        kept = self.memory.get(key)
        if kept is None and self.store is not None:
            kept = self.store.completion(key)
        return kept

    def warn(self) -> None:
        """Say once why the store keeps nothing any more, where that is so."""
        problem = "" if self.store is None else self.store.problem
        if problem and not self._warned:
            self._warned = True
            warnings.warn(problem, UserWarning, stacklevel=2)


class Turn:
    """One ask on its way: `kept` is its answer where there is one already.

    Where it is None, whoever entered is the only one of this run that asks, and once it is
    `leased` the only one of all; it hands over what it was answered by `keep`, and the others wait.
    """

    def __init__(self, cache: Cache, key: bytes, ask: Ask, others: Sequence[bytes] = ()) -> None:
        self.kept: Completion | None = None
        self._cache = cache
        self._key = key
        self._others = others
        self._ask = ask
        self._told: asyncio.Future[Completion] | None = None
        self._lease: bytes | None = None
        self._write: Future[None] | None = None

    async def __aenter__(self) -> Self:
        cache, key = self._cache, self._key
        self.kept = cache.completion(key)
        while self.kept is None and key in cache.asked and self._ask.known is None:
            asked = cache.asked[key]
            await asyncio.wait([asked])
            if not asked.cancelled():  # else whoever asked was given up: it is our turn
                self.kept = asked.result()
        known = self._known()
        if known is not None:
            if self.kept is not None:
                cache.memory.drop(key)  # what could not be used
            self.keep(known)
            await self.written()
        if self.kept is not None:
            cache.spent.reused += 1
            return self
        self._told = cache.asked[key] = asyncio.get_running_loop().create_future()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self._remember_unusable()
        self._over(error)

    def _known(self) -> Completion | None:
        """Return the answer that is not kept under this key yet, and needs no request."""
        ask, known = self._ask, self._ask.known
        if known is not None:  # by a judge that was answered in another run, or in other words
            mends = self.kept is not None and not _is_answer(ask, self.kept)
            return known if self.kept is None or (mends and _is_answer(ask, known)) else None
        if self.kept is None:
            found = (self._cache.completion(key) for key in self._others)
            return next((one for one in found if one and _is_answer(ask, one)), None)
        return None

    @property
    def failed_before(self) -> bool:
        """Whether a run of this store asked in vain, and others were answered."""
        store = self._cache.store
        return store is not None and store.has_failed(self._key)

    def remember_failure(self) -> None:
        """Have the store tell later runs that this ask fails while others are answered."""
        if self._cache.store is not None:
            self._cache.store.keep_failure(self._key)

    def keep(self, completion: Completion) -> None:
        """Make this the answer; if it holds anything of one, it is written from here on."""
        self.kept = completion
        store = self._cache.store
        if not _is_answer(self._ask, completion):
            return
        if store is None or store.problem:
            self._cache.memory.keep(self._key, completion)
        else:
            lease, self._lease = self._lease, None  # it ends with the write
            self._write = store.keep_completion(self._key, self._ask.model.name, completion, lease)

    async def written(self) -> Completion:
        """Return the answer once it is on the disk, or the one that was kept there before it.

        Raises `RuntimeError` where there is none yet: `keep` comes first.
        """
        if self.kept is None:
            raise RuntimeError("no answer was kept")
        store, write = self._cache.store, self._write
        if store is None or write is None:
            return self.kept
        await asyncio.wrap_future(write)
        self._cache.warn()
        if store.problem:
            self._cache.memory.keep(self._key, self.kept)
        else:
            self.kept = store.completion(self._key) or self.kept
        return self.kept

    async def leased(self) -> Completion | None:
        """Wait until no other run asks the same; return its answer, None where it is our turn."""
        store, pause = self._cache.store, _POLL_SECONDS[0]
        while store is not None and not store.problem:
            self._lease, granted = store.claim(self._key)
            if await asyncio.wrap_future(granted):
                break
            self._lease = None
            self.kept = self._cache.completion(self._key)
            if self.kept is not None:
                self._cache.spent.reused += 1
                return self.kept
            await asyncio.sleep(pause)
            pause = min(2 * pause, _POLL_SECONDS[1])
        self._cache.warn()
        return None

    async def _remember_unusable(self) -> None:
        """Have nobody of this run ask again for a reply that could not be used."""
        asked, kept, cache = self._told is not None, self.kept, self._cache
        if not asked or kept is None or _is_answer(self._ask, kept) or not _is_reply(kept):
            return
        cache.memory.keep(self._key, kept)
        if cache.store is not None:
            await asyncio.wrap_future(cache.store.keep_unusable(self._key, kept))

    def _over(self, error: BaseException | None) -> None:
        """Let those go on who wait for this ask, with the answer or with what ended it."""
        told, self._told = self._told, None
        if self._lease is not None and self._cache.store is not None:
            self._cache.store.release(self._key, self._lease)
            self._lease = None
        if told is None:
            return
        del self._cache.asked[self._key]
        if self.kept is not None:
            told.set_result(self.kept)
        elif isinstance(error, Exception):
            told.set_exception(error)
            told.exception()  # whoever shares it raises it; nobody may
        else:
            told.cancel()


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

    def drop(self, key: bytes) -> None:
        dropped = self._completions.pop(key, None)
        self._characters -= 0 if dropped is None else len(dropped.text)

    def keep(self, key: bytes, completion: Completion) -> None:
        if key in self._completions:
            return
        self._completions[key] = completion
        self._characters += len(completion.text)
        while self._characters > _MOST_CHARACTERS and len(self._completions) > 1:
            _, dropped = self._completions.popitem(last=False)
            self._characters -= len(dropped.text)


def _is_reply(completion: Completion) -> bool:
    """Whether the model itself replied: what the way to it failed with may be mended."""
    return completion.failure is None or completion.failure.is_reply


def _is_answer(ask: Ask, completion: Completion) -> bool:
    """Whether a completion holds something of an answer: no other is ever kept."""
    if ask.accepts is None:
        return completion.failure is None
    return ask.accepts(completion)
