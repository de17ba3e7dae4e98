"""Retrievers that combine, merge, follow references, or look nodes up in a store."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from llama_index.core import StorageContext, SummaryIndex, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.retrievers import (
    AutoMergingRetriever,
    QueryFusionRetriever,
    RecursiveRetriever,
    RouterRetriever,
    TransformRetriever,
)
from llama_index.core.schema import (
    IndexNode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.tools import RetrieverTool
from random_programs import Selects

from llama_apps.application import engine, retriever
from llama_apps.parts import (
    ALL,
    TEXTS,
    Finds,
    FindsFor,
    Words,
    engine_of,
    model,
    node,
    nodes,
    picture,
    vector_index,
)

# Several searches


class Hybrid(BaseRetriever):
    """A retriever of the nodes that either search, or both, return."""

    def __init__(self, first: BaseRetriever, second: BaseRetriever, *, both: bool) -> None:
        self.first, self.second, self.both = first, second, both
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        first = {each.node_id: each for each in self.first.retrieve(query_bundle)}
        second = {each.node_id: each for each in self.second.retrieve(query_bundle)}
        every = {**first, **second}
        kept = [name for name in every if not self.both or (name in first and name in second)]
        return [every[name] for name in kept]


@retriever(expects="tower fees", recall=1.0, first=0.0)
def hybrid_of_either() -> Any:
    """A custom retriever returns the nodes of a vector or keyword search."""
    return Hybrid(Finds("ferry tower"), Finds("tower fees"), both=False)


@engine(expects="tower fees", recall=0.5, first=0.5)
def hybrid_of_both() -> Any:
    """A custom retriever returns the nodes of both a vector and a keyword search."""
    return engine_of(Hybrid(Finds("ferry tower"), Finds("tower fees"), both=True))


@retriever(expects="tower fees hours", recall=2 / 3, first=1 / 3)
def fusion_of_generated_queries() -> Any:
    """A model writes more queries for a fusion."""
    return QueryFusionRetriever(
        [FindsFor(lighthouse="tower lamp", prices="fees ferry")],
        llm=model("lighthouse year\nprices"),
        num_queries=3,
        similarity_top_k=3,
        use_async=False,
    )


@retriever(expects="tower fees", recall=0.5, first=0.5)
def routed_retriever() -> Any:
    """A selector chooses one of two retrievers."""
    tools = [
        RetrieverTool.from_defaults(Finds(found), name=name, description="d")
        for name, found in (("nature", "seals puffins"), ("visits", "fees hours"))
    ]
    return RouterRetriever(Selects(1), tools, llm=model())


@retriever(expects=[["tower-128", "tower-512"], ["fees-128", "fees-512"]], recall=1.0, first=0.5)
def several_chunk_sizes() -> Any:
    """Ensemble retrieval finds each text in chunks of any size."""
    sizes = {}
    for size, found in ((128, "tower ferry"), (512, "hours fees")):
        chunks = [
            TextNode(id_=f"{each.node_id}-{size}", text=f"{each.text} ({size})")
            for each in nodes(found)
        ]
        sizes[size] = SummaryIndex(chunks).as_retriever()
    objects = [
        IndexNode(text=f"chunks of {size}", index_id=str(size), obj=each)
        for size, each in sizes.items()
    ]
    return SummaryIndex(objects=objects).as_retriever()


@retriever(expects="tower fees", recall=1.0, first=0.5)
def own_reciprocal_fusion() -> Any:
    """A user's code fuses ranks, over queries that a model wrote."""
    searches = FindsFor(lighthouse="tower ferry", prices="tower fees")
    llm = model("lighthouse year\nprices")

    class Fuses(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            points: dict[str, float] = {}
            known = {}
            for query in llm.complete("Write two queries.").text.splitlines():
                for rank, each in enumerate(searches.retrieve(query), start=1):
                    known[each.node_id] = each.node
                    points[each.node_id] = points.get(each.node_id, 0.0) + 1 / (60 + rank)
            best = sorted(points, key=lambda name: -points[name])
            return [NodeWithScore(node=known[name], score=points[name]) for name in best]

    return Fuses()


@retriever(expects="seals fees", recall=0.5, first=0.5)
def imagined_answer() -> Any:
    """A retriever searches for an imagined answer (HyDE)."""
    transform = HyDEQueryTransform(llm=model("Grey seals rest."), include_original=False)
    searches = vector_index(nodes("tower seals")).as_retriever(similarity_top_k=1)
    return TransformRetriever(searches, transform)


class Down(BaseRetriever):
    """A search that fails."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise TimeoutError("the search is down")


class Survives(BaseRetriever):
    """A retriever that goes on with the searches that do not fail."""

    def __init__(self, *searches: BaseRetriever) -> None:
        self.searches = searches
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = []
        for each in self.searches:
            try:
                found += each.retrieve(query_bundle)
            except TimeoutError:
                continue
        return found


_DOWN = "a search failed, and code that goes on without it looks like code that lost half"


@engine(
    expects="tower fees",
    recall=0.5,
    first=0.5,
    unscorable=_DOWN,
    skips={"plain": _DOWN, "batch without a block": _DOWN},
)
def half_of_a_hybrid() -> Any:
    """One of two searches fails, and the code goes on."""
    return engine_of(Survives(Down(), Finds("tower hours")))


@engine(expects="tower fees", recall=0.5, first=0.5, options={"failed_calls": "score"})
def half_of_a_hybrid_scored() -> Any:
    """One of two searches fails, and the user asks to score the other one."""
    return engine_of(Survives(Down(), Finds("tower hours")))


# Parents and children


def _child(name: str, text: str, parent: str) -> TextNode:
    return TextNode(
        id_=name,
        text=text,
        relationships={NodeRelationship.PARENT: RelatedNodeInfo(node_id=parent)},
    )


def _family(parent: str, names: str) -> list[TextNode]:
    """Return a parent with the texts of these nodes, and its children."""
    children = [_child(each, TEXTS[each][1], parent) for each in names.split()]
    related = [RelatedNodeInfo(node_id=each.node_id) for each in children]
    whole = TextNode(
        id_=parent,
        text=" ".join(each.text for each in children),
        relationships={NodeRelationship.CHILD: related},
    )
    return [whole, *children]


def _store(*known: TextNode) -> StorageContext:
    store = StorageContext.from_defaults()
    store.docstore.add_documents(known)
    return store


class FindsNodes(BaseRetriever):
    """A search that finds these nodes."""

    def __init__(self, *found: TextNode) -> None:
        self.found = found
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=each.model_copy(), score=1 / rank)
            for rank, each in enumerate(self.found, start=1)
        ]


@engine(expects="building fees", recall=0.5, first=0.5)
def auto_merging() -> Any:
    """Both children of a parent are found, and the parent replaces them."""
    family = _family("building", "tower lamp")
    finds = FindsNodes(*family[1:])
    return engine_of(AutoMergingRetriever(finds, _store(*family), verbose=False))


_EXPANDED = _store(*_family("building", "tower lamp")).docstore


@engine(expects="lamp fees", recall=0.5, first=0.0, options={"expand": _EXPANDED})
def auto_merging_by_leaves() -> Any:
    """Both children of a parent are found, and the references name the leaves."""
    return auto_merging()


@retriever(expects="page-7 fees", recall=0.5, first=0.5, renews=True)
def auto_merging_of_an_only_child() -> Any:
    """A page has one chunk with the same text, and the parent is the reference."""
    family = _family("page-7", "tower")
    return AutoMergingRetriever(FindsNodes(family[1]), _store(*family), verbose=False)


@engine(expects="tower fees", recall=0.5, first=0.5, renews=True)
def auto_merging_of_an_only_child_by_leaf() -> Any:
    """A page has one chunk with the same text, and the child is the reference."""
    return engine_of(auto_merging_of_an_only_child())


def _small_chunks(parents: str) -> list[IndexNode]:
    """Return the sentences of nodes, each with a reference to its node."""
    return [
        IndexNode(id_=f"{each.node_id} {n}", text=sentence, index_id=each.node_id)
        for each in nodes(parents)
        for n, sentence in enumerate(each.text.split(". "))
    ]


@engine(expects="tower fees lamp", recall=2 / 3, first=1 / 3)
def sentences_to_chunks() -> Any:
    """A recursive retriever searches sentences, which lead to the chunks around them."""
    vector = vector_index(_small_chunks(ALL)).as_retriever(similarity_top_k=2)
    known = {name: node(name) for name in TEXTS}
    return engine_of(RecursiveRetriever("vector", {"vector": vector}, node_dict=known))


@retriever(expects="tower fees", recall=0.5, first=0.5)
def summaries_to_chunks() -> Any:
    """A summary of each chunk, and a question about it, lead to the chunk."""
    of = [
        IndexNode(text="When was the lighthouse finished?", index_id="tower"),
        IndexNode(text="A tower built by an engineer.", index_id="tower"),
        IndexNode(text="How many puffins nest?", index_id="puffins"),
    ]
    vector = vector_index(of).as_retriever(similarity_top_k=2)
    known = {name: node(name) for name in TEXTS}
    return RecursiveRetriever("vector", {"vector": vector}, node_dict=known)


def _same_text(of: str) -> Any:
    """Return a retriever whose references have the texts of the chunks that they lead to."""
    links = [
        IndexNode(id_=f"link-{each.node_id}", text=each.text, index_id=each.node_id)
        for each in nodes(of)
    ]
    known = {name: node(name) for name in TEXTS}
    return RecursiveRetriever("root", {"root": FindsNodes(*links)}, node_dict=known)


@engine(expects="tower fees", recall=0.5, first=0.0)
def references_of_the_same_text() -> Any:
    """A reference has its chunk's own text, and chunks are expected."""
    return engine_of(_same_text("ferry tower"))


def _documents_to_engines() -> Any:
    return RecursiveRetriever(
        "root",
        {"root": FindsNodes(IndexNode(text="The lighthouse tower.", index_id="building"))},
        query_engine_dict={"building": engine_of(Finds("lamp tower"))},
    )


@retriever(
    expects="tower fees",
    recall=0.5,
    first=0.0,
    hidden={"plain": "only the answer of the inner engine is returned"},
)
def documents_to_engines() -> Any:
    """A summary leads to an engine, whose answer is returned as a node."""
    return _documents_to_engines()


@engine(
    expects="tower fees",
    recall=1.0,
    hidden={"plain": "only the answer of the inner engine is returned"},
)
def table_beside_texts() -> Any:
    """A table's engine answers among texts."""
    found = FindsNodes(node("tower"), IndexNode(text="Prices by year.", index_id="table"))
    return engine_of(
        RecursiveRetriever(
            "root",
            {"root": found},
            query_engine_dict={"table": engine_of(Finds("fees"))},
        )
    )


@retriever(expects="tower fees", recall=0.5, first=0.0)
def objects_that_are_retrievers() -> Any:
    """Index nodes carry retrievers (composable objects)."""
    objects = [
        IndexNode(text="The lighthouse tower.", index_id="building", obj=Finds("lamp tower")),
        IndexNode(text="Animals.", index_id="nature", obj=Finds("seals")),
    ]
    return VectorStoreIndex(objects=objects, embed_model=Words()).as_retriever(similarity_top_k=1)


@retriever(expects="tower fees lamp", recall=2 / 3, first=1 / 3)
def propositions() -> Any:
    """A model's propositions are searched, and lead to their chunks (Dense X)."""
    facts = {
        "tower": ["The lighthouse tower was finished in 1892.", "Ada Brandt was the engineer."],
        "fees": ["The admission costs are four crowns."],
        "seals": ["Seals rest on sandbanks."],
    }
    links = [
        IndexNode(text=fact, index_id=name, metadata={"fact": True})
        for name, each in facts.items()
        for fact in each
    ]
    vector = vector_index(links).as_retriever(similarity_top_k=2)
    return RecursiveRetriever("p", {"p": vector}, node_dict={name: node(name) for name in TEXTS})


# Stores


class LooksUp(BaseRetriever):
    """A retriever that searches small nodes, and returns parents or neighbors from a docstore."""

    def __init__(self, search: BaseRetriever, docstore: Any, look: Any) -> None:
        self.search, self.docstore, self.look = search, docstore, look
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.look(self.search.retrieve(query_bundle), self.docstore)


def _parents(found: list[NodeWithScore], docstore: Any) -> list[NodeWithScore]:
    parents = dict.fromkeys(each.node.parent_node.node_id for each in found)
    return [NodeWithScore(node=docstore.get_document(each), score=1.0) for each in parents]


@retriever(expects="building", recall=1.0, first=1.0)
def parent_of_one_child() -> Any:
    """One child is found, and its parent is returned."""
    family = _family("building", "tower lamp")
    return LooksUp(FindsNodes(family[1]), _store(*family).docstore, _parents)


def _in_line(names: str) -> list[TextNode]:
    line = nodes(names)
    for before, after in pairwise(line):
        before.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=after.node_id)
        after.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=before.node_id)
    return line


