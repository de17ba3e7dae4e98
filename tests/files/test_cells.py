"""A cell becomes one value, a list, or an error, by its field and its form."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from fullrecall.errors import InputError
from fullrecall.files.cells import cell_of, has_mark, is_parallel, items_of, opened, parts_of

AMBIGUOUS: Any = object()
LONG = "x" * 201

IDS: list[tuple[str, Any]] = [
    ("d1", ["d1"]),
    ("d1;d2", ["d1", "d2"]),
    ("d1 | d2", ["d1", "d2"]),
    ("d1\nd2", ["d1", "d2"]),
    ("d1,d2", ["d1", "d2"]),
    ("d1;;d2;", ["d1", "d2"]),
    ("d1;d2,d3", AMBIGUOUS),
    ("a b;c", AMBIGUOUS),
    ("a.pdf p. 1; b.pdf p. 2", ["a.pdf p. 1", "b.pdf p. 2"]),
    ("a b.pdf;c", AMBIGUOUS),
    ("a.pdf;c", ["a.pdf", "c"]),
    ("Gibbs, Josiah.pdf", ["Gibbs, Josiah.pdf"]),
    ("Gibbs,Josiah.pdf", ["Gibbs,Josiah.pdf"]),
    ("a.pdf,b.pdf", ["a.pdf", "b.pdf"]),
    ("Gibbs, Josiah", ["Gibbs", "Josiah"]),
    ("Gibbs, Josiah W", AMBIGUOUS),
    ("Josiah Gibbs", ["Josiah Gibbs"]),
    ("  ", None),
    ("null", AMBIGUOUS),
    ("N/A", AMBIGUOUS),
    ("a,nan", AMBIGUOUS),
    ("x" * 200, ["x" * 200]),
    (f"{LONG};a", AMBIGUOUS),
    (f"{'x' * 200};a", ["x" * 200, "a"]),
    (LONG, [LONG]),
    ('["a", "b"]', ["a", "b"]),
    (' ["a"] ', ["a"]),
    ("['a', 'b']", ["a", "b"]),
    ("['a' 'b']", AMBIGUOUS),
    ("['a', ...]", AMBIGUOUS),
    ('["a"', AMBIGUOUS),
    (7, [7]),
    (True, True),
    (["a", "b"], ["a", "b"]),
    (["a; b", "c"], ["a", "b", "c"]),
    (["a, b"], ["a, b"]),
    (["a; b, c"], ["a; b, c"]),
    ([1, "a | b"], [1, "a", "b"]),
]


@pytest.mark.parametrize(("value", "ids"), IDS)
def test_ids_in_a_cell(value: Any, ids: Any) -> None:
    """One kind of separator makes a list; a text that may mean several lists is an error."""
    if ids is AMBIGUOUS:
        with pytest.raises(InputError, match="docs: expected a JSON array"):
            cell_of("reference_context_ids", "docs", value)
    else:
        assert cell_of("reference_context_ids", "docs", value) == ids


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("One passage; of several words, here.", ["One passage; of several words, here."]),
        (" four; words are enough ", [" four; words are enough "]),
        ("three; words here", AMBIGUOUS),
        ("three words here", ["three words here"]),
        ("none", AMBIGUOUS),
        ("", None),
        ('["a; b"]', ["a; b"]),
        ({"text": "t"}, [{"text": "t"}]),
        ([{"text": "t"}], [{"text": "t"}]),
        (7, 7),
    ],
)
def test_texts_in_a_cell(value: Any, texts: Any) -> None:
    """A text of four words is one passage; a shorter one with a separator may be several."""
    if texts is AMBIGUOUS:
        with pytest.raises(InputError, match="gold: expected a JSON array"):
            cell_of("reference_contexts", "gold", value)
    else:
        assert cell_of("reference_contexts", "gold", value) == texts
        if not isinstance(value, dict):
            assert cell_of("reference_claims", "gold", value) == texts


@pytest.mark.parametrize(
    ("field", "column", "value", "cell"),
    [
        ("answerable", "x", " Yes ", True),
        ("answerable", "x", "no", False),
        ("judged", "x", "1", True),
        ("judged", "x", "0", False),
        ("answerable", "x", "maybe", "maybe"),
        ("answerable", "x", 1, 1),
        ("reference", "answer", "a", "a"),
        ("reference", "answer", ["a"], "a"),
        ("reference", "answer", ["a", "b"], ["a", "b"]),
        ("reference", "answer", '["a"]', "a"),
        ("reference", "answer", "[a", "[a"),
        ("reference", "answer", '{"a": 1}', '{"a": 1}'),
        ("reference", "reference", '["a"]', '["a"]'),
        ("reference", "reference", ["a"], "a"),
        ("response", "answer", True, "true"),
        ("response", "answer", 7, "7"),
        ("response", "answer", 0.5, "0.5"),
        ("response", "answer", date(2026, 1, 2), "2026-01-02"),
        ("response", "answer", {"a": 1}, {"a": 1}),
        ("user_input", "q", ["a"], ["a"]),
        ("reference_context_ids", "reference_context_ids", ["a; b"], ["a; b"]),
        ("metadata", "m", '{"a": 1}', {"a": 1}),
    ],
)
def test_single_values(field: str, column: str, value: Any, cell: Any) -> None:
    """Answers become texts, words of CSV become truth values, and a field's own column stays."""
    assert repr(cell_of(field, column, value)) == repr(cell)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ('[1, "a"]', [1, "a"]),
        (' {"a": 1} ', {"a": 1}),
        ("['a', 1.5]", ["a", 1.5]),
        ("['a',1]", "['a',1]"),
        ("('a',)", "('a',)"),
        ("{'a': 1}", "{'a': 1}"),
        ("[a]", "[a]"),
        ("[" * 9000, "[" * 9000),
        ("a", "a"),
        (["[1]"], ["[1]"]),
    ],
)
def test_a_text_is_opened(value: Any, content: Any) -> None:
    """JSON is read, and a list that Python would print so; other texts stay."""
    assert opened(value) == content


