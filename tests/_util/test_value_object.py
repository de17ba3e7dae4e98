"""A `ValueObject` is compared, hashed, and shown as a dataclass with generated methods is."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from fullrecall._util.value_object import ValueObject


@dataclass(frozen=True, eq=False, repr=False)
class Shared(ValueObject):
    """Has the shared methods."""

    a: Any
    b: Any = field(default=0, compare=False)
    c: Any = field(default=0, repr=False)


@dataclass(frozen=True)
class Generated:
    """Has the methods that `dataclass` generates."""

    a: Any
    b: Any = field(default=0, compare=False)
    c: Any = field(default=0, repr=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Slotted(Shared):
    """Has a field more than its base, without a `__dict__` of its own."""

    d: int = 1


VALUES = [(1,), (1, 2), (1, 2, 3), (2,), ("a", None, (1,)), ([1],), (float("nan"),)]


@pytest.mark.parametrize("first", VALUES)
@pytest.mark.parametrize("second", VALUES)
def test_objects_are_equal_as_generated_methods_say(first: Any, second: Any) -> None:
    """Fields with `compare=False` do not count."""
    assert (Shared(*first) == Shared(*second)) == (Generated(*first) == Generated(*second))


@pytest.mark.parametrize("values", VALUES)
def test_an_object_is_shown_as_the_generated_method_shows_it(values: Any) -> None:
    """Fields with `repr=False` are left out."""
    assert repr(Shared(*values)) == repr(Generated(*values)).replace("Generated", "Shared")


def test_equal_objects_have_one_hash_and_survive_pickling() -> None:
    """An object with an unhashable field has no hash."""
    assert hash(Shared(1, 2)) == hash(Shared(1, 3))
    assert hash(Shared(1)) != hash(Shared(2))
    for value in (Shared(1, 2, 3), Slotted((1,), d=2)):
        again = pickle.loads(pickle.dumps(value))  # noqa: S301 - made here
        assert again == value
        assert (hash(again), repr(again)) == (hash(value), repr(value))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Shared([]))


def test_an_object_equals_none_of_another_class() -> None:
    """Neither of a subclass; a subclass compares its own fields too."""
    assert Shared(1) != Slotted(1)
    assert Shared(1) != (1, 0, 0)
    assert Slotted(1, d=2) != replace(Slotted(1, d=2), d=3)
    assert repr(Slotted(1, 2, 3, 4)) == "Slotted(a=1, b=2, d=4)"


def test_an_object_that_has_itself_is_shown() -> None:
    """As by the generated method."""
    inside: list[Any] = []
    value = Shared(inside)
    inside.append(value)
    assert repr(value) == "Shared(a=[...], b=0)"
