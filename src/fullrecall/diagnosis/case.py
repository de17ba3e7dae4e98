"""One missed target, with the sources that are searched for its cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from fullrecall.diagnosis.corpus import MIN_RUN, Corpus, Held
from fullrecall.diagnosis.ids.evidence import Alias, IdEvidence
from fullrecall.diagnosis.inquiry import Inquiry
from fullrecall.lexical import difference, duplicates, similarity
from fullrecall.measures.findings import Finding
from fullrecall.samples.context import Context
from fullrecall.scorers.result import Result
from fullrecall.scorers.spans import Overlap, Passage, covered, total
from fullrecall.table.row import Row


class Wanted(NamedTuple):
    """An item that the scorer would have matched, as an ID, a text with its offsets, or both.

    `id` is set if the item is matched by ID. `own_id` is the ID of an item that is matched by text.
    """

    label: str
    id: str | None = None
    passage: Passage | None = None
    own_id: str | None = None

    @property
    def text(self) -> str:
        """The text of the item; empty if unknown."""
        return (self.passage.text or "") if self.passage is not None else ""

    def rank_in(self, contexts: Iterable[Context]) -> int | None:
        """Return the rank of the first context that is this item or has its whole text, or None."""
        return next((rank for rank, c in enumerate(contexts, start=1) if self._is_in(c)), None)

    def _is_in(self, context: Context) -> bool:
        if self.id is not None:
            # An item with an ID matches by ID alone: an equal text under another ID is a near
            # duplicate.
            return context.id == self.id
        return self.share_of(self.parts_in([context]).values()) == 1.0

    def parts_in(self, contexts: Sequence[Context]) -> dict[int, Overlap]:
        """Return the overlap of each of `contexts` with the item's text, by 1-based rank."""
        if self.passage is None or self.passage.is_empty:
            return {}
        parts = {
            rank: self.passage.overlap(Passage.of(context), MIN_RUN)
            for rank, context in enumerate(contexts, start=1)
            if self.passage.comparable(Passage.of(context))
        }
        return {rank: part for rank, part in parts.items() if part.runs}

    def share_of(self, parts: Iterable[Overlap]) -> float:
        """Return the share of the item's characters that these overlaps cover together."""
        length = self.passage.length if self.passage is not None else 0
        return total(covered(length, parts)) / length if length else 0.0


@dataclass
class SearchScope:
    """The sources that a diagnosis searches.

    `retriever` is asked for `deep_k` contexts. `ids` has the other IDs under which expected
    documents occur. `texts` describes how the retrieved texts differ from those of the corpus.
    `deep_lists` collects the longer lists that the retriever returned, by the position of the row.
    """

    corpus: Corpus
    retriever: Inquiry | None
    deep_k: int
    ids: IdEvidence
    texts: str = ""
    takes_k: bool = True
    """Whether the retriever, if there is one, can be asked for more contexts."""
    deep_lists: dict[int, Sequence[Context]] = field(default_factory=dict)


class Examined:
    """One sample, and the lists that rules derive from it; each list is computed once.

    `retrieved` is the sample's whole list, with bare IDs as contexts. `problem` says how the
    retriever failed when it was asked for a longer list, else "".
    """

    def __init__(self, position: int, row: Row, search: SearchScope) -> None:
        self.position = position
        self.row = row
        self.search = search
        self.retrieved: Sequence[Context] = row.sample.contexts or ()
        self.problem = ""

    @cached_property
    def references(self) -> list[Context]:
        """The reference contexts, including each alternative of any-of groups."""
        groups = self.row.sample.reference_contexts or ()
        return [context for group in groups for context in group]

    @cached_property
    def by_label(self) -> dict[str, Context]:
        """The reference contexts by the labels of their passages."""
        return {Passage.of(context).label: context for context in self.references}

    @cached_property
    def groups(self) -> set[tuple[str, ...]]:
        """The any-of groups of the reference IDs."""
        return {reference.any_of for reference in self.row.sample.reference_context_ids or ()}

    @cached_property
    def copies(self) -> frozenset[int]:
        """The indices of the retrieved contexts that repeat an earlier one."""
        return duplicates(self.retrieved)

    @cached_property
    def deeper(self) -> Sequence[Context] | None:
        """The retriever's longer list; None without a retriever or question, or after a failure."""
        inquiry, sample = self.search.retriever, self.row.sample
        if inquiry is None or sample.user_input is None:
            return None
        retrieval = inquiry.ask(sample)
        # if a call failed, the list is incomplete and is not used
        if retrieval.contexts is None or retrieval.error is not None:
            self.problem = f"the retriever failed: {retrieval.error or 'it returned nothing'}"
            return None
        contexts = retrieval.contexts[: self.search.deep_k]
        if contexts:
            self.search.deep_lists[self.position] = contexts
        return contexts


@dataclass
class Case:
    """A missed target, an item that would have been a match, and the sources to search.

    `k` is the number of contexts that count; None if all count. If a judge decided (`judged`), the
    item is unknown, since only a judge knows which context supports a claim.
    """

    examined: Examined
    result: Result
    finding: Finding
    k: int | None
    wanted: Wanted
    judged: bool

    @property
    def corpus(self) -> Corpus:
        """The indexed contexts; empty if unknown."""
        return self.examined.search.corpus

    @cached_property
    def alias(self) -> Alias | None:
        """The item's other ID in the retrieved list, or else in the corpus; None if it has none."""
        expected_id, ids = self.wanted.id, self.examined.search.ids
        if expected_id is None:
            return None
        in_list = ids.in_lists.get((self.examined.position, expected_id))
        return in_list or ids.in_corpus.get(expected_id)

    @cached_property
    def holders(self) -> list[Held]:
        """Contexts that together have the item's text, or all its parts that are in the corpus."""
        return [] if self.wanted.passage is None else self.corpus.holders(self.wanted.passage)

    @cached_property
    def share_in_corpus(self) -> float:
        """The share of the item's characters that the corpus has."""
        return self.wanted.share_of(holder.overlap for holder in self.holders)

    @property
    def is_in_corpus(self) -> bool:
        """Whether the corpus has the item, by its ID or with all of its text."""
        if self.wanted.id is not None and self.corpus.by_id:
            return self.wanted.id in self.corpus.by_id or self.alias is not None
        return self.share_in_corpus == 1.0

    @property
    def within_k(self) -> Sequence[Context]:
        """The first k retrieved contexts."""
        return self.examined.retrieved[: self.k]

    @cached_property
    def alike(self) -> tuple[str, float, int] | None:
        """The text within k most similar to the item's, as (difference, similarity, rank), or None.

        Only near duplicates count: texts with nearly the same letters as the item's text. The
        difference describes a fact in which the two texts differ; it is "" if there is none. A text
        without a difference is preferred to any text with one.
        """
        text = self.wanted.text
        if not text.strip():
            return None
        # Compare letters first, since RapidFuzz rejects most texts early; compare facts only for
        # the rest.
        candidates = [
            (difference(text, other), alike, rank)
            for rank, other in enumerate((context.text or "" for context in self.within_k), start=1)
            if (alike := similarity(text, other))
        ]
        return max(candidates, key=lambda each: (not each[0], each[1]), default=None)
