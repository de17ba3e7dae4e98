"""One missed target with all that its cause is looked for in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from fullrecall.calls import Stage
from fullrecall.context import Context
from fullrecall.diagnosis.corpus import Corpus, Held
from fullrecall.diagnosis.id_evidence import Alias
from fullrecall.diagnosis.likeness import difference, lengths_alike, may_be_alike, similarity
from fullrecall.findings import Finding
from fullrecall.result import Result
from fullrecall.scorers.alignment import Overlap, covered, total
from fullrecall.scorers.passages import Passage
from fullrecall.table.row import Row

Find = Callable[[Sequence[Context]], int | None]
"""The rank at which a list of contexts holds the item whole, None if it does not."""


@dataclass(frozen=True)
class Limits:
    """The parameters of a diagnosis; see `diagnose`."""

    near_duplicate: float = 0.9
    min_run: int = 32
    deep_k: int = 100


class Item(NamedTuple):
    """What would have served: one ID, one text with its offsets, or both.

    `label` is what names it to a human. `passage` is None where no text is known. `own_id` is the
    ID that a reference context has beside its text; it is not looked for.
    """

    label: str
    id: str | None = None
    passage: Passage | None = None
    own_id: str | None = None

    @property
    def text(self) -> str:
        """The text of the item, empty where none is known."""
        return (self.passage.text or "") if self.passage is not None else ""

    def is_in(self, context: Context, min_run: int) -> bool:
        """Return whether a context is this item, or holds all of its text."""
        if self.id is not None and context.id == self.id:
            return True
        # An item that is known by its ID alone is nothing else: a twin's text is a near duplicate.
        return self.id is None and self.share_in([context], min_run) == 1.0

    def parts_in(self, contexts: Sequence[Context], min_run: int) -> dict[int, Overlap]:
        """Return what each of `contexts` holds of the item's text, by 1-based rank."""
        if self.passage is None or self.passage.is_empty:
            return {}
        parts = {
            rank: self.passage.overlap(Passage.of(context), min_run)
            for rank, context in enumerate(contexts, start=1)
            if self.passage.comparable(Passage.of(context))
        }
        return {rank: part for rank, part in parts.items() if part.runs}

    def share_in(self, contexts: Sequence[Context], min_run: int) -> float:
        """Return the share of the item's characters that `contexts` hold together."""
        return self.share_of(self.parts_in(contexts, min_run).values())

    def share_of(self, parts: Iterable[Overlap]) -> float:
        """Return the share of the item's characters that overlaps with it cover together."""
        length = self.passage.length if self.passage is not None else 0
        return total(covered(length, parts)) / length if length else 0.0


@dataclass(frozen=True)
class Alike:
    """A retrieved text that looks like the item's: at which rank, how alike, and what differs."""

    rank: int
    similarity: float
    difference: str

    @property
    def rating(self) -> tuple[bool, float]:
        """What to prefer: a text that says the same, then the most similar one."""
        return not self.difference, self.similarity


@dataclass
class Case:
    """A target that was missed, one item that would have served, and where to look for it.

    `k` is how many contexts count, `judged` whether a judge decided. `find` says where a list of
    contexts holds the item: as the scorer sees it where the scorer is known, else by ID and text.
    `deeper` returns what the retriever returns at `deep_k`, None where it failed; it is None where
    there is no retriever. `exact` is the same of an exact search. `problem` returns what failed.
    `repeated` returns the 0-based indices of duplicates in the list. `alias` is the ID under which
    the item stands, where it is another than the expected one. `is_judge_asked` says that the
    scorer was given, so that a judge was asked which reference contexts support a claim.
    """

    row: Row
    result: Result
    finding: Finding
    k: int | None
    item: Item
    judged: bool
    find: Find
    corpus: Corpus | None
    deeper: Callable[[], Sequence[Context] | None] | None
    alias: Alias | None
    retrieved: Sequence[Context]
    repeated: Callable[[], frozenset[int]]
    stages: Sequence[Stage]
    limits: Limits
    is_judge_asked: bool = False
    exact: Callable[[], Sequence[Context] | None] | None = None
    problem: Callable[[], str] = str

    @property
    def judged_without_item(self) -> bool:
        """Whether only the judge could say what supports the target, and was not asked."""
        return self.judged and self.item.passage is None and self.item.id is None

    @property
    def deep_rank(self) -> int | None:
        """The rank in what the retriever returns when it is asked for more, if it is there."""
        return self._rank_in(self.deeper)

    @property
    def exact_rank(self) -> int | None:
        """The rank in what an exact search returns, if it is there."""
        return self._rank_in(self.exact)

    def _rank_in(self, listed: Callable[[], Sequence[Context] | None] | None) -> int | None:
        contexts = None if listed is None else listed()
        return None if contexts is None else self.find(contexts)

    @property
    def by_characters(self) -> bool:
        """Whether the scorer counts characters, so that its credit is the share retrieved."""
        return "min_run" in self.result.method.parameters

    @cached_property
    def holders(self) -> list[Held]:
        """The contexts of the corpus that hold the item's text, or parts of it."""
        if self.corpus is None or self.item.passage is None:
            return []
        return self.corpus.holders(self.item.passage, self.limits.min_run)

    @cached_property
    def share_in_corpus(self) -> float:
        """The share of the item's characters that the corpus holds."""
        return self.item.share_of(holder.overlap for holder in self.holders)

    @property
    def within_k(self) -> Sequence[Context]:
        """The first k of what was retrieved."""
        return self.retrieved[: self.k]

    @cached_property
    def alike(self) -> Alike | None:
        """The retrieved text within k that is most like the item's: one that says the same first.

        None where none has `near_duplicate` of its letters.
        """
        text, least = self.item.text, self.limits.near_duplicate
        if not text.strip():
            return None
        shortest, longest = lengths_alike(text, least)
        as_long = [
            (rank, other)
            for rank, other in enumerate(map(_text, self.within_k), start=1)
            if other and shortest <= len(other) <= longest
        ]
        best: Alike | None = None
        for rank, other in as_long:
            if not may_be_alike(text, other, least):
                continue
            near = similarity(text, other, least)
            if not near:
                continue
            candidate = Alike(rank, near, difference(text, other))
            if best is None or candidate.rating > best.rating:
                best = candidate
        return best


_text = attrgetter("text")


def retrieved(row: Row) -> Sequence[Context]:
    """Return what was retrieved for a sample as contexts, one without ID and text left empty."""
    sample = row.sample
    if sample.retrieved_contexts is not None:
        return sample.retrieved_contexts
    return tuple(Context("", id=own_id) for own_id in sample.retrieved_context_ids or ())
