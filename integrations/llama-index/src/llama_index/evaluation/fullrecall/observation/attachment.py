"""Attaching to engines and retrievers, and finding what their calls retrieved."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self, TypeAlias, Unpack

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.schema import NodeWithScore

from fullrecall.errors import ParameterError
from fullrecall.parameters import check_k
from llama_index.evaluation.fullrecall.messages import got
from llama_index.evaluation.fullrecall.observation import registry
from llama_index.evaluation.fullrecall.observation.capture import Capture
from llama_index.evaluation.fullrecall.observation.handlers import install
from llama_index.evaluation.fullrecall.observation.recording import (
    Recording,
    open_recordings,
    recordings,
)
from llama_index.evaluation.fullrecall.observation.snapshots import Nodes
from llama_index.evaluation.fullrecall.observation.steps import Step, is_attachable
from llama_index.evaluation.fullrecall.options import Options, Reading, reading_of
from llama_index.evaluation.fullrecall.responses import is_response

Attachable: TypeAlias = BaseQueryEngine | BaseChatEngine | BaseRetriever
"""What can be attached to."""

_CAPTURE = "_fullrecall_capture"
"""The attribute under which a response carries its capture."""

_PARTS = ("_retriever", "_response_synthesizer")
"""Where engines hold what `engine.retrieve()` and `engine.synthesize()` ask."""

_MOST_APART = 32
"""Retrievals of an engine's parts that wait for a synthesis of what they returned."""


class _SourceNodes(list[NodeWithScore]):
    """A response's source nodes, with the capture of its call.

    The list goes wherever the response's nodes go: to `get_response()` of a stream, and to
    `dataclasses.replace`. Pickled and copied, it is a plain list.
    """

    capture: Capture

    def __reduce__(self) -> tuple[type[list[Any]], tuple[list[NodeWithScore]]]:
        return list, (list(self),)

    def __reduce_ex__(self, _: Any) -> tuple[type[list[Any]], tuple[list[NodeWithScore]]]:
        return self.__reduce__()


class Attachment:
    """What `attach` returns: it holds the captures of the calls, and ends with `detach`.

    As a context manager it detaches at the end of the block. Calls that run then are still
    captured.
    """

    def __init__(self, thing: Attachable, keep: int | None, reading: Reading) -> None:
        self._reading = reading
        self._captures: deque[Capture] = deque(maxlen=keep)
        self._apart: deque[Recording] = deque(maxlen=_MOST_APART)
        deliver = registry.Deliver(self._deliver)
        part = registry.Deliver(self._deliver_part, is_part=True)
        self._attached = [(weakref.ref(thing), deliver)]
        self._attached += [(weakref.ref(one), part) for one in _parts(thing)]
        for one, how in self._attached:
            registry.add(one(), how)

    @property
    def captures(self) -> tuple[Capture, ...]:
        """The captures of the last calls, in the order in which they ended; failed ones too."""
        return tuple(self._captures)

    def detach(self) -> None:
        """Capture no further calls. What was captured stays."""
        for one, how in self._attached:
            if (thing := one()) is not None:
                registry.remove(thing, how)

    def __repr__(self) -> str:
        thing = self._attached[0][0]()
        name = "nothing any more" if thing is None else type(thing).__name__
        return f"<Attachment to {name}: {len(self._captures)} captured>"

    def _deliver(self, recording: Recording, returned: Any) -> None:
        capture = Capture(recording, self._reading)
        self._captures.append(capture)
        if is_response(returned):
            setattr(returned, _CAPTURE, capture)
            if isinstance(returned.source_nodes, list):
                nodes = _SourceNodes(returned.source_nodes)
                nodes.capture = capture
                returned.source_nodes = nodes

    def _deliver_part(self, recording: Recording, returned: Any) -> None:
        """Keep what a part returned on its own, until a synthesis of it ends.

        These recordings do not end before that: their objects tell whose nodes are synthesized.
        """
        if not is_response(returned):
            self._apart.append(recording)
            return
        for earlier in reversed(list(self._apart)):
            if any(
                _feeds(one, other)
                for one in earlier.steps.values()
                for other in recording.steps.values()
            ):
                recording.take_over(earlier)
                with suppress(ValueError):
                    self._apart.remove(earlier)
        recording.end()
        self._deliver(recording, returned)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.detach()


def attach(
    thing: Attachable, /, *, keep: int | None = 1000, **options: Unpack[Options]
) -> Attachment:
    """Capture what each call of a query engine, chat engine or retriever retrieves.

    The object stays what it is: nothing is wrapped or replaced. Each response of an engine then
    carries its capture, see `capture_of`; the attachment holds the last `keep` captures (all of
    them with None), those of failed calls and of retrievers, which return plain lists, included.
    It works in threads, tasks and agents, and for streams, in which the retrieval is over before
    the first word; `engine.synthesize(…)` of what `engine.retrieve(…)` returned counts as a call.
    `options` are those of `observed`; the evaluator reads captures by its own.

    A thread that the engine starts without `contextvars.copy_context()` is not seen. Where one of
    the engine's own retrievers is asked the question there, the capture is not complete, and its
    sample is unscored.

    Raises `ParameterError` for what cannot be attached to: an agent or a workflow is `observed`,
    or run in a `with capture_retrievals():`.
    """
    if not is_attachable(thing):
        raise ParameterError(
            f"expected a query engine, a chat engine or a retriever, {got(thing)}: "
            "run anything else in `with capture_retrievals() as capture:`"
        )
    if keep is not None:
        check_k(keep, "keep")
    install()
    return Attachment(thing, keep, reading_of(**options))


def _parts(thing: Any) -> Iterator[Any]:
    held = getattr(thing, "__dict__", {})
    if isinstance(thing, BaseQueryEngine):
        yield from (held[name] for name in _PARTS if held.get(name) is not None)
        yield from held.get("_node_postprocessors") or ()


def _feeds(step: Step, other: Step) -> bool:
    handed, given = step.handed or Nodes(()), other.given or Nodes(())
    return not set(handed.objects).isdisjoint(given.objects)


@contextmanager
def capture_retrievals(**options: Unpack[Options]) -> Iterator[Capture]:
    """Capture what is retrieved in the block, by whatever engine, retriever, agent or workflow.

    `with capture_retrievals() as capture:` stands around the calls, awaited ones too: tasks and
    threads that LlamaIndex starts in the block belong to it. What others retrieve meanwhile, with
    no record of their own, may be the block's too (a worker's task, a later task that advances a
    generator): the capture is not complete unless the block's steps took over those nodes. What
    ends after the block is not captured, so await a workflow's handler inside. `options` are those
    of `observed`.
    """
    install()
    reading = reading_of(**options)
    recording = Recording()
    token = recordings.set((*open_recordings(), recording))
    try:
        yield Capture(recording, reading)
    except BaseException as error:
        recording.error = f"{type(error).__name__}: {error}"
        raise
    finally:
        recording.end()
        # Another task may end an async generator than the one that began it, in its own context.
        with suppress(ValueError):
            recordings.reset(token)


def capture_of(response: object) -> Capture | None:
    """Return what the call retrieved that returned `response`, None if it was not captured.

    Responses of attached engines carry it. Raises nothing, whatever `response` is.
    """
    # Not getattr: a PydanticResponse claims to have every attribute.
    carried = getattr(response, "__dict__", None)
    if not isinstance(carried, dict):
        return None
    capture = carried.get(_CAPTURE)
    if capture is None and isinstance(nodes := carried.get("source_nodes"), _SourceNodes):
        capture = nodes.capture
    return capture if isinstance(capture, Capture) else None
