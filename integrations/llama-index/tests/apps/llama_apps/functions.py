"""Functions of the question, which users pass to an evaluation instead of an engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

from llama_index.core import Document, SummaryIndex
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import VectorStoreQuery

from fullrecall import Context
from llama_apps.application import function
from llama_apps.parts import (
    TEXTS,
    Finds,
    Words,
    answered,
    engine_of,
    model,
    node,
    nodes,
    scored,
    vector_index,
)

texts = partial(function, returns="text")
"""A function that returns a text."""
others = partial(function, returns="other")
"""A function that returns neither nodes, a response nor a text."""

_UNSEEN = "a block does not see the return value of a function"
_BLOCKS = dict.fromkeys(("capture", "record", "row"), _UNSEEN)

# Forms of the result


_BARE = "texts without IDs, where IDs are compared"


@others(
    expects="tower fees",
    recall=0.5,
    first=0.0,
    retrieved=1.0,
    hidden={"plain": _BARE},
    skips={"function": _BARE},
)
def texts_by_hand() -> Any:
    """A function returns the texts of the first nodes."""
    return lambda question: [each.text for each in Finds("ferry tower fees").retrieve(question)[:2]]


@others(expects="tower fees", recall=0.5, first=0.0, retrieved=1.0)
def scores_by_id() -> Any:
    """A function fuses scores in a mapping by ID, and keeps the best."""

    def fused(question: str) -> dict[str, float]:
        found = Finds("ferry tower fees").retrieve(question)
        return {each.node_id: each.score or 0.0 for each in found[:2]}

    return fused


@others(expects="tower fees", recall=0.5, first=0.0, retrieved=1.0)
def pairs_of_id_and_score() -> Any:
    """A function returns IDs with scores."""
    return lambda question: [
        (each.node_id, each.score) for each in Finds("ferry tower fees").retrieve(question)[:2]
    ]


@others(expects="tower fees", recall=0.5, first=0.0, retrieved=1.0)
def contexts_by_hand() -> Any:
    """A function returns fullrecall's own contexts."""
    return lambda question: [
        Context(each.text, id=each.node_id)
        for each in Finds("ferry tower fees").retrieve(question)[:2]
    ]


@texts(expects="tower fees", recall=0.5, first=0.0, retrieved=1.0)
def answer_from_a_part() -> Any:
    """A synthesizer reads a part of the nodes, and the function returns its text."""
    return lambda question: str(answered(Finds("ferry tower fees").retrieve(question)[:2]))


@others(expects="tower fees", recall=0.5, first=0.0, skips=_BLOCKS)
def ids_of_a_service() -> Any:
    """A function returns the IDs of a service, without texts."""
    return lambda question: ["ferry", "tower"]


@function(expects="tower fees", recall=0.5, first=0.0, retrieved=1.0)
def yielded_nodes() -> Any:
    """A generator yields nodes."""

    def ask(question: str) -> Any:
        yield from Finds("ferry tower fees").retrieve(question)[:2]

    return ask


async def _awaited(question: str) -> Any:
    found = await Finds("ferry tower fees").aretrieve(question)
    return SimilarityPostprocessor(similarity_cutoff=0.4).postprocess_nodes(found)


@function(expects="tower fees", recall=0.5, first=0.0, retrieved=1.0, stages={"Finds": 1.0})
def awaited_function() -> Any:
    """A coroutine function calls a postprocessor itself."""
    return _awaited


# Small to big, and back


def _family(parent: str, names: str) -> list[TextNode]:
    children = [
        TextNode(
            id_=f"{parent}-{name}",
            text=TEXTS[name][1],
            relationships={NodeRelationship.PARENT: RelatedNodeInfo(node_id=parent)},
        )
        for name in names.split()
    ]
    return [TextNode(id_=parent, text=" ".join(each.text for each in children)), *children]


def _small_to_big(names: str) -> Any:
    """Return a function that searches the children and answers from their parents."""
    store = SimpleDocumentStore()
    store.add_documents([*_family("building", "tower lamp"), *_family("visit", "fees ferry")])
    children = [store.get_document(each) for each in names.split()]
    search = SummaryIndex(children).as_retriever()

    def ask(question: str) -> Any:
        found = search.retrieve(question)
        parents = dict.fromkeys(each.node.parent_node.node_id for each in found)
        return answered([NodeWithScore(node=store.get_document(each)) for each in parents])

    return ask


@function(expects="building seals", recall=0.5, first=0.5, returns="response")
def small_to_big_from_one_child() -> Any:
    """One child is found, and the answer is from its parent."""
    return _small_to_big("building-tower")


@function(expects="building seals", recall=0.5, first=0.5, returns="response")
def small_to_big_from_two_children() -> Any:
    """Two children of one parent are found, and the answer is from the parent."""
    return _small_to_big("building-tower building-lamp")


