"""The steps of a call that say something of what was retrieved."""

from __future__ import annotations

from copy import copy
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.retrievers import RouterRetriever
from llama_index.core.tools.types import BaseTool

from llama_index.evaluation.fullrecall.observation.snapshots import Nodes


class Kind(StrEnum):
    """What a step does."""

    RETRIEVAL = "retrieval"
    POSTPROCESSING = "postprocessing"
    SYNTHESIS = "synthesis"
    ENGINE = "engine"
    TOOL = "tool"
    OTHER = "other"


INNER = (Kind.RETRIEVAL, Kind.POSTPROCESSING)
"""The steps that return lists, and whose parts go into those."""

_METHODS: tuple[tuple[type, frozenset[str], Kind], ...] = (
    (BaseRetriever, frozenset({"retrieve", "aretrieve"}), Kind.RETRIEVAL),
    (
        BaseNodePostprocessor,
        frozenset({"_postprocess_nodes", "_apostprocess_nodes"}),
        Kind.POSTPROCESSING,
    ),
    (BaseSynthesizer, frozenset({"synthesize", "asynthesize"}), Kind.SYNTHESIS),
    # A retrying engine calls the private methods of the engine that it retries.
    (BaseQueryEngine, frozenset({"query", "aquery", "_query", "_aquery"}), Kind.ENGINE),
    (BaseChatEngine, frozenset({"chat", "achat", "stream_chat", "astream_chat"}), Kind.ENGINE),
    (BaseTool, frozenset({"__call__", "call", "acall"}), Kind.TOOL),
)


class Prompt(NamedTuple):
    """What a model was sent, in which step, and when: counted as the steps are."""

    text: str
    parent: str | None
    at: int


class Role(StrEnum):
    """What a step of a class of LlamaIndex's does with lists, beyond its kind."""

    CITING = "citing"
    REORDERING = "reordering"
    JOINING = "joining"


_ROLES: tuple[tuple[type, Role], ...] = (
    (CitationQueryEngine, Role.CITING),
    (LongContextReorder, Role.REORDERING),
    (RouterRetriever, Role.JOINING),
)


class Step:
    """One step of a call, and what is known of it.

    - `key`, `parent`: of the step itself, and of the one that it is part of.
    - `name`: of the class whose step it is, of a tool its own; `owner`: the identity of the
      object, None without one; `role`: what else is known of its class.
    - `began`, `ended`: when, counted over all steps; None where it has not ended. Nothing of a
      step that has ended changes.
    - `given`, `handed`: the nodes that it got, and those that it returned (an engine's source
      nodes); None where it has none of the kind, has not ended, or failed.
    - `answer`: the text that an engine or a synthesizer returned.
    """

    # Of the class, until a step has its own: a step is made for each span of a call.
    ended: int | None = None
    question: str | None = None
    given: Nodes | None = None
    handed: Nodes | None = None
    answer: str | None = None
    error: str | None = None

    def __init__(  # noqa: PLR0917 - by place, which takes half as long as by name
        self, kind: Kind, role: Role | None, key: str, parent: str | None, name: str,
        owner: int | None, began: int,
    ) -> None:  # fmt: skip
        self.kind = kind
        self.role = role
        self.key = key
        self.parent = parent
        self.name = name
        self.owner = owner
        self.began = began

    def fixed(self) -> Step:
        """Return the step as it is now: itself, where nothing of it changes any more."""
        if self.ended is not None or self.kind is Kind.OTHER:
            return self
        return copy(self)


def kind_of(key: str, instance: object) -> tuple[Kind, Role | None]:
    """Return what the span `key`, "Class.method-uuid", of `instance` does."""
    own: Any = type(instance)
    return _kind(key.partition("-")[0], own)


@lru_cache(maxsize=4096)
def _kind(name: str, cls: type) -> tuple[Kind, Role | None]:
    method = name.rpartition(".")[2]
    for base, methods, kind in _METHODS:
        if method in methods and issubclass(cls, base):
            return kind, next((role for one, role in _ROLES if issubclass(cls, one)), None)
    return Kind.OTHER, None


def is_attachable(thing: object) -> bool:
    """Return whether `thing` is a query engine, a chat engine or a retriever."""
    return isinstance(thing, (BaseQueryEngine, BaseChatEngine, BaseRetriever))
