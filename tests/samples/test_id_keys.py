"""The IDs of contexts come from a field, a template of fields, several fields, or a function."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall.errors import ParameterError
from fullrecall.samples.context import Context
from fullrecall.samples.id_keys import check_id_key, field_paths, id_at

ITEM: dict[str, Any] = {
    "id": "c-1",
    "source": "/docs/law/Act 12.pdf",
    "page": 0,
    "blank": "",
    "metadata": {"doc": "d-7", "page": "4", "loc": {"line": 3}, "path": "a\\b\\c.md\\"},
}


@pytest.mark.parametrize(
    ("id_key", "own_id"),
    [
        ("id", "c-1"),
        ("doc", "d-7"),
        ("page", 0),  # the item's own field comes before its metadata's
        ("metadata.page", "4"),
        ("loc.line", 3),
        ("{doc}", "d-7"),
        ("{doc}#{page}", "d-7#0"),
        ("{doc}#{page:+1}", "d-7#1"),
        ("{doc}#{metadata.page:+1}", "d-7#5"),
        ("{doc}#{nothing}:{page}", "d-7:0"),
        ("{doc}#{nothing:+1}", "d-7"),
        ("{doc}.pdf", "d-7.pdf"),
        ("{doc} (page {page})", "d-7 (page 0)"),
        ("{doc} (page {nothing})", "d-7"),
        ("x-{doc}", "x-d-7"),
        ("{source:name}", "Act 12.pdf"),
        ("{path:name}", "c.md"),
        ("{doc:name}", "d-7"),
        (["doc", "page"], "d-7:0"),
        (("id",), "c-1"),
        (lambda item: item["id"].upper(), "C-1"),
    ],
)
def test_ids(id_key: Any, own_id: object) -> None:
    """A missing part of a template is left out with the text before it."""
    assert id_at(ITEM, id_key) == own_id


@pytest.mark.parametrize(
    ("id_key", "problem"),
    [
        ("nothing", "nothing at 'nothing': it has 'id', 'source', 'page'"),
        ("{nothing}#{page}", "nothing at"),
        (["doc", "nothing"], "nothing at"),
        (["doc", "blank"], "nothing at"),
        ("{doc}#{source:+1}", "id_key adds 1 to 'source', got '/docs/law/Act 12.pdf'"),
        (lambda _: None, "id_key returned None for a context"),
        (lambda item: item["x"], "id_key raised KeyError: 'x'"),
    ],
)
def test_contexts_without_an_id(id_key: Any, problem: str) -> None:
    """The error lists the fields that a context has, or names the problem of the function."""
    with pytest.raises(ValueError, match=problem):
        id_at(ITEM, id_key)


def test_a_context_has_its_metadata_first() -> None:
    """Metadata of a context comes before its fields, and only texts and numbers can be IDs."""
    context = Context(
        "t", id="c", source="s.md", metadata={"id": "m", "n": 1, "is_new": True, "part": {"x": 2.5}}
    )
    assert [id_at(context, key) for key in ("id", "source", "n")] == ["m", "s.md", 1]
    assert list(field_paths(context)) == ["source", "id", "n"]
    assert list(field_paths(Context("t", metadata={"a": {"b": "c"}}))) == ["a.b"]
    assert list(field_paths(7)) == []


@pytest.mark.parametrize("id_key", [None, len, "a", "a.b", ["a"], ("a", "b"), "{a}", "x{a}#{b}y"])
def test_keys(id_key: Any) -> None:
    """A path, several paths, a template, and a function are keys."""
    check_id_key(id_key)


@pytest.mark.parametrize(
    "id_key", ["", [], (), ["a", ""], ["a", 1], 1, {"a"}, "{a", "a}", "{}", "{a}}", "{{a}}"]
)
def test_values_that_are_no_keys(id_key: Any) -> None:
    """Other values are refused by the parameter's name."""
    with pytest.raises(ParameterError, match=r"id_key must be a field|id_key has a brace"):
        check_id_key(id_key)
