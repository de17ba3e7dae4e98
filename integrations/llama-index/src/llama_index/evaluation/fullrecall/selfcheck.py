"""Check by one tiny run that LlamaIndex reports the spans and events that the adapter reads."""

from __future__ import annotations

from functools import cache

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers.simple_summarize import SimpleSummarize
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from fullrecall.observe import ROOT, StepReading, incompatible
from llama_index.evaluation.fullrecall.listening import recorders, recording
from llama_index.evaluation.fullrecall.recorder import LlamaIndexRecorder

_TEXTS = {"1": "the first document", "2": "the second document"}


class _Inner(BaseRetriever):
    def _retrieve(
        self,
        query_bundle: QueryBundle,  # noqa: ARG002 - LlamaIndex's signature, as below
    ) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(id_=id_, text=text)) for id_, text in _TEXTS.items()]


class _Outer(BaseRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _Inner().retrieve(query_bundle)


class _First(BaseNodePostprocessor):
    def _postprocess_nodes(
        self,
        nodes: list[NodeWithScore],
        query_bundle: QueryBundle | None = None,  # noqa: ARG002
    ) -> list[NodeWithScore]:
        return nodes[:1]


@cache
def broken() -> str | None:
    """Return why this version of LlamaIndex cannot be recorded, or None if it can.

    A tiny engine runs once through LlamaIndex's own dispatcher: a retriever of a retriever, a
    postprocessor that keeps one of two nodes, and a model.
    """
    engine = RetrieverQueryEngine(
        _Outer(), SimpleSummarize(llm=MockLLM(max_tokens=1)), node_postprocessors=[_First()]
    )
    token = recorders.set(())  # no run of the application
    try:
        with recording(ROOT) as recorder:
            recorder.log.begin_call("q")
            recorder.log.end_call(str(engine.query("q")))
    except Exception as error:  # noqa: BLE001 - whatever it is, this version cannot be recorded
        return _incompatible(f"{type(error).__name__}: {error}")
    finally:
        recorders.reset(token)
    problem = _problem(recorder)
    return None if problem is None else _incompatible(problem)


def _problem(recorder: LlamaIndexRecorder) -> str | None:
    steps = {step.name: step for step in recorder.steps}
    inner, outer = steps.get("_Inner"), steps.get("_Outer")
    if inner is None or outer is None or inner.parent != outer.id:
        return "a retriever inside of a retriever is not reported as such"
    ids = {step.id for step in recorder.steps} - {ROOT}
    if not any(step.prompt and step.parent in ids for step in recorder.steps):
        return "what a model is sent is not reported, or not with the span in which it is sent"
    retrieval = StepReading().record_of(recorder.steps, root=ROOT)
    if retrieval.error is not None or [c.id for c in retrieval.contexts or ()] != ["1"]:
        return retrieval.error or "the record of a tiny run is wrong"
    return None if retrieval.read == ("yes",) else "what a model read is not known"


def _incompatible(what: str) -> str:
    packages = ("llama-index-core", "llama-index-instrumentation")
    return incompatible(what, "llama-index-evaluation-fullrecall", *packages)
