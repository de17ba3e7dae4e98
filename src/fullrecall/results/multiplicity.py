"""Several tests at once: p-values adjusted for their number."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number; any of them may be rejected at its face value.

    Of all true hypotheses, any is rejected with probability alpha at most, however the p-values
    depend on each other. Source: Holm, "A simple sequentially rejective multiple test procedure",
    Scandinavian Journal of Statistics 6(2), 1979.
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rejected, position in enumerate(order):
        largest = max(largest, min(1.0, p_values[position] * (len(p_values) - rejected)))
        adjusted[position] = largest
    return adjusted
