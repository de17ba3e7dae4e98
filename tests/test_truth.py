"""Objects with an answer have no truth value: `assert Gate(…).check(report)` would always pass."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pkgutil import walk_packages

import pytest
from tests.adapters import installed

from fullrecall import IdRecall, Sample, compare, evaluate
from fullrecall._util.truth import NoTruth
from fullrecall.errors import ParameterError
from fullrecall.stats.change import Direction

pytestmark = pytest.mark.rooms

ANSWERS = ("outcome", "is_valid", "winner")
"""Fields and properties that hold an answer: a class that has one has no truth value."""

PACKAGES = ("fullrecall", *installed())


def classes() -> dict[str, type]:
    """Return every class of the package and the adapters, by its full name."""
    found = {}
    for package in map(import_module, PACKAGES):
        for info in walk_packages(package.__path__, f"{package.__name__}."):
            if info.name.endswith("__main__"):
                continue
            module = import_module(info.name)
            own = vars(module).values()
            kinds = [each for each in own if inspect.isclass(each)]
            found |= {
                f"{k.__module__}.{k.__qualname__}": k for k in kinds if k.__module__ == info.name
            }
    return found


CLASSES = classes()
ANSWERING = {
    name: kind
    for name, kind in CLASSES.items()
    if any(each in {*inspect.get_annotations(kind), *vars(kind)} for each in ANSWERS)
}


@pytest.mark.parametrize("name", sorted(ANSWERING))
def test_classes_with_an_answer_have_no_truth_value(name: str) -> None:
    """Every class with an outcome refuses `bool()`."""
    assert issubclass(ANSWERING[name], NoTruth)


@pytest.mark.parametrize(
    "name",
    sorted(
        name for name, kind in CLASSES.items() if issubclass(kind, NoTruth) and kind is not NoTruth
    ),
)
def test_the_error_names_the_attribute_that_has_the_answer(name: str) -> None:
    """The error names an existing attribute that has the answer."""
    kind = CLASSES[name]
    with pytest.raises(
        ParameterError, match=re.escape(f"{kind.__name__} has no truth value: read {kind.read}")
    ):
        bool(object.__new__(kind))
    attribute = kind.read.rpartition(".")[2]
    owner = CLASSES["fullrecall.stats.comparison.Comparison"] if "[" in kind.read else kind
    assert hasattr(owner, attribute) or attribute in inspect.get_annotations(owner)


def test_a_comparison_has_the_outcome_of_its_only_score() -> None:
    """`compare(…).outcome` needs no score's name if there is only one score."""
    samples = [Sample(id=n, expected_ids=["a"], retrieved_ids=["a"]) for n in range(40)]
    worse = [Sample(id=n, expected_ids=["a"], retrieved_ids=["b"]) for n in range(40)]
    comparison = compare(evaluate(samples, IdRecall()), evaluate(worse, IdRecall()))
    assert comparison.outcome is comparison["id_recall"].outcome is Direction.WORSE
