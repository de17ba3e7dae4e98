"""Expected IDs of another level than the retrieved ones: documents' where nodes' are compared.

The usual reason why a working retriever scores 0: the data set names documents, by
`ref_doc_id` or in the metadata, and a node's own ID is another one; or it names the leaves that
an auto-merging retriever has merged. Nothing is scored here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

from llama_index.core.schema import BaseNode, NodeWithScore

from fullrecall import Sample
from fullrecall.identifiers import as_id
from llama_index.evaluation.fullrecall.nodes import NAMED_KEYS, NodeLike, NodeReader


def mismatch(reader: NodeReader, sample: Sample, nodes: Sequence[NodeLike]) -> str:
    """Return a hint where no expected ID was retrieved, but one is known at another level.

    `sample` holds what `reader` read from `nodes`. Returns "" where there is nothing to say.
    """
    if _matches(sample):
        return ""
    wanted = _expected(sample)
    plain = [item.node if isinstance(item, NodeWithScore) else item for item in nodes]
    own = reader.id_key if isinstance(reader.id_key, str) else "what id_key returns"
    for level, way_out, ids in _levels(reader, plain):
        if level == own:
            continue  # it was retrieved, and dropped on the way
        if not wanted.isdisjoint(ids):
            return f"expected IDs match {level}, not {own}: use {way_out}"
    return ""


class MismatchWatch:
    """Warns once, unless an expected ID was retrieved before: they may be of another kind."""

    def __init__(self, reader: NodeReader) -> None:
        self._reader = reader
        self._is_done = False

    def see(self, sample: Sample, nodes: Sequence[NodeLike]) -> None:
        """Take note of one sample with the nodes that were retrieved for it."""
        if self._is_done or not _expected(sample):
            return
        if _matches(sample):
            self._is_done = True
            return
        if hint := mismatch(self._reader, sample, nodes):
            self._is_done = True
            warnings.warn(f"no expected ID was retrieved: {hint}", stacklevel=2)


def _levels(
    reader: NodeReader, nodes: Sequence[BaseNode]
) -> Iterator[tuple[str, str, list[str | None]]]:
    """Yield the levels at which nodes can be named, how to choose each, and their IDs there."""
    for name, get in NAMED_KEYS.items():
        yield name, f"id_key={name!r}", [_id(get(node)) for node in nodes]
    for key in dict.fromkeys(key for node in nodes for key in node.metadata):
        yield (
            f"metadata {key!r}",
            f"id_key={key!r}",
            [_id(node.metadata.get(key)) for node in nodes],
        )
    if reader.expand is None:
        parts = [part.node_id for node in nodes for part in node.child_nodes or ()]
        yield (
            "the parts that retrieved nodes were cut into",
            "expand=storage_context.docstore",
            [*parts],
        )
    parents = [node.parent_node.node_id for node in nodes if node.parent_node is not None]
    yield (
        "the nodes that retrieved ones were cut from",
        "id_key=lambda node: node.parent_node.node_id",
        [*parents],
    )


def _id(value: object) -> str | None:
    try:
        return None if value is None else as_id(value)
    except ValueError:
        return None


def _expected(sample: Sample) -> set[str]:
    return {name for group in sample.reference_context_ids or () for name in group.any_of}


def _matches(sample: Sample) -> bool:
    return not _expected(sample).isdisjoint(sample.retrieved_context_ids or ())
