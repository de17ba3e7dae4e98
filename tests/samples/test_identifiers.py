"""Values are IDs, lists of IDs, or refused; a short word may be an ID by its look."""

from __future__ import annotations

from collections import deque
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from fullrecall.samples import identifiers
from fullrecall.samples.identifiers import (
    as_id,
    as_list,
    as_listed_ids,
    as_texts,
    each_of,
    is_texts,
    looks_like_id,
)

np = pytest.importorskip("numpy")
RANDOM = UUID(int=7)


@pytest.mark.parametrize(
    ("value", "own_id"),
    [("a", "a"), ("", ""), (7, "7"), (-1, "-1"), (np.int64(7), "7"), (RANDOM, str(RANDOM))],
)
def test_ids(value: object, own_id: str) -> None:
    """Whole numbers and UUIDs are compared as texts."""
    assert as_id(value) == own_id


@pytest.mark.parametrize("value", [True, None, 1.0, Decimal(1), b"a", ["a"], np.float64(1)])
def test_values_that_are_no_ids(value: object) -> None:
    """Floats are refused with advice, other values without."""
    with pytest.raises(ValueError, match="is not an ID: expected a str or an int") as raised:
        as_id(value)
    assert ("gaps becomes float" in str(raised.value)) == isinstance(value, float)


@pytest.mark.parametrize(
    ("value", "looks"),
    [
        ("a", True), ("", False), (" ", False), ("a b", False), ("a" * 200, True),
        ("a" * 201, False), ("ab?", True), ("日本", True), ("日" * 20, True), ("日" * 21, False),
        ("日本。", False), ("é" * 50, True), ("é日؟", False), (7, True), (True, False),
        (1.0, False), (None, False), (RANDOM, True), (np.int64(7), True), (b"a", False),
    ],
)  # fmt: skip
def test_the_look_of_ids(value: object, *, looks: bool) -> None:
    """A word of at most 200 characters, and of few letters without case, looks like an ID."""
    assert looks_like_id(value) == looks


@pytest.mark.parametrize(
    ("value", "items"),
    [
        ([1], [1]), ((1, "a"), [1, "a"]), (deque([1]), [1]), (range(2), [0, 1]),
        (iter("ab"), ["a", "b"]), (np.array([1, 2]), [1, 2]), (dict.fromkeys("ab").keys(), None),
        ({"a"}, None), ("a", None), (b"a", None), (bytearray(b"a"), None), ({"a": 1}, None),
        (7, None), (None, None), (np.array(7), None),
    ],
)  # fmt: skip
def test_lists(value: Any, items: list[Any] | None) -> None:
    """Anything that iterates in an order is a list, except texts, bytes, and mappings."""
    if items is None:
        with pytest.raises(ValueError, match=r"^expected a list, got "):
            as_list(value, ordered=True)
    else:
        found = as_list(value, ordered=True)
        assert found == items
        assert found is not value


def test_sets_are_lists_without_an_order() -> None:
    """A set is a list where the order says nothing."""
    assert as_list({"a"}, ordered=False) == ["a"]
    with pytest.raises(ValueError, match="a set, which has no order"):
        as_list({"a"}, ordered=True)


@pytest.mark.parametrize(
    ("value", "advice"),
    [("a b", r"wrap it, \['a b'\]"), ("a,b", "pass its items"), ("[a]", "pass its items"),
     ("a\nb", "pass its items"), ("a;b", "pass its items"), ("a|b", "pass its items"),
     (b"a,b", r"wrap it, \[b'a,b'\]")],
)  # fmt: skip
def test_a_text_has_advice(value: Any, advice: str) -> None:
    """A text with separators has several items, any other text is one."""
    with pytest.raises(ValueError, match=advice):
        as_list(value, ordered=False)


def test_a_list_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list has at most so many items."""
    monkeypatch.setattr(identifiers, "_MOST_ITEMS", 3)
    assert as_list(iter("abc"), ordered=True) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="more than 3 items: does it end"):
        as_list(iter("abcd"), ordered=True)


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        (["a", "b"], ("a", "b")), (("a",), ("a",)), ([1, 2], ("1", "2")), (["a", ""], ("a", None)),
        (["a", None, 3], ("a", None, "3")), ([], ()), (iter([RANDOM, "a"]), (str(RANDOM), "a")),
        (np.array([3, 4]), ("3", "4")),
    ],
)  # fmt: skip
def test_listed_ids(value: Any, ids: tuple[str | None, ...]) -> None:
    """A context without an ID, or with a blank one, is None in its place."""
    assert as_listed_ids(value) == ids


@pytest.mark.parametrize(
    ("items", "texts"),
    [(["a"], ["a"]), ([], []), ([1, 2], ["1", "2"]), ([1, True], None), ([1, "a"], None),
     ([1.0], None), ([None], None)],
)  # fmt: skip
def test_texts_of_items(items: list[Any], texts: list[str] | None) -> None:
    """Only lists of one type are texts at once."""
    assert as_texts(items) == texts
    assert is_texts(items) == (items == texts)
    assert as_texts([10**5000]) is None


def test_the_wrong_item_is_named() -> None:
    """The error has the position of the item."""
    assert each_of(["a", 1], as_id) == ["a", "1"]
    with pytest.raises(ValueError, match=r"^item 1: 1.5 is not an ID"):
        each_of(["a", 1.5], as_id)
