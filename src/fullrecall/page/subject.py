"""The subject of a page: its reports, scores, samples' values, and causes of misses.

A side is the index of a report on the page. The reader of the page chooses a list of measures, with
one measure for each score; a choice is the index of such a list.

A document that several scores search for, and that was not retrieved, is a miss of each of these
scores, so misses of different scores must not be added.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from fullrecall.diagnosis import Diagnosed, Diagnosis
from fullrecall.measures import Measure, as_shares
from fullrecall.measures.budgets import Unit
from fullrecall.scorers.result import Method, Result, Status
from fullrecall.stats.comparison import Comparison
from fullrecall.stats.estimates import default_measures
from fullrecall.stats.evaluation import Evaluation
from fullrecall.stats.pairs import Gap
from fullrecall.table.row import Row

ComparedRows: TypeAlias = "tuple[Row | None, ...]"
"""One sample in each report of a page; None for a report without the sample."""


class Column(NamedTuple):
    """A column of the page for one score.

    `letter` is the score's short name. `positions` has, for each report of the page, the index of
    the score's results in a row. `measures` has the score's measure for each choice that the reader
    of the page has.
    """

    letter: str
    method: Method
    positions: tuple[int, ...]
    measures: Sequence[Measure]


@dataclass(frozen=True)
class Subject:
    """The reports of a page: one without a name, or two with their names and their comparison."""

    reports: Mapping[str, Evaluation]
    columns: Sequence[Column]
    comparison: Comparison | None = None

    @property
    def rows(self) -> Iterable[ComparedRows]:
        """Every sample, with its row in each of the reports."""
        if self.comparison is not None:
            return self.comparison.rows
        return ((row,) for report in self.reports.values() for row in report)

    @property
    def choices(self) -> list[tuple[Measure, ...]]:
        """The lists of measures from which the reader chooses, each in the order of the columns."""
        return [*zip(*(column.measures for column in self.columns), strict=True)] or [()]

    @property
    def choice_labels(self) -> list[str]:
        """The measures of each choice as text; slashes separate the measures if they differ."""
        return [" / ".join(dict.fromkeys(map(_label, measures))) for measures in self.choices]

    def labels(self, choice: int) -> list[str]:
        """Return each score's name and measure in a choice of measures, such as `id_recall@5`."""
        return [column.method.label(column.measures[choice]) for column in self.columns]

    def first_shown(self, diagnosed: Iterable[str]) -> int:
        """Return the choice (index of the measures) that a page shows first.

        It is the first choice that has all `diagnosed` labels, such as `id_recall@5`. If there is
        none, it is the choice that has the headline measure of every score. The default is 0.
        """
        labels, choices = set(diagnosed), self.choices
        for nth in range(len(choices)):
            if labels and labels <= set(self.labels(nth)):
                return nth
        headlines = tuple(column.method.headline for column in self.columns)
        return choices.index(headlines) if headlines in choices else 0

    @property
    def families(self) -> dict[Family, list[int]]:
        """For each measure without its k, the indices of the choices that have it at any k."""
        families: dict[Family, list[int]] = {}
        for nth, measures in enumerate(self.choices):
            for family in dict.fromkeys(Family(each.whole, each.unit) for each in measures):
                families.setdefault(family, []).append(nth)
        return families


class Family(NamedTuple):
    """A measure without its k, and the unit of its budgets (None for ranks)."""

    measure: Measure
    unit: Unit | None

    def amounts(self, measures: Iterable[Measure]) -> dict[float, Measure]:
        """Return the given measures of this family by k or budget, ascending."""
        own = {each.amount: each for each in measures if (each.whole, each.unit) == self}
        return {amount: own[amount] for amount in sorted(each for each in own if each is not None)}


def columns(
    methods: Sequence[Method], positions: Sequence[tuple[int, ...]], measures: Sequence[Measure]
) -> list[Column]:
    """Return a column for each of `methods`; several columns have letters, from A.

    The reader of the page chooses one of `measures`. If there are none, each column has its
    method's `default_measures`.
    """
    chosen = tuple(dict.fromkeys(as_shares(measures)))
    letters = [chr(ord("A") + nth) for nth in range(len(methods))] if len(methods) > 1 else [""]
    return [
        Column(letters[nth], method, numbers, chosen or default_measures(method))
        for nth, (method, numbers) in enumerate(zip(methods, positions, strict=True))
    ]


def _label(measure: Measure) -> str:
    return f"{measure!r}, all retrieved" if measure.k is None else repr(measure)


class Misses(NamedTuple):
    """The number of targets, and how many of them were not found in full within a measure's k."""

    missed: int
    targets: int


