"""Make the record of a retrieval from the steps that LlamaIndex reported."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from llama_index.core.schema import MetadataMode, NodeWithScore

from fullrecall import Context
from fullrecall.observe import DocumentCopy, Step, StepReading
from fullrecall.samples.context import finite, known_context
from llama_index.evaluation.fullrecall.nodes import NodeReader, content_of
from llama_index.evaluation.fullrecall.reader import NodeCopy

UNSEEN = (
    "no retrieval was seen: no retriever was asked, or in a thread that was started without "
    "copy_context()"
)


@dataclass(frozen=True, kw_only=True)
class LlamaIndexReading(NodeReader, StepReading):
    """How steps are read: the options that the evaluator, `observed` and captures share."""

    def __post_init__(self) -> None:
        NodeReader.__post_init__(self)
        StepReading.__post_init__(self)

    @property
    def changes_documents(self) -> bool:
        """Whether nodes get other IDs than their own, or are replaced by their parts."""
        return self.id_key != "node_id" or self.expand is not None

    def documents_of(self, copy: DocumentCopy, rank: int) -> Iterable[DocumentCopy]:
        """Yield a node with the ID that `id_key` names, or the nodes that it was cut into.

        A node that was copied without an ID gets none. A copy of any other object is yielded
        unchanged.
        """
        if not isinstance(copy.detail, NodeCopy):
            yield copy
            return
        node, score = copy.detail.node, copy.detail.score
        for part in self.parts(node, rank):
            own_id = self.id_of(part, rank)
            if part is node:
                yield copy if copy.id is None else copy._replace(id=own_id)
            else:
                yield DocumentCopy(0, own_id, part.get_content(), NodeCopy.of(part, score))

    def links_of(self, copy: DocumentCopy) -> Collection[str]:
        """Return the texts in a node's relations and metadata that may be IDs of other nodes."""
        if not isinstance(copy.detail, NodeCopy):
            return super().links_of(copy)
        node = copy.detail.node
        related = [
            each.node_id
            for relation in node.relationships.values()
            for each in (relation if isinstance(relation, list) else [relation])
        ]
        names = [getattr(node, "index_id", None), *node.metadata.values()]
        return [*related, *(name for name in names if isinstance(name, str))]

    def context_of(self, copy: DocumentCopy, id: str | None) -> Context:  # noqa: A002
        """Return a node as a context with this ID."""
        own = copy.detail
        if isinstance(own, NodeCopy):
            plain = self.mode is MetadataMode.NONE
            text = own.content if plain else content_of(own.node, self.mode)
            return known_context(text, id or None, finite(own.score), own.metadata)
        return super().context_of(copy, id)


def nodes_in(steps: Iterable[Step]) -> list[NodeWithScore]:
    """Return the distinct nodes that steps returned, in their state when copied."""
    return nodes_of(copy for step in steps for each in step.returned for copy in each.documents)


def nodes_of(copies: Iterable[DocumentCopy]) -> list[NodeWithScore]:
    """Return the distinct LlamaIndex nodes of these copies, in their state when copied."""
    details = {id(copy.detail): copy.detail for copy in copies}
    nodes = (detail for detail in details.values() if isinstance(detail, NodeCopy))
    return [NodeWithScore(node=each.node, score=each.score) for each in nodes]
