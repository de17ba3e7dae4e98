"""Results without the names of their targets: few of them stand for the rows of a whole part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fullrecall.distributed.parquet.columns import Score, read_found
from fullrecall.errors import ReportError
from fullrecall.findings import Finding, Step, Target
from fullrecall.measures import Measure
from fullrecall.records import ResultRecord
from fullrecall.result import Method, Result, Status

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]

_MOST = 100_000
"""Shapes that are remembered."""

_ROUNDING = 1e-9
"""How far a saved score may be from the one that its findings give."""


def is_own(measure: Measure) -> bool:
    """Whether a measure is one of fullrecall's, which read no names of targets."""
    return type(measure).__module__.startswith("fullrecall.measures.")


class Shape:
    """One result without names; `values` are those of the measures that a `Shapes` reads."""

    __slots__ = ("result", "values")

    def __init__(self, result: Result, values: tuple[float | None, ...]) -> None:
        self.result = result
        self.values = values


class Shaped:
    """The results of one score in a batch: `shapes[codes[n]]` is that of row n."""

    __slots__ = ("codes", "shapes")

    def __init__(self, shapes: list[Shape], codes: Codes) -> None:
        self.shapes = shapes
        self.codes = codes

    def values(self, nth: int) -> Floats:
        """Return the value of the nth measure in each row; NaN where it has none."""
        import numpy as np

        return np.array([shape.values[nth] for shape in self.shapes], dtype=np.float64)[self.codes]

    def are(self, status: Status) -> NDArray[np.bool_]:
        """Return in which rows the result has this status."""
        import numpy as np

        return np.array([shape.result.status is status for shape in self.shapes])[self.codes]


class Shapes:
    """Reads the results of one score from batches, each distinct one once, with some measures.

    The first measure of all is the score's headline, by which the saved scores are checked.
    """

    def __init__(self, method: Method, measures: Sequence[Measure] = ()) -> None:
        self.columns = Score.of(method.name)
        self.measures = (method.headline, *measures)
        self._method = method
        self._known: dict[tuple[str, str, str | None], Shape] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are read."""
        return (self.columns.status, self.columns.found, self.columns.reason, self.columns.score)

    def of(self, batch: pa.RecordBatch) -> Shaped:
        """Return the results in a batch.

        Raises `ReportError`, naming row (from 1, in the batch) and column, for what no run gives.
        """
        import numpy as np

        status, found, reason, score = (batch.column(name) for name in self.names)
        texts = [_texts(column) for column in (status, found, reason)]
        codes = [_codes(column) for column in (status, found, reason)]
        scored = np.array([text == Status.SCORED for text in texts[0]], dtype=bool)
        # Of a scored result the note is said of it, and no measure reads it.
        codes[2] = np.where(scored[codes[0]], -1, codes[2])
        joined = codes[0]
        for each, column in zip(codes[1:], texts[1:], strict=True):
            joined = joined * (len(column) + 1) + (each + 1)
        _, firsts, where = np.unique(joined, return_index=True, return_inverse=True)
        shapes = []
        for row in firsts:
            cells = (texts[n][codes[n][row]] if codes[n][row] >= 0 else None for n in range(3))
            try:
                shapes.append(self._shape(*cells))
            except ReportError as error:
                raise ReportError(f"row {row + 1}: {error}") from None
        shaped = Shaped(shapes, where.astype(np.int64))
        self._check_scores(shaped, score)
        return shaped

    def _shape(self, status: Any, found: Any, reason: Any) -> Shape:
        known = self._known.get((status, found, reason))
        if known is None:
            result = self._result(status, found, reason)
            values = tuple(result[measure] for measure in self.measures)
            if len(self._known) >= _MOST:
                self._known.clear()
            known = self._known[status, found, reason] = Shape(result, values)
        return known

    def _result(self, status: Any, text: Any, reason: Any) -> Result:
        names = self.columns
        if status is None:
            raise ReportError(f"{names.status} is missing")
        try:
            retrieved, ranks, findings, unmeasured = read_found(text)
        except ReportError as error:
            raise ReportError(f"{names.found} {error}") from None
        if status == Status.SCORED and ranks is None and not unmeasured and findings:
            made = _whole(findings, retrieved)
            if made is not None:
                return Result(self._method, Status.SCORED, made, retrieved)
        for number, finding in enumerate(findings):
            finding["target"] = [str(number)]
        plain = {"status": status, "retrieved": retrieved, "findings": findings, "ranks": ranks}
        if status == Status.SCORED:
            plain["targets"] = "-"
        if reason is not None:
            plain["note"] = reason
        plain["unmeasured"] = [["", ""]] * unmeasured
        try:
            return ResultRecord.read(plain).as_found(self._method)
        except ReportError as error:
            raise ReportError(f"{names.found}: {error}") from None

    def _check_scores(self, shaped: Shaped, column: Any) -> None:
        import numpy as np

        if not is_own(self._method.headline):
            return  # it may read names
        saved = column.to_numpy(zero_copy_only=False)
        scored = shaped.are(Status.SCORED)
        due = np.where(scored, shaped.values(0), np.nan)
        with np.errstate(invalid="ignore"):
            same = (np.abs(saved - due) <= _ROUNDING) | (np.isnan(saved) & np.isnan(due))
        if not same.all():
            row = int(np.argmin(same))
            expected = None if np.isnan(due[row]) else due[row]
            got = None if np.isnan(saved[row]) else saved[row]
            raise ReportError(
                f"row {row + 1}: {self.columns.score} must be {expected}, as its findings give, "
                f"got {got}"
            )


def _whole(findings: Sequence[dict[str, Any]], retrieved: Any) -> tuple[Finding, ...] | None:
    """Return findings of targets that are found whole or not at all; None for any others.

    The kind that most results have: what it may be is told here in a fifth of the time.
    """
    made = []
    for number, finding in enumerate(findings):
        ranks = finding["ranks"]
        if len(finding) > 2 or type(retrieved) is not int:  # noqa: PLR2004 - ranks and steps alone
            return None
        last = 0
        for rank in ranks:
            if type(rank) is not int or not last < rank <= retrieved:
                return None
            last = rank
        steps = (Step(ranks[0], 1.0),) if ranks else ()
        if [list(step) for step in steps] != finding["steps"]:
            return None
        made.append(Finding(Target((str(number),)), steps, tuple(ranks)))
    return tuple(made)


def _texts(column: Any) -> list[str | None]:
    values: list[str | None] = column.dictionary.to_pylist()
    return values


def _codes(column: Any) -> Any:
    """Return the places in the dictionary; -1 for null."""
    import numpy as np

    indices = column.indices
    if indices.null_count:
        indices = indices.fill_null(-1)
    return indices.to_numpy(zero_copy_only=False).astype(np.int64)
