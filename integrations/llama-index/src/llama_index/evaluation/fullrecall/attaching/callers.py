"""Who asked a retriever: some look for tools or for earlier messages, and not for contexts."""

from __future__ import annotations

import sys
from types import FrameType

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.memory import BaseMemory
from llama_index.core.objects import ObjectRetriever
from llama_index.core.query_engine import RetrieverRouterQueryEngine
from llama_index.core.tools.types import BaseTool

_SELECTING = (ObjectRetriever, BaseMemory, RetrieverRouterQueryEngine)
"""What has a retriever find objects such as tools, earlier messages, or the engine to ask."""

_ASKING = (BaseQueryEngine, BaseChatEngine, BaseRetriever, BaseTool)
"""What asks retrievers for contexts."""


def is_selecting() -> bool:
    """Return whether the running code was called to select something, and not for contexts.

    The nearest caller that is one of LlamaIndex's decides. None of those that select tells the
    dispatcher of it, and the nodes look like any others: only the call stack knows.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - what inspect itself uses
    while frame is not None:
        if frame.f_code.co_varnames[:1] == ("self",):
            caller = frame.f_locals.get("self")
            if isinstance(caller, _SELECTING):
                return True
            if isinstance(caller, _ASKING):
                return False
        frame = frame.f_back
    return False
