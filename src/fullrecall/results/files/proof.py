"""Saved results held against the samples beside them: what a file says has to follow from it.

What is kept of a score whose scorer asks nobody is what the sample gives, not what the file says:
that is compared and left. Of a judge's scores all that is not the judge's own word is derived by
the scorer that made them; see `fullrecall.scorers.derived`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fullrecall.errors import ReportError
from fullrecall.identifiers import shown
from fullrecall.records import ROUNDING, ResultRecord, check_retrieved, plain_found
from fullrecall.result import Method, Result
from fullrecall.sample import Sample
from fullrecall.scorers.derived import Derivation
from fullrecall.scorers.ids import IdRecall, id_columns
from fullrecall.table.lists import Integers
from fullrecall.table.part import ScoreColumns, digests_of, hash_sums, name_hashes

Plain = dict[str, Any]


class Contradiction(ReportError):  # noqa: N818 - what a reader makes a `ReportError` of
    """A row's result does not follow from its sample; `row` is its index among those compared."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(problem)
        self.row = row


@dataclass(frozen=True)
class Proven:
    """One score of some rows, as far as it can be derived; see `LinePart`."""

    columns: ScoreColumns
    digests: NDArray[np.uint64]
    """A number for the targets of each row; see `Table.target_digests`."""
    judged: bool
    """Whether any row has verdicts, or targets without one."""

    def taken(self, rows: Integers) -> Proven:
        """Return these rows."""
        return Proven(self.columns.taken(rows), self.digests[rows], self.judged)


class Proof:
    """Proves the saved results of one score."""

    def __init__(self, method: Method, *, held: bool) -> None:
        """Prove results of this method; `held`: its run held labels against a corpus."""
        self._method = method
        self._derivation = Derivation(method, held=held)

    def lines(self, samples: Sequence[Sample], saved: Sequence[Any]) -> Proven:
        """Return the score of rows of which a file has plain values.

        Raises `Contradiction` for the first row that is no result or does not follow.
        """
        if type(self._derivation.scorer) is IdRecall:
            proven = self._ids(samples, saved)
            if proven is not None:
                return proven
        results = []
        for row, (sample, plain) in enumerate(zip(samples, saved, strict=True)):
            try:
                results.append(self.line(sample, plain, proven=False))
            except Contradiction:
                raise
            except ReportError as error:
                raise Contradiction(row, str(error)) from None
        return _proven(results)

    def line(self, sample: Sample, plain: Any, *, proven: bool = True) -> Result:
        """Return the result of a row; `proven`: it was compared before.

        Raises `ReportError`, naming the field, for what does not follow from the sample.
        """
        derivation = self._derivation
        if derivation.asks_nobody and type(plain) is dict and plain.get("status") != "unscored":
            derived = self.score(sample)
            if not proven:
                _check_equal(plain, derived)
            return derived
        saved = ResultRecord.read(plain).as_found(self._method)
        if proven:
            return derivation.result(sample, saved) if derivation.asks_nobody else saved
        check_retrieved(sample, saved)
        derived = derivation.result(sample, saved)
        if derived != saved:
            _check_equal(plain, derived)
        return saved

    @property
    def asks_nobody(self) -> bool:
        """Whether scores follow from samples alone."""
        return self._derivation.asks_nobody

    def score(self, sample: Sample) -> Result:
        """Return the result of a sample, for a scorer that asks nobody."""
        assert self._derivation.scorer is not None  # noqa: S101 - it asks nobody
        return self._derivation.scorer.score(sample)

    def result(self, sample: Sample, saved: Result) -> Result:
        """Return what a sample gives, by what its judge said as a saved result tells."""
        return self._derivation.result(sample, saved)

    def columns(self, samples: Sequence[Sample]) -> ScoreColumns | None:
        """Return what samples give as columns, where they are scored so; None elsewhere."""
        return id_columns(samples) if type(self._derivation.scorer) is IdRecall else None

    def _ids(self, samples: Sequence[Sample], saved: Sequence[Any]) -> Proven | None:
        """Return the score of rows that are scored together; None where one is looked at alone."""
        columns = id_columns(samples)
        if columns is None:
            return None
        names = [_counted(sample) for sample in samples]
        offsets = columns.found.first.offsets
        findings = _plain_findings(list(chain.from_iterable(names)), columns)
        bounds = offsets.tolist()
        for row, (plain, count, start, end) in enumerate(
            zip(saved, columns.found.retrieved.tolist(), bounds, bounds[1:], strict=False)
        ):
            if type(plain) is not dict:
                return None
            expected = {
                "status": "scored",
                "score": plain.get("score"),
                "retrieved": count,
                "findings": findings[start:end],
            }
            if plain == expected:
                continue
            if plain.get("status") == "unscored":  # maybe by its run
                return None
            try:
                self.line(samples[row], plain, proven=False)
            except ReportError as error:
                raise Contradiction(row, str(error)) from None
        if columns.found.grade is None:
            digests = hash_sums(name_hashes(list(chain.from_iterable(names))), offsets)
        else:
            digests = digests_of([self.line(one, {}).findings for one in samples])
        return Proven(columns, digests, judged=False)


