"""Which retrieved texts are similar to a reference, looked at no further than somebody asks.

Whether a reference is found at all takes one comparison where the right text is tried first. At
which rank it is found first takes all the texts above, and most readers want to know it for the
first few ranks only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from fullrecall.findings import Evidence, Finding, Step, Target
from fullrecall.scorers.similarity import BoundedSimilarity

_LENGTHY = 5_000_000
"""Characters of references times those of texts from which on comparing is left to a thread: it
takes some 0.1 ms."""


class _Known(NamedTuple):
    """What is known of one reference: replaced as a whole, so that threads need no lock.

    `first` is the least rank known to be similar enough, `unseen` are the ranks above it that were
    not compared, all of them if there is no `first`; ascending.
    """

    first: int | None
    unseen: tuple[int, ...]


class TextMatches:
    """The matches of one sample: groups of references against the texts that were retrieved.

    `rank_of` has each text with its first rank, ascending. `enough` tells whether a similarity
    makes a match. All but `finding` need a pure similarity.
    """

    __slots__ = ("_enough", "_groups", "_known", "_similarity", "_text_at", "lengthy")

    def __init__(
        self,
        groups: Sequence[tuple[str, ...]],
        rank_of: Mapping[str, int],
        similarity: BoundedSimilarity,
        enough: Callable[[float], bool],
    ) -> None:
        self._groups = groups
        self._text_at = {rank: text for text, rank in rank_of.items()}
        self._similarity = similarity
        self._enough = enough
        self.lengthy = similarity.many and are_lengthy(groups, rank_of)
        """Whether comparing takes long, and lets other threads run meanwhile."""
        ranks = tuple(self._text_at)
        self._known = [_Known(None, ranks)] * len(groups)
        if not enough(1.0):
            return
        for place, group in enumerate(groups):
            copies = [rank_of[wanted] for wanted in group if wanted in rank_of]
            if copies:
                first = min(copies)
                unseen = tuple([rank for rank in ranks if rank < first])
                self._known[place] = _Known(first, unseen)

    def found_by(self, place: int, k: int | None) -> bool:
        """Return whether the group at this place is found within the first `k` ranks, or at all."""
        first, unseen = self._known[place]
        if first is not None and (k is None or first <= k):
            return True
        if k is not None:
            unseen = tuple([rank for rank in unseen if rank <= k])
        elif len(unseen) > 1:
            likely = self._likely(place, unseen)
            if self._look_at(place, (likely,)):
                return True
            unseen = tuple([rank for rank in unseen if rank != likely])
        return bool(unseen) and self._look_at(place, unseen)

    def first(self, place: int) -> int | None:
        """Return the first rank at which the group is found; None if it is not."""
        while self.found_by(place, None):
            first, unseen = self._known[place]
            if not unseen:
                return first
            self._look_at(place, unseen)
        return None

    def finding(self, place: int) -> Finding:
        """Return the finding of the group, with each text that is similar enough."""
        first, unseen = self._known[place]
        group = self._groups[place]
        not_seen = set(unseen)
        ranks = [
            rank
            for rank in self._text_at
            if rank in not_seen or (first is not None and rank >= first)
        ]
        evidence = []
        for rank, value in zip(ranks, self._similarities(group, ranks), strict=True):
            best = 1.0 if self._text_at[rank] in group else value
            if self._enough(best):
                evidence.append(Evidence(rank, similarity=best))
        found = tuple([item.rank for item in evidence])
        steps = (Step(found[0], 1.0),) if found else ()
        return Finding(Target(group), steps, found, tuple(evidence))

    def _likely(self, place: int, ranks: tuple[int, ...]) -> int:
        """Return the rank of the text whose length is nearest to a reference's."""
        texts = self._text_at
        group = self._groups[place]
        if len(group) == 1:
            length = len(group[0])
            distances = [abs(len(texts[rank]) - length) for rank in ranks]
        else:
            lengths = [len(wanted) for wanted in group]
            distances = [min([abs(len(texts[rank]) - own) for own in lengths]) for rank in ranks]
        return ranks[distances.index(min(distances))]

    def _look_at(self, place: int, ranks: tuple[int, ...]) -> bool:
        """Compare the texts at these ranks; return whether one of them matches."""
        values, enough = self._similarities(self._groups[place], ranks), self._enough
        hits = [rank for rank, value in zip(ranks, values, strict=True) if enough(value)]
        first, unseen = self._known[place]
        if hits and (first is None or hits[0] < first):
            first = hits[0]
        seen = set(ranks)
        left = [rank for rank in unseen if rank not in seen and (first is None or rank < first)]
        self._known[place] = _Known(first, tuple(left))
        return bool(hits)

    def _similarities(self, group: Sequence[str], ranks: Sequence[int]) -> Sequence[float]:
        """Return how similar each text is to the reference that it is most similar to."""
        texts, similarity = [self._text_at[rank] for rank in ranks], self._similarity
        if self.lengthy and len(texts) > 1:
            return similarity.highest(group, texts)
        return [max([similarity(one, text) for one in group]) for text in texts]


def are_lengthy(groups: Sequence[Sequence[str]], texts: Iterable[str]) -> bool:
    """Return whether it takes long to compare groups of references with texts."""
    return sum(sum(map(len, group)) for group in groups) * sum(map(len, texts)) > _LENGTHY
