"""The benchmark of causes names each planted cause, and its advice does no harm."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.diagnosis.known_causes import EACH, STYLES, diagnosed

from fullrecall.diagnosis import Cause

CHANGES_WHAT_COUNTS = frozenset(
    {
        Cause.NEAR_DUPLICATE,
        Cause.ID_MISMATCH,
        Cause.WRONG_ID_LEVEL,
        Cause.REFERENCE_ABSTAINS,
        Cause.CONTRADICTED,
        Cause.CROWDED_OUT,
        Cause.NOT_IN_CORPUS,
    }
)
"""Causes whose fix takes one document for another, drops one, or changes references.

Named wrongly, they do harm: a wrong score that looks right, or a document that is gone.
"""


@pytest.mark.parametrize("style", STYLES)
def test_causes_are_named(style: str) -> None:
    """At least 95 % of the misses get the cause that they were built with."""
    right, wrong = 0, Counter[tuple[Cause, Cause]]()
    causes: Counter[Cause] = Counter()
    for expected, found in diagnosed(style):
        assert {miss.sample for miss in found} == set(expected)
        for miss in found:
            cause = expected[miss.sample]
            causes[cause] += 1
            if miss.cause is cause:
                right += 1
            else:
                wrong[cause, miss.cause] += 1
    assert set(causes.values()) == {EACH}
    assert causes.keys() == {*Cause} - {Cause.UNKNOWN, Cause.NOT_SEARCHED}
    assert right >= 0.95 * sum(causes.values()), wrong
    assert not any(named in CHANGES_WHAT_COUNTS for _, named in wrong), wrong
