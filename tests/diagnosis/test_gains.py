"""Predicted gains beside gains by really making the change, in the demo's two retrievers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.frameworks

FOLDER = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def gains() -> Iterator[Any]:
    """The benchmark of gains."""
    sys.path.insert(0, str(FOLDER))
    yield import_module("diagnosis_gains")
    sys.path.remove(str(FOLDER))
    sys.modules.pop("diagnosis_gains", None)


def test_measured_gains_lie_in_the_predicted_intervals(gains: Any) -> None:
    """Every change is made and every third question asked again; all kinds occur.

    Over the documents that the questions need: the benchmark has the rest. What is no bound is
    predicted to the digit, since the same questions are asked. (Copies are dropped here where
    their texts are equal, and predicted where they say the same.)
    """
    kinds = set()
    bm25, dense = (replace(one, samples=one.samples[::3]) for one in gains.demo(pages=0))
    for setting, changes in ((bm25, gains.CHANGES), (dense, (gains.larger_k, gains.stages))):
        for make in changes:
            for made in make(setting):
                kinds.add(made.change.kind)
                assert made.holds, (made.change.text, made.measured)
                if not made.change.at_most and made.change.kind != "drop_duplicates":
                    assert made.change.gain == pytest.approx(made.measured), made.change.text
    assert len(kinds) >= 6, kinds
