"""Check that this version of LangChain reports its runs as the recorder expects."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context as Variables
from functools import cache
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.tracers import LangChainTracer
from langsmith import tracing_context

from fullrecall.observe import ROOT, StepReading, incompatible
from langchain_fullrecall.offline import offline_client
from langchain_fullrecall.recorder import LangChainRecorder


class _Probe(BaseRetriever):
    """A retriever that returns the documents of a function of the query."""

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


def _unsent(chain: Runnable[Any, Any], recorder: LangChainRecorder) -> Any:
    """Run a chain without the application's callbacks, and without sending its trace.

    Without any tracer LangChain refuses to run if LANGCHAIN_TRACING is set, the variable of its
    first tracer, even if LANGCHAIN_TRACING_V2 is set beside it.
    """
    client = offline_client()
    tracer = LangChainTracer(client=client)
    with tracing_context(enabled=True, client=client):
        return chain.invoke("q", {"callbacks": [recorder, tracer]})


@cache
def broken() -> str | None:
    """Return why this version of LangChain cannot be recorded, or None if it can.

    A tiny chain runs once through LangChain's own callbacks: a retriever that fails, whose
    fallback is a retriever with another retriever inside.
    """
    fallback = _Probe(name="outer", work=_first_of_two)
    chain: Runnable[Any, Any] = _Probe(name="down", work=_fail).with_fallbacks([fallback])
    recorder = LangChainRecorder()
    recorder.log.begin_call("q")
    try:
        output = Variables().run(_unsent, chain, recorder)
    except Exception as error:  # noqa: BLE001 - whatever it is, this version cannot be recorded
        return _incompatible(f"{type(error).__name__}: {error}")
    recorder.log.end_call(output)
    steps = {step.name: step for step in recorder.log.steps if step.kind == "retriever"}
    inner, outer = steps.get("inner"), steps.get("outer")
    if inner is None or outer is None or inner.parent != outer.id:
        return _incompatible("a retriever inside of a retriever is not reported as such")
    fallbacks = recorder.log.step(outer.parent)
    if fallbacks is None or not fallbacks.tries:
        return _incompatible("what has fallbacks is not reported as such")
    retrieval = StepReading().record_of(recorder.log.steps, root=ROOT)
    if retrieval.error is not None or [c.id for c in retrieval.contexts or ()] != ["1"]:
        return _incompatible(retrieval.error or "the record of a tiny run is wrong")
    return None


def _incompatible(what: str) -> str:
    return incompatible(what, "langchain-fullrecall", "langchain-core")
