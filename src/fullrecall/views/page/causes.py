"""Why targets were missed, as a diagnosis says it: counted for each score apart.

Several scores look for the same thing in their own ways, so that one document that was not
retrieved is a miss of each: counts of different scores do not add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fullrecall.diagnosis.causes import Diagnosed
    from fullrecall.diagnosis.change import Change
    from fullrecall.diagnosis.diagnosis import Diagnosis
    from fullrecall.views.page.choices import Column


def gaining(diagnosis: Diagnosis | None) -> list[Change]:
    """Return the changes that bring something, the largest gain first."""
    return [] if diagnosis is None else [change for change in diagnosis.changes if change.gain > 0]


class Share(NamedTuple):
    """How many of the `total` misses of one score, on one side of a page, have a cause: `missed`.

    `label` is the score's name as it was diagnosed, such as `id_recall@5`.
    """

    column: Column
    label: str
    side: int
    missed: int
    total: int


class CauseLine(NamedTuple):
    """A cause with its share in the misses of each score, and what it suggests to do."""

    cause: str
    name: str
    shares: tuple[Share, ...]
    fix: str


_NONE: Mapping[str, Diagnosed] = {}


class Causes:
    """The causes of a diagnosis of each side, each with a number, by what was missed."""

    def __init__(self, diagnoses: Sequence[Diagnosis | None], columns: Sequence[Column]) -> None:
        self._columns = columns
        self._of: dict[tuple[int, int], dict[str, dict[str, Diagnosed]]] = {}
        counts: Counter[tuple[str, int, int]] = Counter()
        fixes: dict[str, str] = {}
        labels: dict[int, set[str]] = {}
        for side, diagnosis in enumerate(diagnoses):
            if diagnosis is None:
                continue
            placed = list(self._placed(diagnosis))
            counts.update((str(miss.cause), nth, side) for miss, nth in placed)
            for nth, label in {(nth, miss.score) for miss, nth in placed}:
                labels.setdefault(nth, set()).add(label)
            for miss, nth in placed:
                rows = self._of.setdefault((side, nth), {})
                rows.setdefault(miss.sample, {})[miss.target] = miss
            fixes |= {str(cause): fix for cause, fix in diagnosis.fixes.items()}
        self.labels = frozenset().union(*labels.values())
        """The names of the scores that were diagnosed, as the diagnoses have them."""
        names = {
            nth: next(iter(of)) if len(of) == 1 else columns[nth].method.name
            for nth, of in sorted(labels.items())
        }
        self.lines = self._lines(counts, fixes, names, len(diagnoses))
        self._numbers = {line.cause: number for number, line in enumerate(self.lines)}

    def explain(self, side: int, diagnosis: Diagnosis) -> None:
        """Take the causes of more misses, which no count has: of samples that a page shows."""
        for miss, nth in self._placed(diagnosis):
            if str(miss.cause) in self._numbers:
                rows = self._of.setdefault((side, nth), {})
                rows.setdefault(miss.sample, {}).setdefault(miss.target, miss)

    def of(self, side: int, nth: int, row: str) -> Mapping[str, Diagnosed]:
        """Return the misses of a row by the `nth` score, each by the label of its target."""
        rows = self._of.get((side, nth))
        return _NONE if rows is None else rows.get(row, _NONE)

    def number(self, miss: Diagnosed) -> int:
        """Return the number of the cause of a miss."""
        return self._numbers[str(miss.cause)]

    def _placed(self, diagnosis: Diagnosis) -> Iterator[tuple[Diagnosed, int]]:
        """Yield each miss with the index of its score, where the page has that score."""
        names = {column.method.name: nth for nth, column in enumerate(self._columns)}
        positions: dict[str, int | None] = {}
        for miss in diagnosis.misses:
            label = miss.score
            if label not in positions:
                name, _, cut = label.rpartition("@")
                positions[label] = names.get(label, names.get(name) if cut.isdecimal() else None)
            nth = positions[label]
            if nth is not None:
                yield miss, nth

    def _lines(
        self,
        counts: Mapping[tuple[str, int, int], int],
        fixes: Mapping[str, str],
        names: Mapping[int, str],
        sides: int,
    ) -> list[CauseLine]:
        totals: Counter[tuple[int, int]] = Counter()
        for (_, nth, side), count in counts.items():
            totals[nth, side] += count
        lines = [
            CauseLine(
                cause,
                cause.replace("_", " "),
                tuple(
                    Share(
                        self._columns[nth],
                        name,
                        side,
                        counts.get((cause, nth, side), 0),
                        totals[nth, side],
                    )
                    for nth, name in names.items()
                    for side in range(sides)
                ),
                fixes.get(cause, ""),
            )
            for cause in {cause for cause, _, _ in counts}
        ]
        return sorted(lines, key=lambda line: (-_largest(line), line.cause))


def _largest(line: CauseLine) -> float:
    return max(share.missed / share.total for share in line.shares if share.total)
