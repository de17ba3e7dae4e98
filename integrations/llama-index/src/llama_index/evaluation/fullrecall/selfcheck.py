"""Check by one tiny run that LlamaIndex reports the spans and events that the adapter reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers.simple_summarize import SimpleSummarize
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from fullrecall.observe import ROOT, Step, incompatible
from llama_index.evaluation.fullrecall.listening import recording, unrecorded

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


def _run() -> Sequence[Step]:
    """Return the steps of an engine with a nested retriever, a postprocessor and a model."""
    engine = RetrieverQueryEngine(
        _Outer(), SimpleSummarize(llm=MockLLM(max_tokens=1)), node_postprocessors=[_First()]
    )
    with unrecorded(), recording(ROOT) as recorder:  # This is not a run of the application.
        recorder.log.begin_call("q")
        recorder.log.end_call(str(engine.query("q")))
    ids = {step.id for step in recorder.steps} - {ROOT}
    if not any(step.prompt and step.parent in ids for step in recorder.steps):
        raise ValueError("a model's prompt is not reported, or not with the span that sent it")
    return recorder.steps


@cache
def broken() -> str | None:
    """Return the reason why this version of LlamaIndex cannot be recorded; None if it can."""
    packages = ("llama-index-core", "llama-index-instrumentation")
    return incompatible(_run, "llama-index-evaluation-fullrecall", *packages)
