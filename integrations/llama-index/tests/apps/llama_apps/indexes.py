"""Every kind of index, asked by its own retrievers and engines."""

from __future__ import annotations

from typing import Any

from llama_index.core import (
    Document,
    DocumentSummaryIndex,
    KeywordTableIndex,
    PropertyGraphIndex,
    SimpleKeywordTableIndex,
    StorageContext,
    SummaryIndex,
    TreeIndex,
    VectorStoreIndex,
    load_index_from_storage,
)
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import EntityNode, Relation
from llama_index.core.indices import EmptyIndex
from llama_index.core.indices.composability import ComposableGraph
from llama_index.core.indices.property_graph import LLMSynonymRetriever
from llama_index.core.node_parser import SentenceSplitter, SentenceWindowNodeParser
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.retrievers import VectorIndexAutoRetriever
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.types import MetadataInfo, VectorStoreInfo

from llama_apps.application import engine, retriever
from llama_apps.parts import ALL, Words, by_words, model, nodes, vector_index

# The nearest nodes to the question are "tower", then "fees"; no other shares a word with it.


@engine(expects="tower fees lamp", recall=2 / 3, first=1 / 3)
def vector_index_engine() -> Any:
    """The starter tutorial's index is asked through its engine."""
    return vector_index().as_query_engine(llm=model(), similarity_top_k=2)


@retriever(expects="tower fees lamp", recall=2 / 3, first=1 / 3)
def vector_index_retriever() -> Any:
    """An index is asked as a retriever."""
    return vector_index().as_retriever(similarity_top_k=2)


@engine(expects="tower fees", recall=0.5, first=0.5)
def tenant_filter() -> Any:
    """Each tenant sees the nodes with its own metadata."""
    mine = MetadataFilters(filters=[MetadataFilter(key="topic", value="visit")])
    return vector_index().as_query_engine(llm=model(), similarity_top_k=1, filters=mine)


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


@engine(expects="tower fees", recall=1.0, first=0.0)
def summary_index() -> Any:
    """A summary index returns all nodes, in their order."""
    return SummaryIndex(nodes("ferry tower fees")).as_query_engine(llm=model())


@retriever(expects="tower fees lamp", recall=2 / 3, first=1 / 3)
def summary_index_by_embedding() -> Any:
    """A summary index returns the nearest nodes of its list."""
    index = SummaryIndex(nodes(ALL))
    return index.as_retriever(retriever_mode="embedding", embed_model=Words(), similarity_top_k=2)


@retriever(expects="tower fees", recall=0.5, first=0.0)
def summary_index_by_model() -> Any:
    """A model chooses nodes of a summary index's list."""
    index = SummaryIndex(nodes("ferry tower fees"))
    return index.as_retriever(
        retriever_mode="llm", llm=model("Doc: 1, Relevance: 9\nDoc: 2, Relevance: 5")
    )


@engine(expects="tower fees lamp", recall=2 / 3, first=1 / 3)
def simple_keyword_table() -> Any:
    """A keyword table finds keywords by a regular expression."""
    index = SimpleKeywordTableIndex(nodes(ALL), llm=model())
    return index.as_query_engine(llm=model(), num_chunks_per_query=2)


@retriever(expects="tower fees", recall=0.5, first=0.5)
def keyword_table_by_model() -> Any:
    """A model finds the keywords of the nodes and of the question."""
    llm = by_words(
        "KEYWORDS: granite", children="KEYWORDS: admission", question="KEYWORDS: admission"
    )
    return KeywordTableIndex(nodes("tower fees"), llm=llm).as_retriever()


@engine(expects="tower fees", recall=1.0, first=0.0)
def tree_leaves() -> Any:
    """A tree of summaries returns all its leaves."""
    index = TreeIndex(nodes("ferry tower fees"), llm=model("About an island."))
    return index.as_query_engine(retriever_mode="all_leaf", llm=model())


@retriever(expects="tower fees", recall=0.5, first=0.5)
def tree_walk() -> Any:
    """A model walks down a tree of summaries and chooses a leaf."""
    index = TreeIndex(nodes("ferry tower fees"), llm=model("About an island."), num_children=2)
    index._llm = by_words("ANSWER: 1", granite="ANSWER: 2")
    return index.as_retriever(retriever_mode="select_leaf")


@retriever(expects="tower fees", recall=0.5, first=0.5)
def document_summaries() -> Any:
    """The nodes of the document with the nearest summary are returned."""
    llm = by_words(
        "A lighthouse tower.", ferry="Boats and crowns.", puffins="Animals of the island."
    )
    index = DocumentSummaryIndex(nodes(ALL), llm=llm, embed_model=Words(), embed_summaries=True)
    return index.as_retriever(retriever_mode="embedding", similarity_top_k=1)


@retriever(expects="tower fees", recall=0.5, first=0.5)
def document_summaries_by_model() -> Any:
    """A model chooses a document by its summary, and its nodes are returned."""
    index = DocumentSummaryIndex(
        nodes(ALL), llm=model("About an island."), embed_model=Words(), embed_summaries=False
    )
    index._llm = model("Doc: 1, Relevance: 8")
    return index.as_retriever(retriever_mode="llm")


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


@engine(expects="tower fees lamp", recall=2 / 3)
def composed_graph() -> Any:
    """An index of summaries over indexes answers the outer question from answers."""
    leaf = SummaryIndex(nodes("tower ferry"))
    other = SummaryIndex(nodes("fees hours"))
    graph = ComposableGraph.from_indices(
        SummaryIndex, [leaf, other], index_summaries=["the building", "visits"]
    )
    return graph.as_query_engine()


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


@engine(expects="tower fees lamp", recall=2 / 3, first=1 / 3)
def saved_index() -> Any:
    """An index is saved and loaded."""
    saved = vector_index().storage_context.to_dict()
    index = load_index_from_storage(StorageContext.from_dict(saved), embed_model=Words())
    return index.as_query_engine(llm=model(), similarity_top_k=2)


@retriever(expects="tower fees lamp", recall=2 / 3, first=1 / 3)
def diverse_neighbors() -> Any:
    """A retriever selects by maximal marginal relevance."""
    return vector_index().as_retriever(
        similarity_top_k=2,
        vector_store_query_mode="mmr",
        vector_store_kwargs={"mmr_threshold": 0.9},
    )


@engine(expects="tower fees lamp", recall=2 / 3, first=1 / 3)
def chunks_with_context() -> Any:
    """Each chunk begins with a model's sentence about its document (contextual retrieval)."""
    llm = model("This is about an island.")
    known = [
        TextNode(id_=each.node_id, text=f"{llm.complete(each.text).text}\n\n{each.text}")
        for each in nodes(ALL)
    ]
    return vector_index(known).as_query_engine(llm=model(), similarity_top_k=2)


@engine(
    expects="s-0 s-3",
    recall=0.5,
    first=0.5,
    retrieved=0.5,
    stages={"VectorIndexRetriever": 0.5},
)
def sentence_window() -> Any:
    """Sentences are searched, and the model reads the windows around them."""
    parser = SentenceWindowNodeParser.from_defaults(
        window_size=1, sentence_splitter=lambda text: text.split(". ")
    )
    text = ". ".join(each.text.removesuffix(".") for each in nodes("tower lamp"))
    parsed = parser.get_nodes_from_documents([Document(text=text)])
    for position, each in enumerate(parsed):
        each.id_ = f"s-{position}"
    replaces = MetadataReplacementPostProcessor(target_metadata_key="window")
    return vector_index(parsed).as_query_engine(
        llm=model(), similarity_top_k=1, node_postprocessors=[replaces]
    )
