"""Documents are iterated over again and again, and an ID names one text."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall.errors import InputError
from fullrecall.files.documents import documents_of, html_text


@pytest.mark.parametrize(
    ("items", "ids"),
    [
        ([{"id": "a", "text": "x"}, {"id": "b", "text": "x"}], ["a", "b"]),
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "x"}], ["a"]),
        ({"a": "x", "b": "y"}, ["a", "b"]),
    ],
)
def test_each_document_is_read_once(items: Any, ids: list[str]) -> None:
    """A document that comes twice is read once, in every iteration."""
    documents = documents_of(items)
    for _ in range(2):
        assert [each.id for each in documents] == ids
    assert documents_of(documents) is documents


def test_the_visible_text_of_a_page() -> None:
    """A page is read without its head and its replacement of scripts; blocks are set apart."""
    pytest.importorskip("bs4", reason="needs the html extra")
    assert (
        html_text("<head><title>t</title></head>a<noscript>n</noscript><p>b</p>c") == "a\n\nb\n\nc"
    )


def test_an_id_of_two_texts_is_refused() -> None:
    """Two texts of one ID are an error after the documents before it."""
    documents = iter(documents_of([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]))
    assert next(documents).text == "x"
    with pytest.raises(InputError) as raised:
        next(documents)
    assert raised.value.problem == "the ID 'a' names two texts: use unique IDs"
