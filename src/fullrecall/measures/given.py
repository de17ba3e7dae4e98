"""Convert the measures that a caller passes, as objects or as texts."""

from __future__ import annotations

from collections.abc import Iterable

from fullrecall._util.values import shown
from fullrecall.errors import ParameterError
from fullrecall.measures.measure import Measure


def as_measures(values: Iterable[object]) -> tuple[Measure, ...]:
    """Return measures, after parsing those given as text.

    Raises `ParameterError` for a value of another kind, or a text that is not a measure.
    """
    if isinstance(values, (str, Measure)):
        values = (values,)
    if not isinstance(values, Iterable):
        raise ParameterError(f"must be measures such as Recall @ 5, got {shown(values)}")
    measures = []
    for value in values:
        if not isinstance(value, (str, Measure)):
            raise ParameterError(f"expected a measure such as Recall @ 5, got {value!r}")
        measures.append(value if isinstance(value, Measure) else _parsed(value))
    return tuple(measures)


def as_shares(values: Iterable[object]) -> tuple[Measure, ...]:
    """Return measures with values in [0, 1], after parsing those given as text.

    Raises `ParameterError` for a count, a value of another kind, or a text that is not a measure.
    """
    measures = as_measures(values)
    for measure in measures:
        if measure.is_count:
            raise ParameterError(f"{measure!r} is a count: read it of a summary or a result")
    return measures


def _parsed(text: str) -> Measure:
    from fullrecall.measures.text import parse  # loads all measures, so only for a text

    return parse(text)
