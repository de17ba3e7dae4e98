"""Saved results held against the samples beside them: what a file says has to follow from it.

What is kept of a score whose scorer asks nobody is what the sample gives, not what the file says:
that is compared and left. Of a judge's scores all that is not the judge's own word is derived by
the scorer that made them; see `fullrecall.scorers.derived`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isclose
from typing import Any

from fullrecall.errors import ReportError
from fullrecall.identifiers import shown
from fullrecall.records import ROUNDING, ResultRecord, check_retrieved
from fullrecall.result import Method, Result
from fullrecall.results.files.plain import plain_results
from fullrecall.results.origin import Origin
from fullrecall.sample import Sample
from fullrecall.scorers.derived import Derivation
from fullrecall.scorers.ids import IdRecall, id_columns
from fullrecall.table.part import MemoryPart, Rescored, Results, ScoreColumns

Plain = dict[str, Any]


class Contradiction(ReportError):  # noqa: N818 - what a reader makes a `ReportError` of
    """A row's result does not follow from its sample; `row` is its index among those compared."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(problem)
        self.row = row


class Proof:
    """Proves the saved results of one score."""

    def __init__(self, method: Method, *, held: bool) -> None:
        """Prove results of this method; `held`: its run held labels against a corpus."""
        self._method = method
        self._derivation = Derivation(method, held=held)

    def derived(
        self,
        samples: Sequence[Sample],
        statuses: Sequence[object],
        saved: Callable[[int], Result],
    ) -> MemoryPart:
        """Return what samples give, where a file has these statuses and `saved` its results.

        Raises `Contradiction` for the first row that is no result.
        """
        columns = None
        if type(self._derivation.scorer) is IdRecall and _GIVEN.issuperset(map(str, statuses)):
            columns = id_columns(samples)
        if columns is not None:
            return MemoryPart(samples, [columns], [Rescored(self._score, follows=True)])
        results = []
        for row, (sample, status) in enumerate(zip(samples, statuses, strict=True)):
            try:
                results.append((self._result(sample, status, partial(saved, row)),))
            except ReportError as error:
                raise Contradiction(row, str(error)) from None
        return MemoryPart.of(samples, results) if results else MemoryPart([], [_NO_ROWS], [[]])

    def score(
        self, samples: Sequence[Sample], saved: Sequence[Any]
    ) -> tuple[ScoreColumns, Results]:
        """Return the score of rows of which a file has plain values.

        Raises `Contradiction` for the first row that is no result or does not follow.
        """
        statuses = list(map(_status, saved))
        part = self.derived(samples, statuses, lambda row: self._read(saved[row]))
        for row, (content, expected) in enumerate(
            zip(saved, plain_results(part, 0, self._method), strict=True)
        ):
            problem = difference(content, expected, "") if content != expected else None
            if problem is not None:
                raise Contradiction(row, problem)
        return part.columns(0), part.kept[0]

    def _result(self, sample: Sample, status: object, saved: Callable[[], Result]) -> Result:
        if self._derivation.asks_nobody and status in _GIVEN:
            return self._score(sample)
        saved_value = saved()
        check_retrieved(sample, saved_value)
        return self._derivation.result(sample, saved_value)

    def _score(self, sample: Sample) -> Result:
        assert self._derivation.scorer is not None  # noqa: S101 - it asks nobody
        return self._derivation.scorer.score(sample)

    def _read(self, content: Any) -> Result:
        return ResultRecord.read(content).as_found(self._method)


def _status(content: Any) -> str | None:
    """Return the status of a result; None for what has none, which is refused when it is read."""
    status = content.get("status") if type(content) is dict else None
    return status if type(status) is str else None


def proofs_of(where: str, methods: Sequence[Method], origin: Origin) -> list[Proof]:
    """Return the proof of each score; `ReportError`, which begins with `where`, for a wrong one."""
    try:
        return [Proof(method, held=origin.corpus is not None) for method in methods]
    except ReportError as error:
        raise ReportError(f"{where}: {error}") from None


_GIVEN = frozenset({"scored", "undefined"})
"""What a sample gives by itself; a run may leave any sample unscored."""

_NO_ROWS = ScoreColumns.of([])


def difference(saved_value: Any, derived: Any, field: str) -> str | None:
    """Return the first field of plain values that differs, and how; None where none does.

    Numbers may differ by `ROUNDING`.
    """
    if isinstance(saved_value, dict) and isinstance(derived, dict):
        return _difference_of_fields(saved_value, derived, field)
    if isinstance(saved_value, list) and isinstance(derived, list):
        return _difference_of_items(saved_value, derived, field)
    if _is_equal(saved_value, derived):
        return None
    return f"{field} must be {shown(derived)}, as the sample gives, got {shown(saved_value)}"


def _difference_of_fields(saved_value: Plain, derived: Plain, field: str) -> str | None:
    for name in dict.fromkeys([*derived, *saved_value]):
        below = f"{field}.{name}" if field else name
        if name not in saved_value:
            return f"{below} is missing: it must be {shown(derived[name])}, as the sample gives"
        if name not in derived:
            return f"{below} must not be there, as the sample gives, got {shown(saved_value[name])}"
        problem = difference(saved_value[name], derived[name], below)
        if problem is not None:
            return problem
    return None


def _difference_of_items(saved_value: list[Any], derived: list[Any], field: str) -> str | None:
    for index, (item, other) in enumerate(zip(saved_value, derived, strict=False)):
        problem = difference(item, other, f"{field}[{index}]")
        if problem is not None:
            return problem
    if len(saved_value) == len(derived):
        return None
    return f"{field} must be {len(derived)}, as the sample gives, got {len(saved_value)}"


def _is_equal(saved_value: Any, derived: Any) -> bool:
    if type(saved_value) is float or type(derived) is float:
        numbers = type(saved_value) in _NUMBERS and type(derived) in _NUMBERS
        return numbers and isclose(saved_value, derived, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return bool(saved_value == derived)


_NUMBERS = (int, float)
