"""The budgets of a curve, and the errors of a user's measure, whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fullrecall.errors import ParameterError
from fullrecall.measures import Measure
from fullrecall.measures.budgets import Unit, budgets_to
from fullrecall.measures.findings import CreditStep, Evidence, Finding, Target, by_rank
from fullrecall.measures.lists import discounts
from fullrecall.measures.own import _within


@pytest.mark.parametrize(
    ("unit", "most", "amounts"),
    [
        ("calls", 0, [1]),
        ("calls", 2.5, [1, 2, 3]),
        ("tokens", 0.5, [1]),
        ("tokens", 13, [1, 2, 3, 4, 5, 6, 8, 10, 16]),
        ("tokens", 120, [1, 2, 3, 4, 5, 6, 8, 10, 16, 20, 25, 30, 40, 50, 60, 80, 100, 125]),
        ("seconds", 0, [0.001]),
        ("seconds", 0.0011, [0.001, 0.00125]),
        ("seconds", 0.012, [0.001, 0.00125, 0.0016, 0.002, 0.0025, 0.003, 0.004, 0.005, 0.006,
                            0.008, 0.01, 0.0125]),
    ],
)  # fmt: skip
def test_budgets_are_round_numbers(unit: Unit, most: float, amounts: list[float]) -> None:
    """Calls are all numbers; tokens and seconds are ten round numbers in each power of ten."""
    assert [each.amount for each in budgets_to(unit, most)] == amounts


def made(
    text: Any, count: Any = lambda self, findings, retrieved: 0.0, parent: Any = Measure
) -> Any:
    """Return a class of a user's measure."""
    return type("Mine", (parent,), {"text": text, "count": count, "__module__": "mine"})


@pytest.mark.parametrize("text", ["Bad", "1a", "a-b", "", 7])
def test_a_measure_has_a_name(text: Any) -> None:
    """A user's measure needs a name in lowercase letters, digits and _."""
    with pytest.raises(ParameterError) as raised:
        made(text)
    assert str(raised.value) == (
        'Mine.text must be a name such as "found_first", in lowercase letters, digits and _, '
        f"got {text!r}"
    )


def test_a_measure_has_a_name_of_its_own() -> None:
    """A class that inherits its name would be read as its parent, so it is refused."""
    parent = made("first_own")
    with pytest.raises(ParameterError, match="'first_own', the name of Mine: choose"):
        made("first_own", parent=parent)


@pytest.mark.parametrize(
    ("count", "is_right"),
    [
        (lambda self: 0, False),
        (lambda self, findings: 0, False),
        (lambda self, findings, retrieved, other: 0, False),
        (lambda self, findings, retrieved, sample: 0, True),
        (lambda self, findings, retrieved, other=None: 0, True),
    ],
)
def test_a_measure_counts_findings(count: Any, *, is_right: bool) -> None:
    """A user's `count` takes the findings and the number retrieved, and the sample if it asks."""
    if is_right:
        assert made("counts_right", count).text == "counts_right"
        return
    with pytest.raises(ParameterError) as raised:
        made("counts_wrong", count)
    assert str(raised.value) == (
        "Mine.count must take (self, findings, retrieved), or with sample as third"
    )


FOUND = Finding(
    Target(("a",)), (CreditStep(1, 0.5), CreditStep(3, 1.0)), (1, 3), (Evidence(1), Evidence(3))
)


@pytest.mark.parametrize(("k", "ranks"), [(0, ()), (1, (1,)), (2, (1,)), (3, (1, 3)), (4, (1, 3))])
def test_a_finding_within_k(k: int, ranks: tuple[int, ...]) -> None:
    """The ranks, steps and evidence of a finding are those within k."""
    cut = _within(FOUND, k)
    found = cut.ranks, [step.rank for step in cut.steps], [each.rank for each in cut.evidence]
    assert found == (ranks, [*ranks], [*ranks])


def test_positions_are_ranks_of_their_own_lists() -> None:
    """Steps, ranks and evidence of a finding by position are converted to shared ranks."""
    (found,) = by_rank([FOUND], [1, 1, 2])
    assert found.steps == (CreditStep(1, 0.5), CreditStep(2, 1.0))
    assert (found.ranks, [each.rank for each in found.evidence]) == ((1, 2), [1, 2])


def test_discounts_of_ranks() -> None:
    """The discount of a rank is log2(rank + 1); no rank has no discount."""
    assert discounts(np.array([1, 3], np.int64)).tolist() == [1.0, 2.0]
    assert discounts(np.array([], np.int64)).tolist() == []
