"""Every kind of index, asked by its own retrievers and engines."""

from __future__ import annotations

from typing import Any

from llama_index.core import Document, PropertyGraphIndex, TreeIndex, VectorStoreIndex
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import EntityNode, Relation
from llama_index.core.indices import EmptyIndex
from llama_index.core.indices.property_graph import LLMSynonymRetriever
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.retrievers import VectorIndexAutoRetriever
from llama_index.core.vector_stores.types import MetadataInfo, VectorStoreInfo

from llama_apps.application import engine, retriever
from llama_apps.parts import Words, by_words, model, nodes, vector_index

# The nearest nodes to the question are "tower", then "fees"; no other shares a word with it.


@retriever(expects="tower fees lamp", recall=2 / 3, first=1 / 3)
def vector_index_retriever() -> Any:
    """An index is asked as a retriever."""
    return vector_index().as_retriever(similarity_top_k=2)


@retriever(expects="tower fees", recall=0.5, first=0.5)
def auto_retriever() -> Any:
    """A model writes the filters and the query."""
    return VectorIndexAutoRetriever(
        vector_index(),
        vector_store_info=VectorStoreInfo(
            content_info="about an island",
            metadata_info=[MetadataInfo(name="topic", type="str", description="visit or nature")],
        ),
        llm=model(
            '```json\n{"query": "admission", "filters": '
            '[{"key": "topic", "value": "visit", "operator": "=="}], "top_k": 1}\n```'
        ),
    )


@retriever(expects="tower fees", recall=0.5, first=0.5)
def tree_walk() -> Any:
    """A model walks down a tree of summaries and chooses a leaf."""
    index = TreeIndex(nodes("ferry tower fees"), llm=model("About an island."), num_children=2)
    index._llm = by_words("ANSWER: 1", granite="ANSWER: 2")
    return index.as_retriever(retriever_mode="select_leaf")


def _graph() -> PropertyGraphIndex:
    store = SimplePropertyGraphStore()
    store.upsert_llama_nodes(nodes("tower fees"))
    ends = [EntityNode(name="Lighthouse", properties={"triplet_source_id": "tower"})]
    ends += [EntityNode(name="Ada brandt", properties={"triplet_source_id": "tower"})]
    for each in ends:
        each.embedding = Words().get_text_embedding(each.name)
    store.upsert_nodes(ends)
    store.upsert_relations(
        [Relation(label="built by", source_id="Lighthouse", target_id="Ada brandt")]
    )
    return PropertyGraphIndex.from_existing(
        property_graph_store=store, llm=model(), embed_model=Words(), embed_kg_nodes=False
    )


@retriever(expects="tower fees", recall=0.5, first=0.5)
def property_graph() -> Any:
    """A model's synonyms lead to triplets, with the text that they were read from."""
    index = _graph()
    synonyms = LLMSynonymRetriever(
        index.property_graph_store, llm=model("lighthouse^beacon"), include_text=True
    )
    return index.as_retriever(sub_retrievers=[synonyms])


@retriever(expects="tower fees", recall=0.5, first=0.5, options={"id_key": "ref_doc_id"})
def property_graph_without_texts() -> Any:
    """Triplets alone are new nodes that name their source as their document."""
    index = _graph()
    synonyms = LLMSynonymRetriever(
        index.property_graph_store, llm=model("lighthouse^beacon"), include_text=False
    )
    return index.as_retriever(sub_retrievers=[synonyms])


@engine(
    expects="tower fees",
    recall=0.0,
    first=0.0,
    hidden={"plain": "the answer is the model's own, and names no sources"},
)
def empty_index() -> Any:
    """An index without nodes is asked."""
    return EmptyIndex().as_query_engine(llm=model())


@retriever(
    expects="d-tower d-fees d-lamp",
    recall=2 / 3,
    first=1 / 3,
    options={"id_key": "ref_doc_id"},
)
def chunks_by_document() -> Any:
    """Chunks have new IDs at every ingestion, and their documents keep theirs."""
    splitter = SentenceSplitter(chunk_size=24, chunk_overlap=0)
    documents = [
        Document(id_=f"d-{each.node_id}", text=each.text) for each in nodes("tower fees lamp ferry")
    ]
    index = VectorStoreIndex.from_documents(
        documents, transformations=[splitter], embed_model=Words()
    )
    return index.as_retriever(similarity_top_k=2)
