"""Paths to a value in a row, and the errors of invalid paths."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall.errors import InputError, ParameterError
from fullrecall.files.paths import MISSING, condition_of, path_of
from fullrecall.files.yaml_files import yaml_value
from fullrecall.read import from_rows

ROW: dict[str, Any] = {
    "a": {"b": [1, 2]},
    "docs": [
        {"id": "x", "page": 3, "gold": True, "kind": "law"},
        {"id": "y", "gold": 0, "kind": "note"},
        {"id": "z", "pages": [1, 2], "gold": "yes", "kind": "letter"},
    ],
    "pairs": [["T", 0], ["U", 4]],
    "cell": "['p', 'q']",
    "Gold Chunk": "c-1",
    "a.b": "dotted",
    "span": [5, 9],
    "empty": [],
    "null": None,
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b", [1, 2]),
        ("a.b[0]", 1),
        ("a.b[-1]", 2),
        ("a.b[7]", MISSING),
        ("docs[].id", ["x", "y", "z"]),
        ("docs[gold].id", ["x", "z"]),
        ("docs[!gold].id", ["y"]),
        ("docs[kind=law].id", ["x"]),
        ("docs[kind!=l*].id", ["y"]),
        ("docs[].{id}#{page}", ["x#3", "y", "z"]),
        ("docs[].{id}#{pages[]}", ["x", "y", "z#1", "z#2"]),
        ("docs[].page", [3]),
        ("docs[].nothing", MISSING),
        ("pairs[][0]", ["T", "U"]),
        ("pairs[].{[0]}#{[1]}", ["T#0", "U#4"]),
        ("cell[]", ["p", "q"]),
        ("Gold Chunk", "c-1"),
        ('"a.b"', "dotted"),
        ("{text: a.b[0], start: span[0], end: span[1]}", {"text": 1, "start": 5, "end": 9}),
        ("empty[].x", []),
        ("null", MISSING),
        ("[Gold Chunk, span, null]", ["c-1", 5, 9]),
        ('["a.b", a.b[0]]', ["dotted", 1]),
        ("[span, a.b][0]", 5),
        ("[docs, pairs][].id", ["x", "y", "z"]),
        ("[null, nothing]", MISSING),
    ],
)  # fmt: skip
def test_values_of_paths(path: str, value: object) -> None:
    """A path reads lists, filters, indexes, templates, objects, and names with punctuation."""
    assert path_of(path).value(ROW) == value


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("a", True),
        ("!a", False),
        ("Gold Chunk=c-*", True),
        ("Gold Chunk!=c-*", False),
        ("x", False),
    ],
)
def test_conditions(condition: str, holds: bool) -> None:  # noqa: FBT001 - a column
    """A condition is a flag, its negation, or a comparison in which `*` is any text."""
    assert condition_of(condition).holds(ROW) is holds


@pytest.mark.parametrize("path", ["a[", "a]b", "a[?x == 'y']", "a[].{b", "a..b", "}"])
def test_an_invalid_path_is_refused_by_name(path: str) -> None:
    """An invalid path is an error that names the parameter and the field."""
    with pytest.raises(ParameterError, match="fields reference: "):
        from_rows([ROW], fields={"reference": path})


def test_a_place_needs_its_document() -> None:
    """A page without its document is refused, since it would match that page of any document."""
    with pytest.raises(InputError, match="a place needs its document"):
        list(
            from_rows([{"q": "?", "e": [{"page": 3}]}], fields={"expected_ids": "e[].{doc}#{page}"})
        )


def test_yaml_has_the_values_of_json() -> None:
    """YAML has JSON's values: no dates, `no` is a text, anchors are read, bombs are refused."""
    text = "a: no\nb: 1997-05-01\nc: 12:30\nd: 007\ne: 3\nf: true\ng: ~\n"
    assert yaml_value(text) == {
        "a": "no", "b": "1997-05-01", "c": "12:30", "d": "007", "e": 3, "f": True, "g": None,
    }  # fmt: skip
    assert yaml_value("- &x {k: 1}\n- {<<: *x, j: 2}\n") == [{"k": 1}, {"k": 1, "j": 2}]
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
    )
    for text, says in [
        (bomb, "^aliases make this YAML too large"),
        ("&a [*a]", "^aliases make this YAML too large"),
        ("a: 1\na: 2\n", "'a' occurs twice"),
        ("a: [1", "not YAML"),
        ("[" * 5000, "YAML"),
    ]:
        with pytest.raises(InputError, match=says):
            yaml_value(text)
