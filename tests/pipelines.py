"""Records of pipelines, made from their stages."""

from __future__ import annotations

from collections.abc import Iterable

from fullrecall import Context
from fullrecall.samples.calls import Call, Stage


def calls_of(
    stages: Iterable[Stage], contexts: tuple[Context, ...] | None = None
) -> tuple[Call, ...]:
    """Return the calls of these stages; each stage is before the one that takes its output.

    With `contexts`, the stages are those of one call that returned this final list.
    """
    calls: dict[str | None, list[Call]] = {}
    for name, returned, into in stages:
        calls.setdefault(into, []).append(
            Call(name, None, returned, None, tuple(calls.pop(name, ())))
        )
    last = tuple(calls.get(None, ()))
    return (
        last if contexts is None or not last else (Call("retrieval", None, contexts, None, last),)
    )
