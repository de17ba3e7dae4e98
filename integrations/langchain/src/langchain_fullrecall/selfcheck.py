"""Check that this version of LangChain reports its runs as the recorder expects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import Context as Variables
from functools import cache, partial
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.tracers import LangChainTracer
from langsmith import tracing_context

from fullrecall.observe import Step, incompatible
from langchain_fullrecall.offline import offline_client
from langchain_fullrecall.recorder import LangChainRecorder


class _Probe(BaseRetriever):
    """A retriever that calls `work` with the query and returns its documents."""

    work: Callable[[str], list[Document]]

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        return self.work(query)


def _two(query: str) -> list[Document]:
    return [Document(page_content=query, id="1"), Document(page_content="other", id="2")]


def _first_of_two(query: str) -> list[Document]:
    return _Probe(name="inner", work=_two).invoke(query)[:1]


def _fail(query: str) -> list[Document]:
    raise TimeoutError(query)


def _run() -> Sequence[Step]:
    """Return the steps of a chain whose retriever fails and has a fallback.

    The fallback is a retriever with another retriever inside. The chain has a tracer, whose client
    sends nothing. The tracer is needed if LANGCHAIN_TRACING, the variable of LangChain's first
    tracer, is set: LangChain then refuses to run without a tracer, even with LANGCHAIN_TRACING_V2.
    """
    fallback = _Probe(name="outer", work=_first_of_two)
    chain: Runnable[Any, Any] = _Probe(name="down", work=_fail).with_fallbacks([fallback])
    recorder, client = LangChainRecorder(), offline_client()
    recorder.log.begin_call("q")
    with tracing_context(enabled=True, client=client):
        tracer = LangChainTracer(client=client)
        recorder.log.end_call(chain.invoke("q", {"callbacks": [recorder, tracer]}))
    if not any(step.tries for step in recorder.log.steps):
        raise ValueError("a chain with fallbacks is not reported as such")
    return recorder.log.steps


@cache
def broken() -> str | None:
    """Return why this version of LangChain cannot be recorded, or None if it can."""
    return incompatible(partial(Variables().run, _run), "langchain-fullrecall", "langchain-core")
