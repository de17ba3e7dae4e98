"""What is counted of results while they come: all that a report without rows has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

from fullrecall.errors import ReportError
from fullrecall.findings import SingleFindings
from fullrecall.measures import Measure, parse
from fullrecall.measures.ranks import RankLists, RankMeasure, RankRows, counts_ranks, ignores_grades
from fullrecall.report.found_rows import FoundRows
from fullrecall.report.groups import SampleIds, groups_of
from fullrecall.report.late import Reading, are_late, late_of, worked_out
from fullrecall.report.lazy_rows import LazyRows
from fullrecall.report.proof import Proof
from fullrecall.report.row import Row
from fullrecall.report.settlement import Settlements
from fullrecall.report.summary import Estimate, ScoreSummary, default_measures
from fullrecall.report.totals import Totals
from fullrecall.result import Method, Result, Status
from fullrecall.retrieval import failures
from fullrecall.sample import Sample

_SCORED, _UNDEFINED = Status.SCORED, Status.UNDEFINED

OTHER = "other reasons"
"""What stands for the reasons that are not kept apart."""

_NUMBERS = 3
"""What is summed of a group: how many values, their sum, and the gaps."""

_REASONS_SHOWN = 12
"""How many kinds of reasons a summary names; the rest it counts together."""

_MOMENTARY = re.compile(r"\b0x[0-9a-f]{6,}\b|\b\d{10,}\b", re.IGNORECASE)
"""Addresses and thread IDs in what libraries raise: they alone make no other reason."""

_REASONS_KEPT = 100
"""How many kinds of reasons a tally counts apart: the first by alphabet, so that it is the same
ones whatever the order of the samples."""


class Tally:
    """Running totals of one scorer's results by some measures; holds no result.

    Its size is constant but for the groups of samples, of which it keeps one sum each. Tallies
    of parts, merged, give the summary of the whole to the last bit.
    """

    def __init__(self, method: Method, measures: Iterable[Measure]) -> None:
        self.method = method
        self.totals = {measure: Totals() for measure in measures}
        self._counts: Counter[Status] = Counter()
        self._reasons: Counter[str] = Counter()
        self._undefined: Counter[Measure] = Counter()
        self._settled = Settlements()
        self._proof = Proof()

    def add(self, result: Result, group: str | None = None, times: int = 1) -> None:
        """Count one more result, of a sample of this `group`, or so many equal ones."""
        status, findings, retrieved = result.status, result.ranked, result.retrieved
        self._counts[status] += times
        if status is Status.UNSCORED:
            self._reasons[_MOMENTARY.sub("…", result.note)] += times
            self._limit_reasons()
            for totals in self.totals.values():
                totals.add(None, group, times=times)
        else:
            for measure, totals in self.totals.items():
                value = measure.of(findings, retrieved)
                if value is None:
                    self._undefined[measure] += times
                else:
                    totals.add(value, group, times=times)
        self._settled.add(result, times)
        self._proof.add(result, times)

    def close(self) -> None:
        """Let go of the groups: no more of their samples come."""
        for totals in self.totals.values():
            totals.fold()

    @cached_property
    def counts_ranks(self) -> bool:
        """Whether all measures that are counted can be read of ranks alone."""
        return all(map(counts_ranks, self.totals))

    @cached_property
    def ignores_grades(self) -> bool:
        """Whether these are the same whatever grades the targets have."""
        return all(map(ignores_grades, self.totals))

    @cached_property
    def _by_ranks(self) -> list[tuple[RankMeasure, Measure, Totals]]:
        return [(RankMeasure(measure), measure, total) for measure, total in self.totals.items()]

    def add_ranks(
        self, hits: list[int], targets: int, retrieved: int, group: str | None = None
    ) -> None:
        """Count a result of single IDs of grade 1 by the ranks at which they are found."""
        self._counts[_SCORED if targets else _UNDEFINED] += 1
        for by_rank, measure, totals in self._by_ranks:
            value = by_rank.of(hits, targets, retrieved)
            if value is None:
                self._undefined[measure] += 1
            else:
                totals.add(value, group)

    def add_results(self, results: Sequence[Result], groups: Sequence[str | None]) -> None:
        """Count results, each of a sample of the group beside it; by ranks where they tell all."""
        rows, by_ranks = RankLists([], [], []), self.counts_ranks
        ignores_grades = self.ignores_grades
        for result, group in zip(results, groups, strict=True):
            findings = result.findings
            if (
                type(findings) is SingleFindings
                and (findings.grades is None or ignores_grades)
                and group is None
                and by_ranks
                and result.status is _SCORED
                and result.ranks is None
            ):
                rows.targets.append(len(findings.ids))
                rows.ranks.append(findings.hits)
                rows.retrieved.append(result.retrieved)
            else:
                self.add(result, group)
        self.add_rank_rows(rows)

    def add_rank_rows(self, rows: RankRows | RankLists) -> None:
        """Count the results of many samples without a group in the same way."""
        scored = rows.scored
        for status, count in ((_SCORED, scored), (_UNDEFINED, len(rows.targets) - scored)):
            if count:
                self._counts[status] += count
        for by_rank, measure, totals in self._by_ranks:
            for one in by_rank.distinct(rows):
                value = by_rank.of(one.hits, one.targets, one.retrieved)
                if value is None:
                    self._undefined[measure] += one.times
                else:
                    totals.add(value, times=one.times)

    def merge(self, other: Tally) -> None:
        """Add what another part has counted of the same score by the same measures."""
        self._counts.update(other._counts)
        self._reasons.update(other._reasons)
        self._limit_reasons()
        self._undefined.update(other._undefined)
        for measure, totals in self.totals.items():
            totals.merge(other.totals[measure])
        self._settled.merge(other._settled)
        self._proof.merge(other._proof)

    def summary(self, measures: Sequence[Measure] = ()) -> ScoreSummary:
        """Return the means so far, of all measures that are counted or of these."""
        return ScoreSummary(
            self.method,
            {measure: self._estimate(measure) for measure in measures or self.totals},
            self._counts[Status.SCORED],
            self._counts[Status.UNDEFINED],
            self._counts[Status.UNSCORED],
            self._reasons_shown(),
            self._settled.so_far(),
            self._proof.share,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back."""
        from fullrecall.records import plain_method

        return {
            "method": plain_method(self.method),
            "counts": {str(status): count for status, count in sorted(self._counts.items())},
            "reasons": dict(sorted(self._reasons.items())),
            "measures": {m.name: totals.to_dict() for m, totals in self.totals.items()},
            "undefined": {m.name: self._undefined[m] for m in self.totals if m in self._undefined},
            "settled": self._settled.to_dict(),
            "proof": self._proof.to_dict(),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Tally:
        """Return the tally that `to_dict` wrote."""
        from fullrecall.records import MethodRecord

        tally = cls(MethodRecord.read(plain["method"]).method, ())
        tally.totals = {parse(m): Totals.from_dict(t) for m, t in plain["measures"].items()}
        tally._counts = Counter({Status(name): count for name, count in plain["counts"].items()})
        tally._reasons = Counter(plain["reasons"])
        tally._undefined = Counter({parse(m): n for m, n in plain["undefined"].items()})
        tally._settled = Settlements.from_dict(plain["settled"])
        tally._proof = Proof.from_dict(plain["proof"])
        return tally

    def _estimate(self, measure: Measure) -> Estimate:
        totals = self.totals[measure]
        return Estimate(
            measure,
            totals.mean,
            totals.samples,
            totals.independent,
            self._undefined[measure],
            totals,
        )

    def _limit_reasons(self) -> None:
        # A reason may quote its sample, and a tally's size is to stay constant.
        if len(self._reasons) > _REASONS_KEPT:
            for reason in sorted(self._reasons.keys() - {OTHER})[_REASONS_KEPT:]:
                self._reasons[OTHER] += self._reasons.pop(reason)

    def _reasons_shown(self) -> dict[str, int]:
        apart = [item for item in self._reasons.items() if item[0] != OTHER]
        apart.sort(key=lambda item: (-item[1], item[0]))
        shown = dict(apart[:_REASONS_SHOWN])
        others = self._reasons[OTHER] + sum(count for _, count in apart[_REASONS_SHOWN:])
        return {**shown, OTHER: others} if others else shown


class Tallies:
    """One `Tally` for each score, with how many samples they count and the IDs of those."""

    def __init__(self, scores: Iterable[Tally]) -> None:
        self.scores = list(scores)
        self.samples = 0
        self.ids = SampleIds()
        self.retrievals: Counter[str] = Counter()
        """Of how many samples the retrieval was a union of calls, or had a failed call."""

    @classmethod
    def by(cls, methods: Iterable[Method], measures: Iterable[Measure] = ()) -> Self:
        """Return empty tallies of these scores, by their default measures if none is named."""
        measures = tuple(measures)
        return cls(Tally(method, measures or default_measures(method)) for method in methods)

    def emptied(self) -> Tallies:
        """Return empty tallies of the same scores by the same measures."""
        return Tallies(Tally(score.method, score.totals) for score in self.scores)

    def add(self, row: Row) -> None:
        """Count one more row, which is of its own group."""
        group = row.sample.group
        if group is None and row.sample.id is not None:
            self.ids.add(row.sample.id)
        self._add(row, group)

    def add_all(self, rows: Sequence[Row] | FoundRows) -> None:
        """Count all the rows of a report, in which samples of one ID are one group."""
        if isinstance(rows, LazyRows):
            self._add_lazily(rows)
            return
        samples = rows.samples if isinstance(rows, FoundRows) else [row.sample for row in rows]
        groups = groups_of(samples)
        if isinstance(rows, FoundRows):
            self._add_found(rows, groups)
        else:
            self._add_rows(rows, groups)
        names = {sample.id for sample in samples if sample.group is None}
        self.ids.add_once({name for name in names if name is not None})

    def add_found(self, rows: FoundRows) -> None:
        """Count more rows, each of its own group."""
        self._add_found(rows, [sample.group for sample in rows.samples])
        for sample in rows.samples:
            if sample.group is None and sample.id is not None:
                self.ids.add(sample.id)

    @property
    def counts_ranks(self) -> bool:
        """Whether all measures that are counted can be read of ranks alone."""
        return all(score.counts_ranks for score in self.scores)

    def add_ranks(
        self, hits: list[int], targets: int, retrieved: int, name: str | None, group: str | None
    ) -> None:
        """Count a sample of this ID, in which all scores found single IDs of grade 1 so."""
        self.samples += 1
        if group is None and name is not None:
            self.ids.add(name)
        for score in self.scores:
            score.add_ranks(hits, targets, retrieved, group)

    def add_rank_rows(self, rows: RankRows | RankLists) -> None:
        """Count samples without a group, in which all scores found single IDs of grade 1 so."""
        self.samples += len(rows.targets)
        for score in self.scores:
            score.add_rank_rows(rows)

    def merge(self, other: Tallies) -> None:
        """Add another part; raises `ReportError` where it is counted by other measures."""
        for ours, theirs in zip(self.scores, other.scores, strict=True):
            if ours.totals.keys() != theirs.totals.keys():
                raise ReportError(
                    f"{ours.method.name} was counted by {_listed(ours.totals)} and by "
                    f"{_listed(theirs.totals)}: pass the same measures= for each part"
                )
        for ours, theirs in zip(self.scores, other.scores, strict=True):
            ours.merge(theirs)
        self.samples += other.samples
        self.retrievals.update(other.retrievals)
        self.ids.merge(other.ids)

    def take_groups(self) -> dict[str, list[int]]:
        """Take the sums of groups out, and return them by the group's name.

        Each is a list of three numbers (how many, their sum, the gaps) for each measure of each
        score, in order.
        """
        every = self._every
        taken: dict[str, list[int]] = {}
        for place, totals in enumerate(every):
            for group, sums in totals.take_groups().items():
                row = taken.setdefault(group, [0] * (_NUMBERS * len(every)))
                row[_NUMBERS * place : _NUMBERS * (place + 1)] = sums
        return taken

    def put_groups(self, sums: Mapping[str, Sequence[int]]) -> None:
        """Add sums of groups, as `take_groups` returns them."""
        for place, totals in enumerate(self._every):
            for group, row in sums.items():
                count, total, gaps = row[_NUMBERS * place : _NUMBERS * (place + 1)]
                if count or gaps:
                    totals.put_group(group, count, total, gaps)

    def fold_groups(self) -> None:
        """Make one value of each group, of which all samples must be there; forget the names."""
        for totals in self._every:
            totals.fold()

    @property
    def _every(self) -> list[Totals]:
        return [totals for score in self.scores for totals in score.totals.values()]

    def summaries(self, measures: Sequence[Measure] = ()) -> list[ScoreSummary]:
        """Return the means of each score, of all measures that are counted or of these.

        Raises `ReportError` for a measure that is not counted, and where an ID stands twice among
        samples of which the groups are not known.
        """
        if self.ids.repeated:
            raise ReportError(
                "sample IDs occur more than once in a report without rows, so it is not known "
                'which samples are independent: set their group, or evaluate with keep="rows"'
            )
        for score in self.scores:
            missing = [measure for measure in measures if measure not in score.totals]
            if missing:
                raise ReportError(
                    f"the report keeps no rows and has not counted {_listed(missing)}: name it "
                    'in measures=, or evaluate with keep="rows"'
                )
        return [score.summary(measures) for score in self.scores]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back."""
        return {
            "samples": self.samples,
            "ids": self.ids.digests,
            "retrievals": dict(sorted(self.retrievals.items())),
            "tallies": [score.to_dict() for score in self.scores],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Tallies:
        """Return what `to_dict` wrote."""
        tallies = cls(map(Tally.from_dict, plain["tallies"]))
        tallies.samples, tallies.ids = plain["samples"], SampleIds(plain["ids"])
        tallies.retrievals = Counter(plain["retrievals"])
        return tallies

    def _add_lazily(self, rows: LazyRows) -> None:
        for place, score in enumerate(self.scores):
            for groups in rows.tallied([place], score.totals):
                for row, group, times in groups:
                    score.add(row.results[0], group, times)
                score.close()
        self.samples += len(rows)
        self.retrievals.update(rows.retrievals)

    def _add_rows(self, rows: Sequence[Row], groups: Sequence[str | None]) -> None:
        for row in rows:
            self._add_sample(row.sample)
        results = [[row.results[n] for row in rows] for n in range(len(self.scores))]
        if any(are_late(row.results) for row in rows):
            readings = [Reading.of(score.totals) for score in self.scores]
            for _ in worked_out((row, late_of(row.results, readings)) for row in rows):
                pass
        for score, some in zip(self.scores, results, strict=True):
            score.add_results(some, groups)

    def _add_found(self, rows: FoundRows, groups: list[str | None]) -> None:
        by_ranks = self.counts_ranks
        if rows.graded:
            by_ranks = by_ranks and all(score.ignores_grades for score in self.scores)
        if not by_ranks:
            self._add_rows(rows.rows(), groups)
            return
        for place, row in rows.there.items():
            self._add(row, groups[place])
        alone = None
        if rows.there or groups.count(None) < len(groups):
            plain = [place for place in range(len(rows)) if place not in rows.there]
            alone = [place for place in plain if groups[place] is None]
            grouped = [place for place in plain if groups[place] is not None]
            for place, told in zip(grouped, rows.told(grouped).told(), strict=True):
                self.add_ranks(*told, None, groups[place])
        self.add_rank_rows(rows.told(alone))

    def _add(self, row: Row, group: str | None) -> None:
        self._add_sample(row.sample)
        for score, result in zip(self.scores, row.results, strict=True):
            score.add(result, group)

    def _add_sample(self, sample: Sample) -> None:
        self.samples += 1
        retrieval = sample.retrieval
        if retrieval is not None:
            self.retrievals["united"] += retrieval.ranks is not None
            self.retrievals["failed"] += bool(failures(retrieval.calls))


def _listed(measures: Iterable[Measure]) -> str:
    return ", ".join(map(repr, measures))
