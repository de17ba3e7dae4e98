"""Caches bounded by the size of their values: texts and files may be larger than memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache, update_wrapper
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

OfText: TypeAlias = Callable[Concatenate[str, P], T]
"""A function of a text or a word, and of further arguments."""

_OWN_SIZE = 64
"""The size of an entry, in characters, without its text."""

_LONGEST_WORD = 64
"""The most characters of a word that is cached. Longer ones, such as encoded data, are not kept,
since the cache limits the number of words, not their size.
"""


class Cache:
    """Keeps the most recently used values by key, up to a total size of `most`.

    The newest value is kept even if it alone is larger than `most`. Threads may share a cache: if
    two threads request one key at the same time, both may make its value.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[Cache], tuple[int]]:
        return Cache, (self.most,)  # in another process it starts empty

    def get(self, key: Hashable, make: Callable[[], Any], size: Callable[[Any], int]) -> Any:
        """Return the value of a key; make and keep it if the cache lacks it."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        # Not under the lock: creating a value may take seconds, and other threads need other keys.
        value = make()
        with self._lock:
            if key not in self._kept:
                own_size = size(value)
                while self._kept and self.size + own_size > self.most:
                    self.size -= self._kept.popitem(last=False)[1][1]
                self._kept[key] = value, own_size
                self.size += own_size
        return value


def remembered(characters: int) -> Callable[[OfText[P, T]], OfText[P, T]]:
    """Return a decorator that caches a function's values for the most recently used texts.

    `characters` bounds the total length of the texts. Callers must not change the returned value.
    """

    def decorated(function: OfText[P, T]) -> OfText[P, T]:
        cache = Cache(characters)

        def cached(text: str, /, *args: P.args, **options: P.kwargs) -> T:
            value: T = cache.get(
                (text, args, *sorted(options.items())),
                lambda: function(text, *args, **options),
                lambda _: len(text) + _OWN_SIZE,
            )
            return value

        cached.cache = cache  # type: ignore[attr-defined]
        return update_wrapper(cached, function)

    return decorated


def remembered_words(count: int) -> Callable[[OfText[P, T]], OfText[P, T]]:
    """Return a decorator that caches a function's values for the `count` last used words.

    It is faster than `remembered`; words of more than 64 characters are not kept.
    """

    def decorated(function: OfText[P, T]) -> OfText[P, T]:
        # Use `lru_cache`, which is written in C and takes no Python lock, since the function is
        # called for every word of every text.
        cached: Any = lru_cache(maxsize=count)(function)

        def short_cached(word: str, /, *args: P.args, **options: P.kwargs) -> T:
            value: T = (cached if len(word) <= _LONGEST_WORD else function)(word, *args, **options)
            return value

        return update_wrapper(short_cached, function)

    return decorated
