"""Paths to a value in a row, and the errors of invalid paths."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall.errors import InputError, ParameterError
from fullrecall.files.paths import condition_of, path_of
from fullrecall.files.placing import place
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
    "blank": "",
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a.b", [1, 2]),
        ("a.b[0]", 1),
        ("a.b[-1]", 2),
        ("a.b[7]", None),
        ("docs[].id", ["x", "y", "z"]),
        ("docs[gold].id", ["x", "z"]),
        ("docs[!gold].id", ["y"]),
        ("docs[kind=law].id", ["x"]),
        ("docs[kind!=l*].id", ["y"]),
        ("docs[].{id}#{page}", ["x#3", "y", "z"]),
        ("docs[].{id}#{pages[]}", ["x", "y", "z#1", "z#2"]),
        ("docs[].page", [3]),
        ("docs[].nothing", None),
        ("pairs[][0]", ["T", "U"]),
        ("pairs[].{[0]}#{[1]}", ["T#0", "U#4"]),
        ("cell[]", ["p", "q"]),
        ("Gold Chunk", "c-1"),
        ('"a.b"', "dotted"),
        ("{text: a.b[0], start: span[0], end: span[1]}", {"text": 1, "start": 5, "end": 9}),
        ("empty[].x", []),
        ("null", None),
        ("[Gold Chunk, span, null, blank]", ["c-1", 5, 9]),
        ('["a.b", a.b[0]]', ["dotted", 1]),
        ("[span, a.b][0]", 5),
        ("[docs, pairs][].id", ["x", "y", "z"]),
        ("[null, nothing]", None),
        ("a.b[-2]", 1),
        ("a.b[-3]", None),
        ("a.b[1]", 2),
        ("a.b[2]", None),
        ("cell[1]", "q"),
        ("Gold Chunk[0]", None),
        ("Gold Chunk.x", None),
        ("docs[0].id", "x"),
        ("docs[gold=maybe].id", []),
        ("docs[nothing].id", []),
        ("docs[!nothing].id", ["x", "y", "z"]),
        ("docs[nothing=*].id", []),
        ("docs[nothing!=x].id", ["x", "y", "z"]),
        ("docs[kind='law'].id", ["x"]),
        ("pairs[][2]", None),
        ("docs[].{page}:{kind}", InputError),
        ("docs[].{id}#{page}:{kind}", ["x#3:law", "y:note", "z:letter"]),
        ("docs[].{id}#{kind}:{page}", ["x#law:3", "y#note", "z#letter"]),
        ("docs[].{id}#{page}:{nothing}", ["x#3", "y", "z"]),
        ("{a.b}-{span}", ["1-5", "1-9", "2-5", "2-9"]),
        ("{nothing}-{null}", None),
        ("{a.b[0]}", "1"),
        ("empty[].{id}", []),
        ("{text: nothing, start: null}", None),
        ("docs[].{name: id, nr: page}", [{"name": "x", "nr": 3}, {"name": "y"}, {"name": "z"}]),
    ],
)  # fmt: skip
def test_values_of_paths(path: str, value: object) -> None:
    """A path reads lists, filters, indexes, templates, objects, and names with punctuation."""
    if value is InputError:
        with pytest.raises(InputError, match="a place needs its document"):
            path_of(path).value(ROW)
    else:
        assert path_of(path).value(ROW) == value


def test_positions_in_csv_are_numbers() -> None:
    """The ends of a text are whole numbers; other fields, and other texts, stay as they are."""
    path = path_of("{text: t, start: s, end: e}")
    row = {"t": "7", "s": " 5 ", "e": "9"}
    assert path.value(row) == {"text": "7", "start": 5, "end": 9}
    assert path.value({"t": "7", "s": "five", "e": "-1"}) == {
        "text": "7",
        "start": "five",
        "end": "-1",
    }


@pytest.mark.parametrize(
    ("path", "columns"),
    [
        ("a", {"a"}),
        ("a.b[0]", {"a"}),
        ("[a, b.c]", {"a", "b"}),
        ("{a.x}#{b[0]}", {"a", "b"}),
        ("{text: a, start: b.c}", {"a", "b"}),
        ("a[].{b}", {"a"}),
        ('"a.b"', {"a.b"}),
        ('"a{b"', {"a{b"}),
    ],
)
def test_columns_of_paths(path: str, columns: set[str]) -> None:
    """A path names the columns of a row that it reads."""
    assert path_of(path).columns == columns


@pytest.mark.parametrize(
    ("pattern", "likes", "unlike"),
    [
        ("ab", ["ab"], ["a", "abc", "cab", ""]),
        ("a*", ["a", "ab"], ["ba", ""]),
        ("*a", ["a", "ba"], ["ab", ""]),
        ("*", ["", "a"], []),
        ("a*a", ["aa", "aba"], ["a", "ab", "ba"]),
        ("a*b*c", ["abc", "axbxc", "abbc"], ["ac", "acb", "abxcx", "bc"]),
        ("*ab*bc", ["abbc", "abxbc"], ["abc"]),
        ("ab*bc", ["abbc"], ["abc"]),
        ("*aa*aa*", ["aaaa", "xaayaaz"], ["aaa"]),
    ],
)
def test_a_star_is_any_text(pattern: str, likes: list[str], unlike: list[str]) -> None:
    """A pattern matches a whole text, and no letter of it twice."""
    condition = condition_of(f"c={pattern}")
    assert [text for text in likes if not condition.holds({"c": text})] == []
    assert [text for text in unlike if condition.holds({"c": text})] == []


@pytest.mark.parametrize("flag", ["", " ", "0", "false", "FALSE", " No ", 0, False])
def test_flags_that_are_false(flag: object) -> None:
    """The words of CSV count as well; any other value is true."""
    assert not condition_of("c").holds({"c": flag})
    assert condition_of("!c").holds({"c": flag})
    for value in ("1", "true", "yes", "n", 1, 0.5, [0]):
        assert condition_of("c").holds({"c": value})
        assert not condition_of("!c").holds({"c": value})


@pytest.mark.parametrize(
    ("path", "value", "row"),
    [
        ("a", 1, {"a": 1}),
        ("a.b", 1, {"a": {"b": 1}}),
        ("a[]", [1, 2], {"a": [1, 2]}),
        ("a[]", 1, {"a": [1]}),
        ("a[1]", "x", {"a": [None, "x"]}),
        ("a[0].b", "x", {"a": [{"b": "x"}]}),
        ("a[].b", [1, 2], {"a": [{"b": 1}, {"b": 2}]}),
        ("a[].b.c", [1], {"a": [{"b": {"c": 1}}]}),
        ("a[flag].b", [1], {"a": [{"flag": True, "b": 1}]}),
        ("a[kind=law].b", [1], {"a": [{"kind": "law", "b": 1}]}),
        ("a.{text: t, id: i}", {"text": "x", "id": "y"}, {"a": {"t": "x", "i": "y"}}),
        ("a.{text: t, id: i}", {"text": "x"}, {"a": {"t": "x"}}),
        ("a[].{text: t}", [{"text": "x"}, {"text": "y"}], {"a": [{"t": "x"}, {"t": "y"}]}),
        ("a[].b[]", [["x"], ["y", "z"]], {"a": [{"b": ["x"]}, {"b": ["y", "z"]}]}),
    ],
)
def test_a_value_is_placed_where_its_path_finds_it(path: str, value: Any, row: Any) -> None:
    """Objects and lists on the way are made, and those that are there are kept."""
    placed: dict[str, Any] = {}
    place(placed, path, value)
    assert placed == row


def test_a_value_is_placed_beside_others() -> None:
    """Objects and lists that a row has keep their other values."""
    row: dict[str, Any] = {"a": {"z": 0}, "l": [{"z": 1}], "n": [1]}
    for path, value in [("a.b", 2), ("l[0].b", 3), ("l[1].b", 4), ("n[3]", 5), ("n[0]", 6)]:
        place(row, path, value)
    place(row, "a.{text: t, id: i}", {"text": "x"})
    assert row == {
        "a": {"z": 0, "b": 2, "t": "x"}, "l": [{"z": 1, "b": 3}, {"b": 4}], "n": [6, None, None, 5],
    }  # fmt: skip


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


def test_a_template_makes_one_id_or_text() -> None:
    """A separator in the values of a template does not split the text that it makes."""
    fields = {"expected_ids": "{a}#{p}", "question": "{a} {p}"}
    (sample,) = from_rows([{"a": "x;y", "p": 1}], fields=fields)
    assert (sample.user_input, sample.reference_context_ids[0].any_of) == ("x;y 1", ("x;y#1",))


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
        ("a: [1", r"^sample 2: not YAML: .*expected ',' or '\]'"),
        ("[" * 5000, "YAML"),
    ]:
        with pytest.raises(InputError, match=says):
            yaml_value(text)
