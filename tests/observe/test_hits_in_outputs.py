"""Hits in the output of a tool: an envelope of hits, or a hit whose text is JSON."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall.observe.tools import hits_in

JSON = '[{"id": "a", "text": "t"}]'
HIT = {"id": "a", "text": "t"}


@pytest.mark.parametrize(
    ("output", "hits"),
    [
        ({"results": JSON}, [("a", "t")]),
        ({"results": [HIT]}, [("a", "t")]),
        ({"content": [HIT], "id": "x"}, [("a", "t")]),
        ({"content": JSON, "id": "x"}, [("x", JSON)]),
        ({"text": JSON, "score": 1.0}, [(None, JSON)]),
        ({"type": "text", "text": JSON}, [("a", "t")]),
        ({"content": "plain", "id": "x"}, [("x", "plain")]),
        ({"role": "tool", "content": JSON}, None),
        ([{"type": "text", "text": JSON}, {"results": [HIT]}], [("a", "t"), ("a", "t")]),
        ([HIT, 7], None),
        ("plain", None),
    ],
)
def test_the_hits_of_an_output(output: Any, hits: list[tuple[str | None, str]] | None) -> None:
    """Hits are read from their envelope; the text of a hit stays its text, even if it is JSON."""
    found = hits_in(output)
    assert (None if found is None else [(each.id, each.text) for each in found]) == hits
