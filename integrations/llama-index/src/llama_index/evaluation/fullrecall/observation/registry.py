"""Which objects are attached, found by identity: engines may be unhashable, and equal others."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

from llama_index.evaluation.fullrecall.observation.recording import Recording


class Deliver(NamedTuple):
    """Takes the recording of a call that has ended, and what the call returned.

    `is_part`: the object is a part of the attached one, and counts where it is asked alone.
    """

    take: Callable[[Recording, Any], None]
    is_part: bool = False


class Entry(NamedTuple):
    """What is attached to an object; `is_part` says that all of it is so to a part."""

    object: weakref.ref[Any]
    deliver: tuple[Deliver, ...]
    is_part: bool = True


_lock = Lock()
_attached: dict[int, Entry] = {}


def add(thing: object, deliver: Deliver) -> None:
    """Attach `deliver` to the calls of `thing`, for as long as `thing` is alive."""
    key = id(thing)
    with _lock:
        entry = _attached.get(key)
        if entry is None or entry.object() is not thing:
            entry = Entry(weakref.ref(thing, lambda gone: _forget(key, gone)), ())
        _attached[key] = _with(entry, *entry.deliver, deliver)


def remove(thing: object, deliver: Deliver) -> None:
    """Take `deliver` away again."""
    with _lock:
        entry = _attached.get(id(thing))
        if entry is None or entry.object() is not thing:
            return
        left = tuple(other for other in entry.deliver if other != deliver)
        if left:
            _attached[id(thing)] = _with(entry, *left)
        else:
            del _attached[id(thing)]


def attached(thing: object) -> Entry | None:
    """Return what is attached to the calls of `thing`, None if nothing is."""
    entry = _attached.get(id(thing))
    return None if entry is None or entry.object() is not thing else entry


def _with(entry: Entry, *deliver: Deliver) -> Entry:
    return Entry(entry.object, deliver, all(one.is_part for one in deliver))


def _forget(key: int, gone: weakref.ref[Any]) -> None:
    # Without the lock: the garbage collector may call this while the lock is held. The identity
    # may be another object's by now, whose entry stays.
    entry = _attached.get(key)
    if entry is not None and entry.object is gone:
        _attached.pop(key, None)
