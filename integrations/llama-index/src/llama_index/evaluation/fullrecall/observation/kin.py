"""Which recordings a step in a thread or a task without their context may belong to."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.tools.types import BaseTool

from llama_index.evaluation.fullrecall.observation.recording import Recording, ongoing
from llama_index.evaluation.fullrecall.observation.steps import Kind

_HOLDERS = (BaseRetriever, BaseQueryEngine, BaseChatEngine, BaseTool)


def recordings_beside(
    kind: Kind, instance: object, question: str | None, *, is_recorded: bool, is_inside: bool
) -> list[Recording]:
    """Return the recordings under way that a step of a context without any may be a part of.

    - A block, and what is `observed`: while an application is evaluated, it is hardly anybody
      else's. In the thread that opened the block it is of another task, such as one that advances
      a generator which another one began. There, a step that `is_recorded` on its own is none.
    - An attached object, in another thread: of its own parts, asked the same question. Others may
      use them too: what `is_inside` of a step that nobody records, as of another engine, is none.
    """
    if kind is Kind.OTHER or kind is Kind.TOOL:
        return []
    here = threading.get_ident()

    def may_own(recording: Recording) -> bool:
        is_elsewhere = recording.thread != here
        if recording.root is None:
            return is_elsewhere or not is_recorded
        return (
            is_elsewhere
            and not is_inside
            and question == recording.question
            and any(part is instance for part in _parts(recording.root))
        )

    return [recording for recording in ongoing() if not recording.ended and may_own(recording)]


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
