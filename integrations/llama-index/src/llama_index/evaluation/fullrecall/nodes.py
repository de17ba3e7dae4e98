"""Read LlamaIndex nodes as contexts, with the ID that `id_key` names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, TypeAlias, TypeGuard

from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, TextNode
from llama_index.core.storage.docstore.types import BaseDocumentStore

from fullrecall import Context
from fullrecall._util.parameters import check_choice
from fullrecall.errors import InputError, ParameterError
from fullrecall.samples.context import ID, finite, known_context
from fullrecall.samples.hit_fields import at_path
from fullrecall.samples.id_keys import IdKey, check_id_key, id_by
from fullrecall.samples.identifiers import as_id

NodeLike: TypeAlias = NodeWithScore | BaseNode
"""A node of an index, or a scored node that a retriever returns."""

NAMED_KEYS: dict[str, Callable[[BaseNode], ID | None]] = {
    "node_id": attrgetter("node_id"),
    "ref_doc_id": attrgetter("ref_doc_id"),
    "hash": attrgetter("hash"),
}
"""For each key that every node has, the function that reads it."""


def contexts(
    nodes: Iterable[NodeLike],
    *,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    expand: BaseDocumentStore | None = None,
) -> list[Context]:
    """Return LlamaIndex nodes as contexts, in their order, which is the rank.

    - `id_key`: the ID of a context: "node_id"; "ref_doc_id", the ID of the document that the node
      was cut from; "hash", the hash of its text and metadata; any other str, a key of its metadata
      or a dotted path there; several of these, joined by ":"; or a function of the node. A node
      without this value becomes a context without an ID; `IdRecall` notes how many contexts have no
      ID.
    - `metadata_mode`: the metadata that the text includes. The default leaves all metadata out, as
      `node.get_content()` does; `MetadataMode.LLM` gives the text that the LLM reads.
    - `expand`: a docstore, such as `storage_context.docstore`. It replaces a node by the smallest
      nodes that it was cut into, in their order, each with the node's score. An
      `AutoMergingRetriever` needs it, since it returns parents although the references name leaves.
      Ranks count the smallest nodes.

    Later changes of the nodes, as by postprocessors, do not reach the contexts. Scores that are
    not finite are left out. Raises `ParameterError` for an unknown `id_key`, `metadata_mode` or
    `expand`; `InputError` for items that are not nodes, for invalid IDs, and for smaller nodes
    that the docstore lacks.
    """
    reader = NodeReader(id_key=id_key, metadata_mode=metadata_mode, expand=expand)
    return reader.contexts(nodes)


@dataclass(frozen=True, kw_only=True)
class NodeReader:
    """How nodes are read as contexts: the parameters of `contexts`, checked once."""

    id_key: IdKey = "node_id"
    metadata_mode: MetadataMode | str = MetadataMode.NONE
    expand: BaseDocumentStore | None = None

    def __post_init__(self) -> None:
        if self.expand is not None and not isinstance(self.expand, BaseDocumentStore):
            raise ParameterError(
                "must be a docstore, such as storage_context.docstore, "
                f"got {type(self.expand).__name__}",
                "expand",
            )
        if self.id_key is None:
            raise ParameterError("must be a key or a function, got None: leave it out", "id_key")
        check_id_key(self.id_key)
        check_choice(self.metadata_mode, "metadata_mode", [each.value for each in MetadataMode])

    @cached_property
    def _get_id(self) -> Callable[[BaseNode], ID | None]:
        if isinstance(self.id_key, str) and self.id_key in NAMED_KEYS:
            return NAMED_KEYS[self.id_key]

        def at(node: BaseNode, path: str) -> ID | None:
            own = NAMED_KEYS.get(path)
            return at_path(node.metadata, path) if own is None else own(node)

        return lambda node: id_by(self.id_key, node, partial(at, node))

    @cached_property
    def mode(self) -> MetadataMode:
        """The metadata that a context's text includes."""
        return MetadataMode(self.metadata_mode)

    def contexts(self, nodes: Iterable[NodeLike]) -> list[Context]:
        """Return `nodes` as contexts; raise `InputError` for items that are not nodes."""
        return [
            known_context(
                content_of(part, self.mode),
                self.id_of(part, rank) or None,
                finite(score),
                {**part.metadata},
            )
            for rank, item in enumerate(_several(nodes), start=1)
            for node, score in [_checked(item, rank)]
            for part in self.parts(node, rank)
        ]

    def parts(self, node: BaseNode, rank: int) -> Iterable[BaseNode]:
        """Return a node, or the smallest nodes that it was cut into if `expand` is set."""
        return (node,) if self.expand is None else _leaves(node, self.expand, rank)

    def id_of(self, node: BaseNode, rank: int) -> str | None:
        """Return a node's ID, if any; raise `InputError` if `id_key` fails or gives no valid ID."""
        try:
            value = self._get_id(node)
            return None if value is None else as_id(value)
        except Exception as error:
            raise InputError(
                f"rank {rank}, node {node.node_id!r}: id_key={self.id_key!r} returns no ID: "
                f"{type(error).__name__}: {error}"
            ) from error

    def other_ids(self, nodes: Iterable[NodeLike]) -> dict[str, list[ID | None]]:
        """Return, for each other option, the IDs that nodes would have under it."""
        bare = [node for node, _ in map(node_and_score, nodes)]
        ids: dict[str, list[ID | None]] = {
            f"id_key={name!r}": [get(node) for node in bare]
            for name, get in NAMED_KEYS.items()
            if name != self.id_key
        }
        if self.expand is None:
            parts = (part.node_id for node in bare for part in node.child_nodes or ())
            ids["expand=storage_context.docstore"] = [*parts]
        parents = (node.parent_node.node_id for node in bare if node.parent_node is not None)
        ids["id_key=lambda node: node.parent_node.node_id"] = [*parents]
        return ids


