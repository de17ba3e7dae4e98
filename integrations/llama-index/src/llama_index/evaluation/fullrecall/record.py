"""From the steps that LlamaIndex reported to the record of a retrieval."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from llama_index.core.schema import NodeWithScore

from fullrecall import Context, Retrieval
from fullrecall.retrieval import FailedCalls
from fullrecall.steps import DocumentCopy, DocumentList, Step, plain_context, retrieval_of
from llama_index.evaluation.fullrecall.nodes import NodeReader
from llama_index.evaluation.fullrecall.reader import NodeCopy

UNSEEN = (
    "no retrieval was seen: no retriever was asked, or in a thread that was started without "
    "copy_context()"
)


@dataclass(frozen=True)
class Reading:
    """How steps are read: the options that the evaluator, `observed` and captures share."""

    reader: NodeReader
    failed_calls: FailedCalls = "unscored"
    other_tools: Collection[str] = ()

    def retrieval(
        self,
        steps: Iterable[Step],
        *,
        root: Hashable | None = None,
        response: str | None = None,
        partial: str | None = None,
        unseen: str = UNSEEN,
    ) -> Retrieval:
        """Return what the steps of a call say was retrieved.

        Raises `InputError` for nodes that the options cannot read.
        """
        return retrieval_of(
            _Named(self.reader).steps(steps),
            root=root,
            response=response,
            context=self._context,
            failed_calls=self.failed_calls,
            other_tools=self.other_tools,
            partial=partial,
            unseen=unseen,
        )

    def _context(self, copy: DocumentCopy, id: str | None) -> Context:  # noqa: A002
        if isinstance(copy.detail, NodeCopy):
            return self.reader.context(copy.detail.node, copy.detail.score, id)
        return plain_context(copy, id)


class _Named:
    """Gives copies of nodes the IDs that the options ask for, each copy once.

    With `expand`, a node stands as the smallest nodes that it was cut into.
    """

    def __init__(self, reader: NodeReader) -> None:
        self._reader = reader
        self._is_needed = reader.id_key != "node_id" or reader.expand is not None
        self._lists: dict[int, DocumentList] = {}
        self._copies: dict[int, tuple[DocumentCopy, ...]] = {}

    def steps(self, steps: Iterable[Step]) -> list[Step]:
        if not self._is_needed:
            return list(steps)
        return [
            replace(step, given=self._named(step.given), returned=self._named(step.returned))
            for step in steps
        ]

    def _named(self, lists: Sequence[DocumentList]) -> tuple[DocumentList, ...]:
        for each in lists:
            if id(each) not in self._lists:
                ranked = enumerate(each.documents, start=1)
                parts = tuple(part for rank, copy in ranked for part in self._parts(copy, rank))
                self._lists[id(each)] = each._replace(documents=parts)
        return tuple(self._lists[id(each)] for each in lists)

    def _parts(self, copy: DocumentCopy, rank: int) -> tuple[DocumentCopy, ...]:
        known = self._copies.get(id(copy))
        if known is None:
            known = self._copies[id(copy)] = tuple(self._read(copy, rank))
        return known

    def _read(self, copy: DocumentCopy, rank: int) -> Iterable[DocumentCopy]:
        if not isinstance(copy.detail, NodeCopy):
            yield copy
            return
        node, score = copy.detail
        for part in self._reader.parts(node, rank):
            own_id = self._reader.id_of(part, rank)
            if part is node:
                yield copy if copy.id is None else copy._replace(id=own_id)
            else:
                yield DocumentCopy(0, own_id, part.get_content(), NodeCopy(part, score))


def nodes_in(steps: Iterable[Step]) -> list[NodeWithScore]:
    """Return the nodes that steps returned, as they were."""
    copies = {
        id(copy.detail): copy.detail
        for step in steps
        for each in step.returned
        for copy in each.documents
        if isinstance(copy.detail, NodeCopy)
    }
    return [NodeWithScore(node=node, score=score) for node, score in copies.values()]
