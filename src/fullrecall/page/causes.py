"""The causes of missed targets from a diagnosis, counted separately for each score.

Several scores may look for the same document, so a document that was not retrieved is a miss of
each of them: counts of different scores do not add up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fullrecall.diagnosis import Diagnosed, Diagnosis
from fullrecall.page.choices import Column


class CauseShare(NamedTuple):
    """How many misses of one score have a cause: `missed` of `total`.

    `label` is the score's name in the diagnosis, such as `id_recall@5`.
    """

    column: Column
    label: str
    missed: int
    total: int


class CauseLine(NamedTuple):
    """A cause with its share of the misses of each score, and the suggested fix."""

    cause: str
    shares: tuple[CauseShare, ...]
    fix: str

    @property
    def name(self) -> str:
        """The name of the cause."""
        return self.cause.replace("_", " ")


class Causes:
    """The numbered causes of a diagnosis of the last report, and the misses of each sample."""

    def __init__(self, diagnosis: Diagnosis | None, columns: Sequence[Column]) -> None:
        misses = [] if diagnosis is None else list(_by_score(diagnosis, columns))
        fixes = {} if diagnosis is None else diagnosis.fixes
        counts = Counter((miss.cause, nth) for miss, nth in misses)
        totals = Counter(nth for _, nth in misses)
        self.labels = {nth: miss.score for miss, nth in misses}
        """The name of each score that was diagnosed, as the diagnosis has it, by its index."""
        self._of: defaultdict[tuple[int, str], dict[str, Diagnosed]] = defaultdict(dict)
        for miss, nth in misses:
            self._of[nth, miss.sample][miss.target] = miss
        shares = {
            cause: tuple(
                CauseShare(columns[nth], label, counts[cause, nth], totals[nth])
                for nth, label in sorted(self.labels.items())
            )
            for cause, _ in counts
        }
        largest = {
            cause: max(each.missed / each.total for each in shares[cause]) for cause in shares
        }
        ranked = sorted(shares, key=lambda cause: (-largest[cause], cause))
        self.lines = [CauseLine(cause, shares[cause], fixes[cause]) for cause in ranked]
        self._numbers = {cause: number for number, cause in enumerate(ranked)}

    def of(self, nth: int, sample: str) -> Mapping[str, Diagnosed]:
        """Return the misses of a sample by the `nth` score, each by the label of its target."""
        return self._of.get((nth, sample), {})

    def number(self, miss: Diagnosed) -> int:
        """Return the number of the cause of a miss."""
        return self._numbers[miss.cause]


def _by_score(diagnosis: Diagnosis, columns: Sequence[Column]) -> Iterator[tuple[Diagnosed, int]]:
    """Yield each miss of a score on the page, with the index of that score."""
    indices = {column.method.name: nth for nth, column in enumerate(columns)}
    for miss in diagnosis.misses:
        name, _, cut = miss.score.rpartition("@")
        nth = indices.get(miss.score, indices.get(name) if cut.isdecimal() else None)
        if nth is not None:
            yield miss, nth
