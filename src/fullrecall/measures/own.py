"""Measures that users define: check their classes, and compute and check their values."""

from __future__ import annotations

import inspect
import re
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Any

from fullrecall.errors import ParameterError
from fullrecall.measures.findings import Finding

if TYPE_CHECKING:
    from fullrecall.measures.found import FoundColumns
    from fullrecall.measures.lists import Floats

_ROUNDING = 1e-9
"""The largest distance of a value from its range that counts as rounding."""

_NAME = re.compile(r"[a-z_][a-z0-9_]*")


def check_class(kind: type[Any]) -> None:
    """Raise `ParameterError` for a measure class that could not be saved, parsed, or computed."""
    text = getattr(kind, "text", None)
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        raise ParameterError(
            f'{kind.__name__}.text must be a name such as "found_first", in lowercase letters, '
            f"digits and _, got {text!r}"
        )
    # A class that inherits its name would print, parse and be saved as its parent.
    namesake = next((own for own in kind.__mro__[1:] if getattr(own, "text", None) == text), None)
    if namesake is not None:
        raise ParameterError(
            f"{kind.__name__}.text is {text!r}, the name of {namesake.__name__}: choose another"
        )
    try:
        signature = inspect.signature(kind.count)
        signature.bind(None, (), 0, *[None] * ("sample" in signature.parameters))
    except TypeError:
        raise ParameterError(
            f"{kind.__name__}.count must take (self, findings, retrieved), or with sample as third"
        ) from None


def _checked(measure: Any, value: object) -> float:
    """Return a value of `count` as a float; raise `ParameterError` if it is out of range."""
    # Accept NumPy's numbers, although not all of them are Python floats.
    is_number = isinstance(value, (int, float)) or hasattr(value, "__float__")
    number = float(value) if is_number else nan  # type: ignore[arg-type]
    most, range_ = (inf, "of at least 0") if measure.is_count else (1.0, "from 0 to 1")
    # Sums of floats may exceed their range by a rounding error, which is cut off below.
    if not (isfinite(number) and -_ROUNDING <= number <= most + _ROUNDING):
        raise ParameterError(
            f"{type(measure).__name__}.count must return a number {range_}, got {value!r}"
        )
    return min(most, max(0.0, number))


def values_of(measure: Any, outcomes: FoundColumns) -> Floats:
    """Return the value of `count` within the measure's k for each row with a target, else 0."""
    findings_of = outcomes.findings
    assert findings_of is not None  # noqa: S101 - results and tables have them
    reads_sample = "sample" in inspect.signature(measure.count).parameters

    def value(row: int, retrieved: int) -> float:
        findings = measure.countable(findings_of(row))
        if measure.top is not None:
            findings = [_within(finding, measure.top) for finding in findings]
        sample = [outcomes.of_samples.sample(row)] if reads_sample else []
        return _checked(measure, measure.count(findings, retrieved, *sample))

    return outcomes.counted(measure.top, value)


def _within(finding: Finding, k: int) -> Finding:
    """Return a finding as if only the first `k` ranks had been retrieved.

    If any of its ranks is beyond `k`, the result has no `parts`.
    """
    if not finding.ranks or finding.ranks[-1] <= k:
        return finding
    return finding._replace(
        steps=tuple(step for step in finding.steps if step.rank <= k),
        ranks=tuple(rank for rank in finding.ranks if rank <= k),
        evidence=tuple(each for each in finding.evidence if each.rank <= k),
        parts=(),
    )