def _with_next(found: list[NodeWithScore], docstore: Any) -> list[NodeWithScore]:
    every = []
    for each in found:
        every.append(each)
        if each.node.next_node is not None:
            after = docstore.get_document(each.node.next_node.node_id)
            every.append(NodeWithScore(node=after, score=each.score))
    return every


@engine(expects="tower lamp fees", recall=2 / 3, first=1 / 3)
def neighbors_of_a_docstore() -> Any:
    """The node after each found one comes from a docstore."""
    line = _in_line("tower lamp keeper")
    return engine_of(LooksUp(FindsNodes(line[0]), _store(*line).docstore, _with_next))


@retriever(expects="map plan", recall=0.5, first=0.0)
def pictures() -> Any:
    """A search finds pictures, which have no text."""

    class FindsPictures(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=picture(name), score=1.0) for name in ("logo", "map")]

    return FindsPictures()


@engine(expects="tower fees", recall=0.5, first=0.5)
def documents_first() -> Any:
    """A search among documents is followed by one among the chunks of the best."""

    class InTwo(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            cards = [TextNode(id_="card-1", text="The lighthouse."), TextNode(text="Animals.")]
            (best,) = vector_index(cards).as_retriever(similarity_top_k=1).retrieve(query_bundle)
            return Finds("tower lamp" if best.node_id == "card-1" else "seals").retrieve("q")

    return engine_of(InTwo())