def test_a_long_list_of_python_is_not_read() -> None:
    """Up to a mebibyte, a list in Python's notation is read."""
    whole = repr(["x" * ((1 << 20) - 4)])
    assert len(whole) == 1 << 20
    assert isinstance(opened(whole), list)
    assert opened(repr(["x" * ((1 << 20) - 3)])) == repr(["x" * ((1 << 20) - 3)])


@pytest.mark.parametrize(
    ("value", "items"),
    [
        ("a;b", ["a", "b"]),
        ("a b;c", ["a b;c"]),
        ("[1, 2]", [1, 2]),
        ((1, 2), [1, 2]),
        (7, [7]),
        ({"a": [1, 2], "b": [3, 4]}, [{"a": 1, "b": 3}, {"a": 2, "b": 4}]),
        ('{"a": [1], "b": [3]}', [{"a": 1, "b": 3}]),
        ({"a": [1, 2], "b": [3]}, [{"a": [1, 2], "b": [3]}]),
        ({"a": [1, 2]}, [{"a": [1, 2]}]),
        ({"a": [1], "b": 3}, [{"a": [1], "b": 3}]),
    ],
)
def test_items(value: Any, items: list[Any]) -> None:
    """Two or more lists of one length are a list of objects."""
    assert items_of(value) == items
    own = json.loads(value) if isinstance(value, str) and value[0] == "{" else value
    assert is_parallel(own) == (isinstance(own, dict) and items != [own])


@pytest.mark.parametrize(
    ("item", "parts"),
    [("D1:5; D2:8", ["D1:5", "D2:8"]), ("a;b", ["a;b"]), ("a | b", ["a", "b"]),
     ("a; b, c", ["a; b, c"]), ("a b; c", ["a b; c"]), (7, [7])],
)  # fmt: skip
def test_parts_of_an_item(item: Any, parts: list[Any]) -> None:
    """A separator with a blank after it joins IDs; without one it is a part of the ID."""
    assert parts_of(item) == parts


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("Annual report.pdf", True), ("the Report.PDF page 3", True), ("see pdf", False),
        ("http://x y", True), ("a::b c", True), ("§ 5 of it", True), ("§ x", False),
        ("Act 12:annex III", True), ("Act 12:annex III.", False), ("Act 12:3 b", False),
        ("Really? Act: annex", False), ("a" * 194 + " b.pdf", True), ("a" * 195 + " b.pdf", False),
    ],
)  # fmt: skip
def test_marks_of_ids(text: str, *, marked: bool) -> None:
    """A text with blanks is an ID by a file's ending, an address, or a place in a document."""
    assert has_mark(text) == marked