def _proven(results: Sequence[Result]) -> Proven:
    return Proven(
        ScoreColumns.of(results),
        digests_of([result.findings for result in results]),
        any(result.is_judged for result in results),
    )


def _counted(sample: Sample) -> list[str]:
    """Return the reference IDs of a sample that are targets."""
    single = sample.single_ids
    assert single is not None  # noqa: S101 - columns were made of it
    if single.grades is None:
        return single.names
    return [name for name, grade in zip(single.names, single.grades, strict=True) if grade > 0]


def _plain_findings(names: Sequence[str], columns: ScoreColumns) -> list[Plain]:
    """Return the findings of IDs that stand alone, as a file has them."""
    places = columns.found.first.values.tolist()
    findings: list[Plain] = [
        {"target": [name], "steps": [[place, 1.0]], "ranks": [place]}
        if place
        else {"target": [name], "steps": [], "ranks": []}
        for name, place in zip(names, places, strict=True)
    ]
    if columns.found.grade is not None:
        for finding, grade in zip(findings, columns.found.grade.tolist(), strict=True):
            if grade != 1.0:
                finding["grade"] = grade
    return findings


def _check_equal(plain: Plain, derived: Result) -> None:
    """Raise `ReportError` for a field that is not what a sample gives, but for the score."""
    expected = plain_found(derived)
    if "score" in plain:  # compared for many rows at once
        expected["score"] = plain["score"]
    if plain != expected:
        problem = difference(plain, expected, "")
        if problem is not None:
            raise ReportError(problem)


def difference(told: Any, derived: Any, field: str) -> str | None:
    """Return the first field of plain values that differs, and how; None where none does.

    Numbers may differ by `ROUNDING`.
    """
    if isinstance(told, dict) and isinstance(derived, dict):
        return _difference_of_fields(told, derived, field)
    if isinstance(told, list) and isinstance(derived, list):
        return _difference_of_items(told, derived, field)
    if _is_equal(told, derived):
        return None
    return f"{field} must be {shown(derived)}, as the sample gives, got {shown(told)}"


def _difference_of_fields(told: Plain, derived: Plain, field: str) -> str | None:
    for name in dict.fromkeys([*derived, *told]):
        below = f"{field}.{name}" if field else name
        if name not in told:
            return f"{below} is missing: it must be {shown(derived[name])}, as the sample gives"
        if name not in derived:
            return f"{below} must not be there, as the sample gives, got {shown(told[name])}"
        problem = difference(told[name], derived[name], below)
        if problem is not None:
            return problem
    return None


def _difference_of_items(told: list[Any], derived: list[Any], field: str) -> str | None:
    for index, (one, other) in enumerate(zip(told, derived, strict=False)):
        problem = difference(one, other, f"{field}[{index}]")
        if problem is not None:
            return problem
    if len(told) == len(derived):
        return None
    return f"{field} must be {len(derived)}, as the sample gives, got {len(told)}"


def _is_equal(told: Any, derived: Any) -> bool:
    if type(told) is float or type(derived) is float:
        numbers = type(told) in _NUMBERS and type(derived) in _NUMBERS
        return numbers and isclose(told, derived, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return bool(told == derived)


_NUMBERS = (int, float)