def got(value: object) -> str:
    """Return the end of an error message, "got …", for an instance or a class."""
    if isinstance(value, type):
        return f"got the class {value.__name__}: pass an instance of it"
    return f"got {type(value).__name__}"


def content_of(node: BaseNode, mode: MetadataMode = MetadataMode.NONE) -> str:
    """Return the text of a node, by default without its metadata."""
    if mode is MetadataMode.NONE and type(node) is TextNode:
        return node.text  # This equals `get_content`, which writes the metadata out first.
    return node.get_content(metadata_mode=mode)


def node_and_score(item: object) -> tuple[Any, float | None]:
    """Return the node and the score of a scored node; for any other item, the item and None."""
    return (item.node, item.score) if isinstance(item, NodeWithScore) else (item, None)


def _checked(item: object, rank: int) -> tuple[BaseNode, float | None]:
    node, score = node_and_score(item)
    if not isinstance(node, BaseNode):
        raise InputError(f"rank {rank}: expected a node, got {type(item).__name__}")
    return node, score


def are_nodes(items: object) -> TypeGuard[list[NodeLike] | tuple[NodeLike, ...]]:
    """Return whether `items` is a list or tuple that is empty or has a node in it."""
    return isinstance(items, (list, tuple)) and (
        not items or any(isinstance(item, (NodeWithScore, BaseNode)) for item in items)
    )


def _several(nodes: object) -> Iterable[object]:
    """Return `nodes`; raise `InputError` for a single node, a text, or any value without items."""
    # A node is a pydantic model, so it can be iterated over, like a list of its fields.
    if isinstance(nodes, (str, NodeWithScore, BaseNode)) or not isinstance(nodes, Iterable):
        raise InputError(
            "nodes must be a list of nodes, such as retriever.retrieve(…) or "
            f"response.source_nodes, got {type(nodes).__name__}"
        )
    return nodes


def _leaves(node: BaseNode, docstore: BaseDocumentStore, rank: int) -> Iterator[BaseNode]:
    """Yield the descendants of a node that have no children, in their order."""
    children = node.child_nodes or ()
    if not children:
        yield node
    for child in children:
        part = docstore.get_document(child.node_id, raise_error=False)
        if part is None:
            raise InputError(
                f"rank {rank}, node {node.node_id!r}: its part {child.node_id!r} is not in the "
                "docstore given as expand"
            )
        yield from _leaves(part, docstore, rank)