class ResultCell(NamedTuple):
    """One score of one sample in one report.

    `result` is the scorer's result; `compared` is the same result without the targets that the
    comparison leaves out. `values` and `misses` are those of `compared`, for each choice of
    measures.
    """

    result: Result
    compared: Result
    values: Sequence[float | None]
    misses: Sequence[Misses]


class SampleReading(NamedTuple):
    """The cells of one sample: `sides` has, for each report, a cell for each score.

    A report without the sample has no cells. `gaps` has, for each score, the reason why the sample
    is not compared, or None.
    """

    sides: Sequence[Sequence[ResultCell]]
    gaps: Sequence[Gap | None]


def reading_of(subject: Subject, number: int, rows: ComparedRows) -> SampleReading:
    """Return the cells and gaps of a sample, the `number`-th of the subject's rows."""
    sides: list[list[ResultCell]] = [[] for _ in rows]
    gaps: list[Gap | None] = []
    for column in subject.columns:
        results = [
            None if row is None else row.results[position]
            for row, position in zip(rows, column.positions, strict=True)
        ]
        gap: Gap | None = None
        compared: Sequence[Result | None] = results
        if subject.comparison is not None:
            pairs = subject.comparison[column.method.name].main.pairs
            if None in results:
                gap = "only_after" if results[0] is None else "only_before"
            else:
                gap, compared = pairs.gap(number), pairs.results(number)
        gaps.append(gap)
        for cells, result, own in zip(sides, results, compared, strict=True):
            if result is not None and own is not None:
                values = [own[measure] for measure in column.measures]
                misses = [_misses(own, measure) for measure in column.measures]
                cells.append(ResultCell(result, own, values, misses))
    return SampleReading(sides, gaps)


def _misses(result: Result, measure: Measure) -> Misses:
    """Return the misses of a result by a measure: 0 of 0 if the result is not scored."""
    if result.status is not Status.SCORED:
        return Misses(0, 0)
    counted = measure.countable(result.paid(measure))
    missed = sum(not finding.found_at(measure.top) for finding in counted)
    return Misses(missed, len(counted))


class Turns(NamedTuple):
    """The numbers of samples that miss targets, for one choice of measures.

    Of the `scored` samples, which have a value in the last report, `missing` miss a target there.
    Of the `compared` samples, which have a value in both reports, `newly` miss a target only in the
    last report, `mended` only in the first, and `still` in both.
    """

    missing: int
    scored: int
    compared: int
    newly: int
    mended: int
    still: int


def turns_of(readings: Sequence[SampleReading], choice: int) -> Turns:
    """Count the samples that miss targets in each report, for one choice of measures."""
    # Count samples here and not in the script: the page shows the counts even if no script runs.
    now = [_fails(each.sides[-1], choice) for each in readings]
    before = [_fails(each.sides[0], choice) if each.sides[1:] else None for each in readings]
    fails = Counter(zip(before, now, strict=True))
    turned = [fails[False, True], fails[True, False], fails[True, True]]
    compared = sum(turned) + fails[False, False]
    return Turns(now.count(True), len(now) - now.count(None), compared, *turned)


def misses_of(readings: Sequence[SampleReading], nth: int, choice: int) -> Misses:
    """Return the misses of the `nth` score in the first report, for a choice of measures."""
    misses = [each.sides[0][nth].misses[choice] for each in readings if each.sides[0]]
    return Misses(sum(each.missed for each in misses), sum(each.targets for each in misses))


def unscored(readings: Sequence[SampleReading]) -> int:
    """Return the number of samples in the last report that every score left unscored."""
    return sum(
        bool(cells) and all(cell.compared.status is Status.UNSCORED for cell in cells)
        for *_, cells in (reading.sides for reading in readings)
    )


def _fails(cells: Sequence[ResultCell], choice: int) -> bool | None:
    """Return whether any score misses a target; None if no score has a value."""
    # Without a value, no target was measured, so none was missed.
    if all(cell.values[choice] is None for cell in cells):
        return None
    return any(cell.misses[choice].missed for cell in cells)


class CauseShare(NamedTuple):
    """The number of a score's misses that have one cause: `missed` of all `total` misses.

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
        """The cause in words: spaces for the underscores."""
        return self.cause.replace("_", " ")


class Causes:
    """The numbered causes of a diagnosis of the last report, and the misses of each sample."""

    def __init__(self, diagnosis: Diagnosis | None, columns: Sequence[Column]) -> None:
        misses = [] if diagnosis is None else list(_by_score(diagnosis, columns))
        fixes = {} if diagnosis is None else diagnosis.fixes
        counts = Counter((miss.cause, nth) for miss, nth in misses)
        totals = Counter(nth for _, nth in misses)
        self.labels = {nth: miss.score for miss, nth in misses}
        """The name of each diagnosed score in the diagnosis, by the score's index on the page."""
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
