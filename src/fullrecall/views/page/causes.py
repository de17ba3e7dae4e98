"""Why targets were missed, as a diagnosis says it: counted for each score apart.

Several scores look for the same thing in their own ways, so that one document that was not
retrieved is a miss of each: counts of different scores do not add up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fullrecall.diagnosis.causes import Diagnosed
    from fullrecall.diagnosis.diagnosis import Diagnosis
    from fullrecall.views.page.choices import Column


class Share(NamedTuple):
    """How many of the `total` misses of one score have a cause: `missed`.

    `label` is the score's name as it was diagnosed, such as `id_recall@5`.
    """

    column: Column
    label: str
    missed: int
    total: int


class CauseLine(NamedTuple):
    """A cause with its share in the misses of each score, and what it suggests to do."""

    cause: str
    name: str
    shares: tuple[Share, ...]
    fix: str

    @property
    def rank(self) -> tuple[float, str]:
        """What causes are sorted by: the largest share first."""
        return -max(share.missed / share.total for share in self.shares), self.cause


class Causes:
    """The causes of a diagnosis of the last report, each with a number, by what was missed."""

    def __init__(self, diagnosis: Diagnosis | None, columns: Sequence[Column]) -> None:
        self._of: defaultdict[tuple[int, str], dict[str, Diagnosed]] = defaultdict(dict)
        counts: Counter[tuple[str, int]] = Counter()
        labels: defaultdict[int, set[str]] = defaultdict(set)
        for miss, nth in () if diagnosis is None else _by_score(diagnosis, columns):
            counts[str(miss.cause), nth] += 1
            labels[nth].add(miss.score)
            self._of[nth, miss.sample][miss.target] = miss
        self.labels = frozenset().union(*labels.values())
        """The names of the scores that were diagnosed, as the diagnosis has them."""
        names = {
            nth: next(iter(used)) if len(used) == 1 else columns[nth].method.name
            for nth, used in sorted(labels.items())
        }
        fixes = {} if diagnosis is None else {str(c): fix for c, fix in diagnosis.fixes.items()}
        self.lines = _lines(counts, columns, names, fixes)
        self._numbers = {line.cause: number for number, line in enumerate(self.lines)}

    def of(self, nth: int, sample: str) -> Mapping[str, Diagnosed]:
        """Return the misses of a sample by the `nth` score, each by the label of its target."""
        return self._of.get((nth, sample), {})

    def number(self, miss: Diagnosed) -> int:
        """Return the number of the cause of a miss."""
        return self._numbers[str(miss.cause)]


def _lines(
    counts: Counter[tuple[str, int]],
    columns: Sequence[Column],
    names: Mapping[int, str],
    fixes: Mapping[str, str],
) -> list[CauseLine]:
    """Return each cause with its shares, the largest share first."""
    totals = Counter[int]()
    for (_, nth), count in counts.items():
        totals[nth] += count
    lines = []
    for cause in {cause for cause, _ in counts}:
        shares = tuple(
            Share(columns[nth], label, counts[cause, nth], totals[nth])
            for nth, label in names.items()
        )
        lines.append(CauseLine(cause, cause.replace("_", " "), shares, fixes.get(cause, "")))
    return sorted(lines, key=lambda line: line.rank)


def _by_score(diagnosis: Diagnosis, columns: Sequence[Column]) -> Iterator[tuple[Diagnosed, int]]:
    """Yield each miss with the index of its score, where the page has that score."""
    indices = {column.method.name: nth for nth, column in enumerate(columns)}
    for miss in diagnosis.misses:
        name, _, cut = miss.score.rpartition("@")
        nth = indices.get(miss.score, indices.get(name) if cut.isdecimal() else None)
        if nth is not None:
            yield miss, nth
