"""Engines that number their sources for citation, of texts and of pictures."""

from __future__ import annotations

from typing import Any

from llama_index.core import get_response_synthesizer
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_apps.application import engine
from llama_apps.parts import READS_PICTURES, Finds, chat_model, model, node, picture

_NUMBERED = {"plain": "LlamaIndex gives numbered sources new IDs"}


def _cited(found: str, **fields: Any) -> Any:
    return CitationQueryEngine.from_args(
        None, **{"retriever": Finds(found), "llm": model(), **fields}
    )


@engine(expects="tower fees", recall=0.5, first=0.0, hidden=_NUMBERED)
def citations() -> Any:
    """A citation engine numbers its sources."""
    return _cited("ferry tower")


class FindsPicture(BaseRetriever):
    """A retriever that returns a text and a picture."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = [node("tower"), picture("map")]
        return [NodeWithScore(node=each, score=1 / rank) for rank, each in enumerate(found, 1)]


if READS_PICTURES:

    @engine(expects="tower map", recall=1.0, first=0.5, hidden=_NUMBERED)
    def citations_of_pictures() -> Any:
        """A citation engine numbers texts and pictures."""
        return CitationQueryEngine.from_args(
            None, retriever=FindsPicture(), llm=chat_model(), multimodal=True
        )

    @engine(expects="tower map", recall=1.0, first=0.5)
    def pictures_and_texts() -> Any:
        """An engine's model reads texts and pictures."""
        synthesizer = get_response_synthesizer(llm=chat_model(), multimodal=True)
        return RetrieverQueryEngine(FindsPicture(), synthesizer)
