"""Retrievals that ran beside a call, in threads that do not know that they belong to it.

A thread starts with an empty context. What it retrieves is in no recording, and a record without
it would look complete: so the recordings that it may belong to are told.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.tools.types import BaseTool

from llama_index.evaluation.fullrecall.observation.recording import ongoing
from llama_index.evaluation.fullrecall.observation.steps import Kind

_HOLDERS = (BaseRetriever, BaseQueryEngine, BaseChatEngine, BaseTool)


def note_stray(kind: Kind, instance: object, question: str | None) -> None:
    """Tell the recordings under way of a step that ran in a context in which none was ever set.

    A block, and what is `observed`, is told of any in another thread: while an application is
    evaluated, it is hardly anybody else's. An attached object is told of what is a part of it,
    asked the same question: others may use its parts too.
    """
    if kind in (Kind.OTHER, Kind.TOOL):
        return
    here = threading.get_ident()
    for recording in ongoing():
        if recording.thread == here or recording.ended:
            continue
        if recording.root is None or (
            question == recording.question
            and any(part is instance for part in _parts(recording.root))
        ):
            recording.problems.append(
                f"{type(instance).__name__} was asked in a thread without the call's context, "
                "which cannot be recorded: start it with contextvars.copy_context().run or "
                "asyncio.to_thread"
            )


def _parts(root: object) -> Iterator[object]:
    """Yield the retrievers, engines and tools in a thing, however deep in fields and lists."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        values: list[Any] = []
        if isinstance(thing, Mapping):
            values = list(thing.values())
        elif isinstance(thing, (list, tuple)):
            values = list(thing)
        elif thing is root or isinstance(thing, _HOLDERS):
            yield thing
            values = list(vars(thing).values())
            values += list((getattr(thing, "__pydantic_private__", None) or {}).values())
        waiting += [one for one in values if isinstance(one, (*_HOLDERS, Mapping, list, tuple))]