def _with_neighbor(question: str) -> Any:
    store = SimpleDocumentStore()
    store.add_documents(nodes("tower lamp"))
    found = Finds("tower").retrieve(question)
    after = NodeWithScore(node=store.get_document("lamp"), score=0.5)
    return answered([*found, after])


@function(expects="tower lamp seals", recall=2 / 3, first=1 / 3, returns="response")
def neighbor_of_a_docstore() -> Any:
    """The answer is from the found node and its neighbor in a docstore."""
    return _with_neighbor


@function(expects="tower lamp seals", recall=2 / 3, first=1 / 3, skips=_BLOCKS)
def neighbor_that_is_returned() -> Any:
    """A function returns the found node and its neighbor in a docstore."""

    def ask(question: str) -> Any:
        lamp = NodeWithScore(node=node("lamp"), score=0.5)
        return [*Finds("tower").retrieve(question), lamp]

    return ask


# Several searches


def _documents_then_chunks(question: str) -> Any:
    cards = [Document(id_="card-building", text="A lighthouse tower."), Document(text="Animals.")]
    (best,) = vector_index(cards).as_retriever(similarity_top_k=1).retrieve(question)
    chunks = Finds("tower lamp" if best.node_id == "card-building" else "seals")
    context = "\n".join(each.text for each in chunks.retrieve(question))
    return str(model().complete(f"{context}\n{question}"))


@texts(expects="card-building tower", recall=1.0, first=1.0, read=0.5)
def documents_then_chunks() -> Any:
    """A function searches documents, then chunks, and puts only the chunks into a prompt."""
    return _documents_then_chunks


@texts(expects="tower fees seals", recall=2 / 3, first=1 / 3)
def answers_of_two_engines() -> Any:
    """Two engines are asked; a model joins their answers."""

    def ask(question: str) -> str:
        engines = engine_of(Finds("tower lamp")), engine_of(Finds("ferry fees"))
        return str(model().complete("; ".join(str(each.query(question)) for each in engines)))

    return ask


@function(expects="tower fees", recall=1.0, first=0.5, retrieved=1.0)
def searches_in_threads() -> Any:
    """Two searches run in threads that have the caller's context."""

    def ask(question: str) -> Any:
        with ThreadPoolExecutor(2) as pool:
            asked = [
                pool.submit(copy_context().run, Finds(each).retrieve, question)
                for each in ("tower lamp", "ferry fees")
            ]
            first, second = (each.result() for each in asked)
        return [first[0], second[1]]

    return ask


_THREAD = "a thread without the caller's context cannot be told from other callers' threads"


@texts(expects="tower fees", recall=0.5, first=0.0, unscorable=_THREAD)
def search_in_a_bare_thread() -> Any:
    """A search runs in a thread of a plain pool."""

    def ask(question: str) -> str:
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(Finds("ferry tower").retrieve, question).result()
        return str(answered(found))

    return ask


# Other stores

_SILENT = "no retriever was asked: a vector store fires no event"


@texts(expects="tower fees", recall=0.5, first=0.0, unscorable=_SILENT)
def store_asked_directly() -> Any:
    """A function asks the vector store without a retriever, and returns an answer's text."""
    index = vector_index(nodes("tower fees"))

    def ask(question: str) -> str:
        embedding = Words().get_query_embedding(question)
        query = VectorStoreQuery(query_embedding=embedding, similarity_top_k=1)
        found = index.vector_store.query(query).ids
        context = "\n".join(TEXTS[each][1] for each in found)
        return str(model().complete(f"{context}\n{question}"))

    return ask


@function(
    expects="tower fees",
    recall=0.5,
    first=0.5,
    skips=_BLOCKS,
)
def store_asked_directly_for_nodes() -> Any:
    """A function asks the vector store without a retriever, and returns its nodes."""
    index = vector_index(nodes("tower fees"))

    def ask(question: str) -> Any:
        embedding = Words().get_query_embedding(question)
        query = VectorStoreQuery(query_embedding=embedding, similarity_top_k=1)
        return [node(each) for each in index.vector_store.query(query).ids]

    return ask


@function(expects="tower fees", recall=0.5, first=0.0, skips=_BLOCKS)
def answer_of_nodes_from_a_database() -> Any:
    """A function returns nodes that are made of a database's rows."""
    return lambda question: [NodeWithScore(node=node(each)) for each in ("ferry", "tower")]


@function(expects="tower fees", recall=0.5, first=0.0, returns="response")
def response_of_nodes_from_a_database() -> Any:
    """A function answers from nodes that are made of a database's rows."""
    return lambda question: answered(scored("ferry tower"))
