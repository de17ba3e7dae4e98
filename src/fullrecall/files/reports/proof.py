"""Check saved results against their saved samples: each result must follow from its sample.

Without a judge, all results are computed again from the samples and compared with those of the
file. With a judge, everything is computed again except the judge's answers; see
`fullrecall.scorers.derived`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from math import isclose
from typing import Any

from fullrecall._util.values import shown
from fullrecall.errors import ReportError
from fullrecall.files.reports.plain import located, plain_results
from fullrecall.files.reports.records import ROUNDING, ResultRecord, check_retrieved
from fullrecall.measures.found import FoundColumns
from fullrecall.samples.sample import Sample
from fullrecall.scorers.derived import Derivation
from fullrecall.scorers.id_columns import columns_of
from fullrecall.scorers.id_samples import ScoredIds
from fullrecall.scorers.ids import IdRecall
from fullrecall.scorers.result import Method, Result
from fullrecall.table.origin import Origin
from fullrecall.table.part import ColumnResults, MemoryPart, Results


class Contradiction(ReportError):  # noqa: N818 - caught, and raised again as a `ReportError`
    """A result does not follow from its sample; `row` is the index among the compared rows."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(problem)
        self.row = row


class Proof:
    """Checks the saved results of one score against their samples."""

    def __init__(self, method: Method, *, held: bool) -> None:
        """Check results of this method; `held`: whether the run compared labels with a corpus."""
        self._method = method
        self._derivation = Derivation(method, held=held)

    def derived(
        self,
        samples: Sequence[Sample],
        statuses: Sequence[str],
        saved: Sequence[Callable[[], Result]],
    ) -> MemoryPart:
        """Return the samples with the results that are derived from them.

        `statuses` are the saved statuses, and each function in `saved` reads one saved result. The
        saved result is also needed to derive the result of a judge, or of an unscored sample.
        Raises `Contradiction` for the first wrong result.
        """
        alone = self._derivation.alone
        if type(alone) is IdRecall and _GIVEN.issuperset(statuses):
            scored = ScoredIds.of(samples)
            return MemoryPart(
                samples, [scored.columns], [ColumnResults(self._method, scored.notes)]
            )
        results = []
        for row, (sample, status, read) in enumerate(zip(samples, statuses, saved, strict=True)):
            try:
                if alone is not None and status in _GIVEN:
                    result = alone.score(sample)
                else:
                    result = read()
                    check_retrieved(sample, result)
                    result = self._derivation.result(sample, result)
            except ReportError as error:
                raise Contradiction(row, str(error)) from None
            results.append(result)
        return MemoryPart(samples, [columns_of(results)], [results])

    def score(
        self, samples: Sequence[Sample], saved: Sequence[Any]
    ) -> tuple[FoundColumns, Results]:
        """Return the results that are derived from samples, as columns and objects.

        `saved` are the file's results as plain values. Raises `Contradiction` for the first saved
        result that is wrong or differs from the derived one.
        """
        statuses = [str(type(each) is dict and each.get("status")) for each in saved]
        part = self.derived(samples, statuses, [partial(self._read, each) for each in saved])
        for row, (content, expected) in enumerate(
            zip(saved, plain_results(part, 0, self._method), strict=True)
        ):
            problem = difference(content, expected, "") if content != expected else None
            if problem is not None:
                raise Contradiction(row, problem)
        return part.columns(0), part.kept[0]

    def _read(self, content: Any) -> Result:
        return ResultRecord.read(content).as_found(self._method)


def proofs_of(where: str, methods: Sequence[Method], origin: Origin) -> list[Proof]:
    """Return the checker of each score.

    The `ReportError` for a wrong method begins with `where`.
    """
    with located(where):
        return [Proof(method, held=origin.corpus is not None) for method in methods]


_GIVEN = frozenset({"scored", "undefined", "unjudged"})
"""The statuses that follow from a sample; "unscored" does not, since a run may end early."""

_ABSENT = object()


def difference(saved_value: Any, derived: Any, field: str) -> str | None:
    """Describe the first difference of two plain values, with its field; return None if they agree.

    Numbers may differ by `ROUNDING`.
    """
    if _is_equal(saved_value, derived):
        return None
    inner_values = list(_inside(saved_value, derived, field))
    if inner_values:
        problems = (difference(saved, other, name) for name, saved, other in inner_values)
        return next(filter(None, problems), None)
    if saved_value is _ABSENT:
        return f"{field} is missing: it must be {shown(derived)}, as the sample gives"
    must = "not be there" if derived is _ABSENT else f"be {shown(derived)}"
    return f"{field} must {must}, as the sample gives, got {shown(saved_value)}"


def _inside(saved_value: Any, derived: Any, field: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name of each key or index of two mappings or lists, with the two values there."""
    if isinstance(saved_value, dict) and isinstance(derived, dict):
        for name in dict.fromkeys([*derived, *saved_value]):
            below = f"{field}.{name}" if field else name
            yield below, saved_value.get(name, _ABSENT), derived.get(name, _ABSENT)
    if isinstance(saved_value, list) and isinstance(derived, list):
        pairs = zip_longest(saved_value, derived, fillvalue=_ABSENT)
        for index, (saved, other) in enumerate(pairs):
            yield f"{field}[{index}]", saved, other


def _is_equal(saved_value: Any, derived: Any) -> bool:
    if type(saved_value) is float or type(derived) is float:
        numbers = {type(saved_value), type(derived)} <= {int, float}
        return numbers and isclose(saved_value, derived, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return bool(saved_value == derived)
