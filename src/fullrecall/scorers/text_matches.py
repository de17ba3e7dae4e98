"""Which retrieved texts are similar to a reference, looked at no further than somebody asks.

Whether a reference is found at all takes one comparison where the right text is tried first. At
which rank it is found first takes all the texts above, and most readers want to know it for the
first few ranks only. What many samples have to compare is compared in few calls, during which
other threads run.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fullrecall.findings import Evidence, Finding, Step, Target
from fullrecall.scorers.similarity import BoundedSimilarity

_AT_ONCE = 32
"""Of more texts, the first that may settle a question are compared first, then twice as many."""


class _Known(NamedTuple):
    """What is known of one reference: replaced as a whole, so that threads need no lock.

    Texts go by their place among those to compare. `first` is the least place known to be similar
    enough, `unseen` are the places above it that were not compared, all of them if there is no
    `first`; ascending. `probed` is whether the likeliest text was compared.
    """

    first: int | None
    unseen: Sequence[int]
    probed: bool


class _Question(NamedTuple):
    """What is to be compared next with the reference at `place`, which was `known` so far."""

    matches: TextMatches
    place: int
    known: _Known
    texts: Sequence[int]


class Criterion:
    """By which similarity, and from which value on, texts match: one for each scorer."""

    __slots__ = ("_least", "similarity")

    def __init__(self, similarity: BoundedSimilarity, threshold: float, *, strict: bool) -> None:
        self.similarity = similarity
        self._least = math.nextafter(threshold, math.inf) if strict else threshold

    def enough(self, similarity: float) -> bool:
        """Return whether a similarity makes a match."""
        return similarity >= self._least

    def settle(self, several: Sequence[TextMatches], cuts: Iterable[int | None]) -> Iterator[None]:
        """Have all of them know what is found within each cut, None among them: at all.

        Compares as it is iterated over, in steps of some milliseconds.
        """
        cuts = set(cuts)
        whole = None in cuts
        ks = sorted(k for k in cuts if k is not None)
        while True:
            asked = [question for one in several for question in one.asked(ks, whole=whole)]
            if not asked:
                return
            references: list[str] = []
            texts: list[str] = []
            for matches, place, _, places in asked:
                some = [matches.texts[n] for n in places]
                for one in matches.groups[place]:
                    references += [one] * len(some)
                    texts += some
            values: list[float] = []
            for part in self.similarity.of_pairs(references, texts):
                values += part
                yield
            self._learn(asked, values)
            several = list(dict.fromkeys(question.matches for question in asked))

    def _learn(self, asked: Sequence[_Question], values: Sequence[float]) -> None:
        """Tell the matches what was found in the pairs of what they asked, one after another."""
        least = self._least
        hits = [n for n, value in enumerate(values) if value >= least]
        start = 0
        for question in asked:
            matches, place, _, texts = question
            end = start + len(texts) * len(matches.groups[place])
            few = hits[bisect_left(hits, start) : bisect_left(hits, end)] if hits else hits
            matches.learn(question, [texts[(n - start) % len(texts)] for n in few])
            start = end


class TextMatches:
    """The matches of one sample: groups of references against the texts that were retrieved.

    `rank_of` has each text with its first rank, ascending. All but `findings` need a pure
    similarity.
    """

    __slots__ = ("_known", "_lengths", "_ranks", "criterion", "groups", "texts")

    def __init__(
        self,
        groups: Sequence[tuple[str, ...]],
        rank_of: Mapping[str, int],
        criterion: Criterion,
    ) -> None:
        self.groups = groups
        self.texts = list(rank_of)
        self.criterion = criterion
        self._ranks = list(rank_of.values())
        self._lengths = list(map(len, self.texts))
        every = range(len(self.texts))
        self._known = [_Known(None, every, probed=False)] * len(groups)
        if not criterion.enough(1.0):
            return
        for place, group in enumerate(groups):
            copies = [rank_of[wanted] for wanted in group if wanted in rank_of]
            if copies:
                first = bisect_left(self._ranks, min(copies))
                self._known[place] = _Known(first, range(first), probed=True)

    def work(self, *, whole: bool) -> int:
        """Return how many characters of references times those of texts may be compared."""
        count = len(self.texts)
        left = 0
        for group, (_, unseen, _) in zip(self.groups, self._known, strict=True):
            if unseen or whole:
                length = len(group[0]) if len(group) == 1 else sum(map(len, group))
                left += length * (count if whole else len(unseen))
        return left * sum(self._lengths) // count if left and count else 0

    def found_within(self, k: int | None) -> int:
        """Return how many groups are found within the first `k` ranks, or at all."""
        cut = len(self.texts) if k is None else bisect_right(self._ranks, k)
        while True:
            count = 0
            for first, unseen, _ in self._known:
                if first is not None and first < cut:
                    count += 1
                elif unseen and unseen[0] < cut:
                    break
            else:
                return count
            for _ in self.criterion.settle((self,), (k,)):
                pass

    def first_ranks(self) -> list[int | None]:
        """Return the first rank at which each group is found; None if it is not."""
        for _ in self.criterion.settle((self,), (None, *self._ranks)):
            pass
        ranks = self._ranks
        return [None if first is None else ranks[first] for first, _, _ in self._known]

    def finding(self, place: int) -> Finding:
        """Return the finding of the group, with each text that is similar enough."""
        first, unseen, _ = self._known[place]
        group = self.groups[place]
        not_seen = set(unseen)
        texts = [
            n for n in range(len(self.texts)) if n in not_seen or (first is not None and n >= first)
        ]
        evidence = []
        for n, value in zip(texts, self._highest(group, texts), strict=True):
            best = 1.0 if self.texts[n] in group else value
            if self.criterion.enough(best):
                evidence.append(Evidence(self._ranks[n], similarity=best))
        found = tuple([item.rank for item in evidence])
        steps = (Step(found[0], 1.0),) if found else ()
        return Finding(Target(group), steps, found, tuple(evidence))

    def asked(self, ks: Sequence[int], *, whole: bool) -> Iterator[_Question]:
        """Yield what is to be compared next to know what is found within `ks`, and at all."""
        cuts: list[int] | None = None
        for place, known in enumerate(self._known):
            first, unseen, probed = known
            if not unseen:
                continue
            if first is None and whole:
                if not probed and len(unseen) > 1:
                    yield _Question(self, place, known, (self._likeliest(place, unseen),))
                else:
                    yield _Question(self, place, known, self._likely(place, unseen))
                continue
            if cuts is None:
                cuts = [bisect_right(self._ranks, k) for k in ks]
            # Of a reference that is found, the cuts below are open; of another, the last has all.
            count = len(cuts) if first is None else bisect_right(cuts, first)
            if count and unseen[0] < cuts[count - 1]:
                within = unseen[: bisect_left(unseen, cuts[count - 1])]
                yield _Question(self, place, known, within[: self._at_once(unseen)])

    def learn(self, question: _Question, hits: Sequence[int]) -> None:
        """Take what was asked as compared, and these of the texts as similar enough."""
        _, place, (first, unseen, _), texts = question
        if hits and (first is None or min(hits) < first):
            first = min(hits)
        left: Sequence[int] = ()
        if len(texts) < len(unseen):
            seen = set(texts)
            left = [n for n in unseen if n not in seen and (first is None or n < first)]
        self._known[place] = _Known(first, left, probed=True)

    def _at_once(self, unseen: Sequence[int]) -> int:
        return max(_AT_ONCE, len(self.texts) - len(unseen))

    def _likeliest(self, place: int, unseen: Sequence[int]) -> int:
        """Return the text whose length is nearest to a reference's."""
        distances = self._distances(place, unseen)
        return unseen[distances.index(min(distances))]

    def _likely(self, place: int, unseen: Sequence[int]) -> Sequence[int]:
        """Return the texts to compare next, ascending: those of the nearest lengths."""
        at_once = self._at_once(unseen)
        if len(unseen) <= at_once:
            return unseen
        by_distance = sorted(zip(self._distances(place, unseen), unseen, strict=True))
        return sorted([n for _, n in by_distance[:at_once]])

    def _distances(self, place: int, unseen: Sequence[int]) -> list[int]:
        """Return by how many characters each text is longer or shorter than a reference."""
        lengths, group = self._lengths, self.groups[place]
        if len(group) == 1:
            length = len(group[0])
            return [abs(lengths[n] - length) for n in unseen]
        wanted = [len(one) for one in group]
        return [min([abs(lengths[n] - own) for own in wanted]) for n in unseen]

    def _highest(self, group: Sequence[str], places: Sequence[int]) -> Sequence[float]:
        """Return how similar each text is to the reference that it is most similar to."""
        texts = [self.texts[n] for n in places]
        similarity = self.criterion.similarity
        if not similarity.pure:
            return [max([similarity(one, text) for one in group]) for text in texts]
        values: list[float] = []
        pairs = similarity.of_pairs([one for one in group for _ in texts], texts * len(group))
        for part in pairs:
            values += part
        return [max(values[n :: len(texts)]) for n in range(len(texts))]
