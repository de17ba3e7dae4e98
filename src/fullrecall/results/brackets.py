"""Values with their counts, few enough to decide by: rounded outwards where they are many."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fullrecall.results.bounds import Counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_VALUES = 4_096
"""More distinct values than these are rounded, downwards for `low`, upwards for `high`."""


_FINEST = 60
"""Binary digits that values are never rounded to: two floats may differ by less."""


class Bracket(NamedTuple):
    """Values from below and from above; they differ where there are too many to keep apart."""

    low: Counts
    high: Counts


def bracketed(
    values: Floats, counts: Floats | None = None, *, least: float, most: float
) -> Bracket:
    """Return counts of values that are nowhere above `values`, and nowhere below.

    Both are exact for at most `MOST_VALUES` distinct values. More are rounded outwards to the
    finest multiples of a power of 2 that leave no more, in [`least`, `most`].
    """
    import numpy as np

    distinct, position = np.unique(values, return_inverse=True)
    frequencies = np.bincount(position.ravel(), weights=counts, minlength=len(distinct)).astype(
        float
    )
    bits = _bits(distinct)
    if bits is None:
        return Bracket(*[_counted(distinct, frequencies)] * 2)
    low = np.floor(distinct * 2.0**bits) / 2.0**bits
    high = np.minimum(low + 2.0**-bits, most)
    return Bracket(_counted(np.maximum(low, least), frequencies), _counted(high, frequencies))


def _bits(distinct: Floats) -> int | None:
    """Return the largest number of binary digits that leaves few values; None: all are few."""
    import numpy as np

    if len(distinct) <= MOST_VALUES:
        return None
    fits, fails = 0, _FINEST
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if len(np.unique(np.floor(distinct * 2.0**middle))) <= MOST_VALUES:
            fits = middle
        else:
            fails = middle
    return fits


def _counted(values: Floats, counts: Floats | None) -> Counts:
    import numpy as np

    distinct, position = np.unique(values, return_inverse=True)
    frequencies = np.bincount(position.ravel(), weights=counts, minlength=len(distinct)).astype(
        float
    )
    there = frequencies > 0
    return Counts(tuple(distinct[there].tolist()), tuple(frequencies[there].tolist()))
