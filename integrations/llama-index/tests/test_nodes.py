"""Nodes become contexts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.node_parser import HierarchicalNodeParser, TokenTextSplitter, get_leaf_nodes
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.retrievers import AutoMergingRetriever
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore

from fullrecall import IdRecall, Sample
from fullrecall.diagnosis import id_hint
from fullrecall.errors import InputError, ParameterError
from llama_index.evaluation.fullrecall import contexts
from llama_index.evaluation.fullrecall.nodes import NodeReader
from llama_index.evaluation.fullrecall.reader import is_text_of_object


def test_retrieved_nodes_become_contexts_in_their_order(index: VectorStoreIndex) -> None:
    """A context has its node's ID, text, score and metadata, and the list's order is the rank."""
    nodes = index.as_retriever(similarity_top_k=3).retrieve(
        "Where in Paris does the Eiffel Tower stand?"
    )
    read = contexts(nodes)
    assert [context.id for context in read] == ["place", "height", "capital"]
    assert read[0].text == "The Eiffel Tower stands in Paris."
    assert read[0].score == nodes[0].score
    assert read[0].metadata == {"title": "Place"}
    assert (read[0].source, read[0].start, read[0].end) == (None, None, None)


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_finite_number_is_left_out(score: float) -> None:
    """A node with a NaN score, as of an empty vector, counts without it."""
    (context,) = contexts([NodeWithScore(node=TextNode(id_="a", text="x"), score=score)])
    assert (context.id, context.score) == ("a", None)


@pytest.mark.parametrize(
    ("id_key", "expected"),
    [
        ("node_id", "n-1"),
        ("ref_doc_id", "doc-1"),
        ("isbn", "978"),
        ("a:b", "colon"),
        (lambda node: f"{node.ref_doc_id}#{node.metadata['page']}", "doc-1#4"),
        (lambda node: UUID(int=node.metadata["page"]), str(UUID(int=4))),
    ],
)
def test_the_id_is_what_the_id_key_names(id_key: Any, expected: str) -> None:
    """`id_key` names a document's or chunk's ID, which may be an int or UUID."""
    node = TextNode(
        id_="n-1",
        text="x",
        metadata={"isbn": 978, "page": 4, "a:b": "colon"},
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc-1")},
    )
    assert [context.id for context in contexts([node], id_key=id_key)] == [expected]


@pytest.mark.parametrize("id_key", ["", None, 7])
def test_an_unknown_id_key_is_refused_at_once(id_key: Any) -> None:
    """An `id_key` that is neither a key nor a function is refused with the known keys."""
    with pytest.raises(ParameterError, match="id_key must be"):
        contexts([], id_key=id_key)


@pytest.mark.parametrize("value", [1.5, ["a"], True])
def test_a_value_that_is_no_id_names_the_node(value: object) -> None:
    """A float in the metadata is refused as an ID, with the node named."""
    node = TextNode(id_="n-1", text="x", metadata={"key": value})
    with pytest.raises(InputError, match=r"rank 1, node 'n-1': id_key='key' returns no ID"):
        contexts([node], id_key="key")


def test_an_id_function_that_fails_names_the_node() -> None:
    """An exception of an ID function names the node."""
    with pytest.raises(InputError, match=r"rank 1, node 'n-1'.*KeyError: 'page'"):
        contexts([TextNode(id_="n-1", text="x")], id_key=lambda node: node.metadata["page"])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (MetadataMode.NONE, "The text."),
        ("none", "The text."),
        (MetadataMode.LLM, "title: T\n\nThe text."),
        ("embed", "path: p\n\nThe text."),
        (MetadataMode.ALL, "path: p\ntitle: T\n\nThe text."),
    ],
)
def test_the_metadata_mode_chooses_the_text(mode: Any, expected: str) -> None:
    """`metadata_mode` decides whether a claim about the title can be supported."""
    node = TextNode(
        text="The text.",
        metadata={"path": "p", "title": "T"},
        excluded_llm_metadata_keys=["path"],
        excluded_embed_metadata_keys=["title"],
    )
    assert [context.text for context in contexts([node], metadata_mode=mode)] == [expected]


def test_an_unknown_metadata_mode_is_refused() -> None:
    """The error lists the modes."""
    with pytest.raises(ParameterError, match=r"'all' or 'embed' or 'llm' or 'none', got 'llms'"):
        contexts([], metadata_mode="llms")


def test_nodes_that_hold_no_text_nodes_are_read() -> None:
    """Documents, images with captions and multimodal nodes give their text, if any."""
    nodes = [
        Document(id_="d", text="a document"),
        ImageNode(id_="i", text="a caption"),
        Node(id_="n", text_resource=MediaResource(text="a resource")),
        Node(id_="e"),
    ]
    assert [(c.id, c.text) for c in contexts(nodes)] == [
        ("d", "a document"),
        ("i", "a caption"),
        ("n", "a resource"),
        ("e", ""),
    ]


def test_contexts_are_snapshots_of_live_nodes() -> None:
    """A later change of a node does not change its context."""
    node = TextNode(id_="a", text="sentence", metadata={"window": "the whole window"})
    nodes = [NodeWithScore(node=node, score=0.5)]
    before = contexts(nodes)
    after = MetadataReplacementPostProcessor(target_metadata_key="window").postprocess_nodes(nodes)
    node.metadata["window"] = "changed"
    assert after[0].node.get_content() == "the whole window"
    assert before[0].text == "sentence"
    assert before[0].metadata == {"window": "the whole window"}


@pytest.mark.parametrize(
    "nodes", ["text", TextNode(text="x"), NodeWithScore(node=TextNode(text="x")), 7, None]
)
def test_a_single_node_is_refused(nodes: Any) -> None:
    """A single node is refused, though pydantic would iterate over its fields."""
    with pytest.raises(InputError, match="nodes must be a list of nodes"):
        contexts(nodes)


def test_an_item_that_is_no_node_is_named_by_its_rank() -> None:
    """A text among nodes is an error with its position."""
    with pytest.raises(InputError, match="rank 2: expected a node, got str"):
        contexts([TextNode(text="x"), "text"])  # type: ignore[list-item]


class Found(BaseRetriever):
    """A retriever of the same nodes for every question."""

    def __init__(self, nodes: list[BaseNode]) -> None:
        self.nodes = nodes
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=node, score=0.5) for node in self.nodes]


@pytest.fixture
def hierarchy() -> tuple[list[BaseNode], SimpleDocumentStore]:
    """Return the leaves and a docstore of four documents, with 3, 2, 2 and 2 leaves."""
    parser = HierarchicalNodeParser.from_defaults(
        node_parser_ids=["parents", "leaves"],
        node_parser_map={
            "parents": TokenTextSplitter(chunk_size=40, chunk_overlap=0),
            "leaves": TokenTextSplitter(chunk_size=9, chunk_overlap=0),
        },
    )
    documents = [
        Document(id_=name, text=" ".join(f"{name}{n}" for n in range(words)))
        for name, words in {"a": 9, "b": 6, "c": 6, "d": 6}.items()
    ]
    nodes = parser.get_nodes_from_documents(documents)
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    return get_leaf_nodes(nodes), docstore


def test_merged_parents_count_as_their_leaves(
    hierarchy: tuple[list[BaseNode], SimpleDocumentStore],
) -> None:
    """Three merged parents count as their seven leaves if expanded: recall 1.0 instead of 0.125."""
    leaves, docstore = hierarchy
    merging = AutoMergingRetriever(
        Found(leaves[:8]),  # type: ignore[arg-type]
        StorageContext.from_defaults(docstore=docstore),
    )
    found = merging.retrieve("q")
    assert (len(leaves), len(found)) == (9, 4)
    wanted = [leaf.node_id for leaf in leaves[:8]]

    def recall(**options: Any) -> float | None:
        read = contexts(found, **options)
        return IdRecall().score(retrieved_contexts=read, reference_context_ids=wanted).score

    assert recall() == 0.125
    assert recall(expand=docstore) == 1.0
    expanded = contexts(found, expand=docstore)
    assert len(expanded) == 8
    assert {context.text for context in expanded} == {leaf.get_content() for leaf in leaves[:8]}
    assert {context.score for context in expanded} == {0.5}
    sample = Sample(retrieved_contexts=contexts(found), reference_context_ids=wanted[:7])
    hint = id_hint(sample, NodeReader().other_ids(found))
    assert hint is not None
    assert "expand=storage_context.docstore would find them" in hint


def test_a_part_that_is_in_no_docstore_is_named(
    hierarchy: tuple[list[BaseNode], SimpleDocumentStore],
) -> None:
    """A missing part of a node is an error that names the part."""
    leaves, docstore = hierarchy
    parent = docstore.get_document(
        (leaves[0].parent_node or leaves[0].as_related_node_info()).node_id
    )
    assert parent is not None
    message = (
        f"rank 1, node '{parent.node_id}': its part '{leaves[0].node_id}' is not in the docstore"
    )
    with pytest.raises(InputError, match=message):
        contexts([parent], expand=SimpleDocumentStore())


@pytest.mark.parametrize("expand", [True, {}, "docstore"])
def test_an_object_that_is_no_docstore_is_refused(expand: Any) -> None:
    """The error for an object that is not a docstore says where to find one."""
    with pytest.raises(ParameterError, match="expand must be a docstore, such as storage_context"):
        contexts([], expand=expand)


@pytest.mark.parametrize(
    ("expected", "option"),
    [
        ("doc-1", "id_key='ref_doc_id'"),
        ("978", "id_key='isbn'"),
        ("big", "id_key=lambda node: node.parent_node.node_id"),
        ("small", "expand=storage_context.docstore"),
        ("n-1", None),
        ("other", ""),
    ],
)
def test_the_option_that_would_have_matched_is_named(expected: str, option: str | None) -> None:
    """The hint names the option that fits: documents, metadata, parents or parts."""
    related = RelatedNodeInfo
    node = TextNode(
        id_="n-1",
        text="x",
        metadata={"isbn": 978, "share": 0.5},
        relationships={
            NodeRelationship.SOURCE: related(node_id="doc-1"),
            NodeRelationship.PARENT: related(node_id="big"),
            NodeRelationship.CHILD: [related(node_id="small")],
        },
    )
    reader = NodeReader()
    sample = Sample(
        retrieved_contexts=reader.contexts([node]), reference_context_ids=[expected, "else"]
    )
    hint = id_hint(sample, reader.other_ids([node]))
    told = f"the references are in other fields: {option} would find them"
    assert hint == (told if option else option)


@pytest.mark.parametrize(
    ("text", "metadata", "is_object"),
    [
        ("<message role='user'>Hello</message>", {"session_id": "s"}, True),
        ("<message role='user'>Hello</message>", {}, False),
        ("Hello", {"session_id": "s"}, False),
        ("Tool name: add\nTool description: Adds.", {"name": "add"}, True),
        ("Tool name: add\nTool description: Adds.", {"name": "other"}, False),
        ("Hello", {"sub_dicts": [{"role": "user"}]}, True),
        ("Hello", {"sub_dicts": [{"role": "user"}, "x"]}, False),
        ("Hello", {"sub_dicts": "role"}, False),
    ],
)
def test_nodes_of_tools_and_messages_are_no_documents(
    text: str, metadata: dict[str, Any], *, is_object: bool
) -> None:
    """LlamaIndex indexes tools, objects and chat messages as nodes, in forms of its own."""
    assert is_text_of_object(TextNode(text=text, metadata=metadata), text) == is_object
