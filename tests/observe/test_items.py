"""An item of a tool's result holds one document beside a score or a note, or none."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context
from fullrecall.observe import ValueReader

ONE, TWO = Context("One text.", id="1"), Context("Two texts.", id="2")


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ({"doc": ONE, "score": 1}, ONE),
        ((ONE, {}), ONE),
        ([ONE], ONE),
        ([ONE, TWO], None),
        ({"doc": ONE, "other": TWO}, None),
        ({"doc": ONE, "more": [TWO]}, None),
        ({"more": [TWO]}, None),
        ({"doc": ONE, "more": []}, ONE),
        ({"doc": ONE, "tags": ["a"]}, ONE),
        ({"hit": {"doc": ONE}}, ONE),
        ({"hits": {"first": {"doc": ONE}}}, ONE),
        ({"a": {"b": {"c": {"doc": ONE}}}}, None),
        ({"hit": {"doc": ONE}, "doc": TWO}, None),
        ({"score": 1}, None),
        ("text", None),
        (7, None),
    ],
)
def test_the_document_of_an_item(item: Any, found: Context | None) -> None:
    """Two documents, or a list of documents, are those of a call and not of one item."""
    copy = ValueReader()._hit(item)
    assert (copy and copy.detail) == found
