"""Expected IDs of another kind than the retrieved ones: documents' where nodes' are compared.

The usual reason why a working retriever scores 0: the data set names documents, by
`ref_doc_id`, and a node's own ID is another one. Nothing is scored here.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from fullrecall import Sample
from llama_index.evaluation.fullrecall.nodes import NodeLike, NodeReader


def mismatch(reader: NodeReader, sample: Sample, nodes: Sequence[NodeLike]) -> str:
    """Return a hint where no expected ID was retrieved, but one is known under another key.

    `sample` holds what `reader` read from `nodes`. Returns "" where there is nothing to say.
    """
    if _matches(sample):
        return ""
    keys = reader.keys_that_match(nodes, _expected(sample))
    if not keys:
        return ""
    own = reader.id_key if isinstance(reader.id_key, str) else "what id_key returns"
    return f"expected IDs match {keys[0]}, not {own}: use id_key={keys[0]!r}"


class MismatchWatch:
    """Warns once after a run in which no sample's expected IDs were of the retrieved kind."""

    def __init__(self, reader: NodeReader) -> None:
        self._reader = reader
        self._matched = False
        self._hint = ""

    def see(self, sample: Sample, nodes: Sequence[NodeLike]) -> None:
        """Take note of one sample with the nodes that were retrieved for it."""
        if not self._matched and not self._hint:
            self._hint = mismatch(self._reader, sample, nodes)
        self._matched = self._matched or _matches(sample)

    def warn(self) -> None:
        """Warn if no expected ID of any sample was retrieved, but one is under another key."""
        if self._hint and not self._matched:
            warnings.warn(f"no expected ID was retrieved: {self._hint}", stacklevel=3)


def _expected(sample: Sample) -> set[str]:
    return {name for group in sample.reference_context_ids or () for name in group.any_of}


def _matches(sample: Sample) -> bool:
    return not _expected(sample).isdisjoint(sample.retrieved_context_ids or ())
