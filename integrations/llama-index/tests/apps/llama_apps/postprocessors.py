"""Postprocessors of LlamaIndex and of users, between a search and an answer.

Unless a function says otherwise, the search finds "ferry", "tower" and "fees", in this order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.postprocessor import (
    AutoPrevNextNodePostprocessor,
    LongContextReorder,
    MetadataReplacementPostProcessor,
    PIINodePostprocessor,
    SimilarityPostprocessor,
)
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore

from llama_apps.application import engine
from llama_apps.parts import TEXTS, Finds, by_words, engine_of, model, nodes, scored

_FOUND = "ferry tower fees"

behind = partial(engine, expects="tower fees", retrieved=1.0, stages={"Finds": 1.0})
"""An engine with postprocessors behind this search."""


class Does(BaseNodePostprocessor):
    """A user's own postprocessor."""

    work: Callable[[list[NodeWithScore]], list[NodeWithScore]]

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self.work(nodes)


# Cuts and orders


@behind(recall=0.0, first=0.0)
def similarity_cutoff_of_all() -> Any:
    """No score reaches the threshold."""
    return engine_of(Finds(_FOUND), SimilarityPostprocessor(similarity_cutoff=2.0))


@engine(expects="tower fees", recall=1.0, first=0.0)
def long_context_reorder() -> Any:
    """The best texts go to both ends of the prompt, which is not a ranking."""
    return engine_of(Finds(_FOUND), LongContextReorder())


@engine(expects="tower fees", recall=1.0, first=0.5, retrieved=1.0)
def same_text_twice() -> Any:
    """The search finds a text twice, under two IDs; the copy is dropped."""

    class Twice(Finds):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            copy = NodeWithScore(node=TextNode(id_="copy", text=TEXTS["tower"][1]), score=0.9)
            tower, fees = scored("tower fees")
            return [tower, copy, fees]

    def distinct(found: list[NodeWithScore]) -> list[NodeWithScore]:
        first: dict[str, NodeWithScore] = {}
        for each in found:
            first.setdefault(each.text, each)
        return list(first.values())

    return engine_of(Twice(""), Does(work=distinct))


# Nodes that are added


def _line() -> SimpleDocumentStore:
    line = nodes("tower lamp keeper")
    for before, after in pairwise(line):
        before.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=after.node_id)
        after.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=before.node_id)
    store = SimpleDocumentStore()
    store.add_documents(line)
    return store


class FindsStored(BaseRetriever):
    """A search that finds one node of a docstore."""

    def __init__(self, store: SimpleDocumentStore, name: str) -> None:
        self.store, self.name = store, name
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=self.store.get_document(self.name), score=1.0)]


@engine(expects="tower lamp fees", recall=2 / 3, first=1 / 3, retrieved=2 / 3)
def next_node_if_a_model_wants_it() -> Any:
    """A model decides whether the node before or after the found one is needed."""
    store = _line()
    adds = AutoPrevNextNodePostprocessor(docstore=store, num_nodes=1, llm=model("NEXT"))
    return engine_of(FindsStored(store, "tower"), adds)


@engine(expects="tower fees", recall=1.0)
def search_in_a_postprocessor() -> Any:
    """A postprocessor asks another search, and appends its results."""
    other = Finds("fees hours")
    return engine_of(Finds("tower"), Does(work=lambda found: [*found, *other.retrieve("prices")]))


@engine(expects="tower fees", recall=0.5)
def note_in_front() -> Any:
    """A node with instructions is put before the found ones."""
    note = NodeWithScore(node=TextNode(id_="note", text="Today is a holiday."), score=1.0)
    return engine_of(Finds("ferry tower"), Does(work=lambda found: [note, *found]))


# Texts that are changed


@behind(recall=0.5, first=0.0)
def names_masked_by_model() -> Any:
    """A model masks names."""
    masks = PIINodePostprocessor(llm=model('A [PERSON] lives here.\nOutput Mapping:\n{"a": "b"}'))
    return engine_of(Finds(_FOUND), masks, Does(work=lambda found: found[:2]))


def _compressed(found: list[NodeWithScore], **fields: Any) -> list[NodeWithScore]:
    llm = by_words("Something else.", ferry="Two boats.", brandt="An old building.")
    return [
        NodeWithScore(
            node=TextNode(
                text=llm.complete(f"Shorten for the question: {each.text}").text,
                **{name: getattr(each.node, name) for name in fields},
            ),
            score=each.score,
        )
        for each in found[:2]
    ]


_NEW_WORDS = "the new nodes share neither an ID nor words with those that were retrieved"


@engine(
    expects="tower fees",
    recall=0.5,
    first=0.0,
    retrieved=1.0,
    unscorable=_NEW_WORDS,
    renews=True,
)
def compressed_by_model() -> Any:
    """A model shortens each text, in new nodes (contextual compression)."""
    return engine_of(Finds(_FOUND), Does(work=_compressed))


@engine(
    expects="building visit",
    recall=1.0,
    first=0.5,
    options={"id_key": "ref_doc_id"},
)
def compressed_with_its_document() -> Any:
    """A model shortens each text, in new nodes that name their document."""
    compress = partial(_compressed, relationships=True)
    return engine_of(Finds(_FOUND), Does(work=compress))


@engine(expects="building nature", recall=0.5, options={"id_key": "topic"})
def merged_by_document() -> Any:
    """Texts of one document are merged in one new node, which has their metadata."""

    def merge(found: list[NodeWithScore]) -> list[NodeWithScore]:
        groups: dict[str, list[NodeWithScore]] = {}
        for each in found:
            groups.setdefault(each.metadata["topic"], []).append(each)
        return [
            NodeWithScore(
                node=TextNode(
                    text="\n".join(each.text for each in group), metadata={"topic": topic}
                ),
                score=group[0].score,
            )
            for topic, group in groups.items()
        ]

    return engine_of(Finds("ferry tower fees"), Does(work=merge))


@engine(expects="tower lamp seals", recall=2 / 3, retrieved=2 / 3, renews=True)
def neighbors_merged() -> Any:
    """Adjacent chunks are joined, so that the model reads one passage."""

    def join(found: list[NodeWithScore]) -> list[NodeWithScore]:
        tower, lamp, rest = found
        joined = TextNode(text=f"{tower.text}\n{lamp.text}")
        return [NodeWithScore(node=joined, score=tower.score), rest]

    return engine_of(Finds("tower lamp fees"), Does(work=join))


@engine(expects="w-tower w-fees", recall=0.5, first=0.0, retrieved=1.0)
def window_behind_reranker() -> Any:
    """A reranker sees sentences, and the model reads their windows."""

    class FindsSentences(Finds):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [
                NodeWithScore(
                    node=TextNode(
                        id_=f"w-{each.node_id}",
                        text=each.text.split(". ")[0],
                        metadata={"window": each.text},
                    ),
                    score=each.score,
                )
                for each in scored(self.names)
            ]

    return engine_of(
        FindsSentences(_FOUND),
        Does(work=lambda found: found[:2]),
        MetadataReplacementPostProcessor(target_metadata_key="window"),
    )
