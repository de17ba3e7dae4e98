"""Attaching to engines and retrievers, and finding what their calls retrieved."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeAlias

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine.types import BaseChatEngine

from fullrecall import ParameterError
from fullrecall.result import check_k
from llama_index.evaluation.fullrecall.attaching import registry
from llama_index.evaluation.fullrecall.attaching.capture import Capture
from llama_index.evaluation.fullrecall.attaching.handlers import install
from llama_index.evaluation.fullrecall.attaching.recording import (
    Recording,
    open_recordings,
    recordings,
)
from llama_index.evaluation.fullrecall.attaching.spans import is_attachable
from llama_index.evaluation.fullrecall.refusing import got
from llama_index.evaluation.fullrecall.responses import is_response

Attachable: TypeAlias = BaseQueryEngine | BaseChatEngine | BaseRetriever
"""What can be attached to."""

_CAPTURE = "_fullrecall_capture"
"""The attribute under which a response carries its capture."""


class Attachment:
    """What `attach` returns: it holds the captures of the calls, and ends with `detach`.

    As a context manager it detaches at the end of the block. Calls that run then are still
    captured.
    """

    def __init__(self, thing: Attachable, keep: int | None) -> None:
        self._thing = weakref.ref(thing)
        self._captures: deque[Capture] = deque(maxlen=keep)
        registry.add(thing, self._deliver)

    @property
    def captures(self) -> tuple[Capture, ...]:
        """The captures of the last calls, in the order in which they ended; failed ones too."""
        return tuple(self._captures)

    def detach(self) -> None:
        """Capture no further calls. What was captured stays."""
        thing = self._thing()
        if thing is not None:
            registry.remove(thing, self._deliver)

    def __repr__(self) -> str:
        thing = self._thing()
        name = "nothing any more" if thing is None else type(thing).__name__
        return f"<Attachment to {name}: {len(self._captures)} captured>"

    def _deliver(self, recording: Recording, returned: Any) -> None:
        capture = Capture(recording)
        self._captures.append(capture)
        if is_response(returned):
            setattr(returned, _CAPTURE, capture)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.detach()


def attach(thing: Attachable, *, keep: int | None = 1000) -> Attachment:
    """Capture what each call of a query engine, chat engine or retriever retrieves.

    The object stays what it is: nothing is wrapped or replaced. Each response of an engine then
    carries its capture, see `capture_of`; the attachment holds the last `keep` captures (all of
    them with None), those of failed calls and of retrievers, which return plain lists, included.
    It works in threads, tasks and agents, and for streams, in which the retrieval is over before
    the first word.

    Only retrievals in threads that the engine starts without `contextvars.copy_context()` are not
    seen. Raises `ParameterError` for what cannot be attached to: an agent or a workflow is run
    in a `with capture_retrievals():` instead.
    """
    if not is_attachable(thing):
        raise ParameterError(
            f"a query engine, a chat engine or a retriever can be attached to, {got(thing)}; "
            "run anything else in `with capture_retrievals() as capture:`"
        )
    if keep is not None:
        check_k(keep, "keep")
    install()
    return Attachment(thing, keep)


@contextmanager
def capture_retrievals() -> Iterator[Capture]:
    """Capture what is retrieved in the block, by whatever engine, retriever, agent or workflow.

    `with capture_retrievals() as capture:` stands around the calls, awaited ones too: tasks and
    threads that LlamaIndex starts in the block belong to it, those of the same time outside it do
    not. What ends after the block is not captured, so await a workflow's handler inside.
    """
    install()
    recording = Recording()
    token = recordings.set((*open_recordings(), recording))
    try:
        yield Capture(recording)
    except BaseException as error:
        recording.error = f"{type(error).__name__}: {error}"
        raise
    finally:
        recording.ended = True
        recordings.reset(token)


def capture_of(response: object) -> Capture | None:
    """Return what the call retrieved that returned `response`, None if it was not captured.

    Responses of attached engines carry it. Raises nothing, whatever `response` is.
    """
    # Not getattr: a PydanticResponse claims to have every attribute.
    carried = getattr(response, "__dict__", None)
    capture = carried.get(_CAPTURE) if isinstance(carried, dict) else None
    return capture if isinstance(capture, Capture) else None
