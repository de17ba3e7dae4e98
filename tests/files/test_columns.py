"""A column's name and values say whether it has questions, IDs, texts, flags, or grades."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall.files.columns import (
    ColumnValues,
    are_numbered,
    asks,
    ends_sentence,
    form_of,
    given_values,
    has_value,
    is_id_like,
    is_number,
    is_pair,
    looks_gold,
)
from fullrecall.files.usual_names import english_words, singular


def column(*values: Any, name: str = "x", above: ColumnValues | None = None) -> ColumnValues:
    """Return a column of these values."""
    return ColumnValues(name, name, list(values), above)


@pytest.mark.parametrize(
    ("item", "form"),
    [
        (7, "ids"),
        (None, "ids"),
        ("d-1", "ids"),
        ("word", "ids"),
        ("x" * 200, "ids"),
        ("x" * 201, ""),
        ("two words", ""),
        ("one two three four five six seven", ""),
        ("one two three four five six seven eight", "texts"),
        ("Two words.", "texts"),
        ("Word.", "ids"),
        ("A name.pdf of a file", "ids"),
        ("It is in name.pdf, and we have seen.", "texts"),
        ("See it in name.pdf, page seven.", "ids"),
        ("日本語", ""),
        ("日本語。", "texts"),
        ("日" * 11, ""),
        ("日" * 12, "texts"),
        ("日本語.pdf", "ids"),
        ("", ""),
    ],
)
def test_forms_of_items(item: object, form: str) -> None:
    """Eight words, twelve letters without blanks, or the end of a sentence make a text."""
    assert form_of(item) == form


@pytest.mark.parametrize(
    ("values", "name", "form"),
    [
        ([], "doc", ""),
        (["a", "b"], "x", "ids"),
        (["a", "two words"], "x", "ids"),
        (["a", "two words"], "passage", ""),
        (["two words"], "title", "ids"),
        (["Two words."], "title", "texts"),
        (["two words"], "x", ""),
        (["two words"], "page", "ids"),
        (["two words"], "passage", "texts"),
        (["two words", "Two words."], "x", "texts"),
        (["a", "Two words."], "x", ""),
        (["yes", "no"], "doc_id", ""),
        ([True], "doc_id", ""),
        ([1, "a"], "x", "ids"),
        ([1.5], "x", ""),
        ([{"a": 1}], "x", ""),
        ([["a", "b"], ["c"]], "x", "ids"),
        (["a;b"], "x", "ids"),
    ],
)
def test_forms_of_columns(values: list[Any], name: str, form: str) -> None:
    """All items have one form, or the name of the column decides on short texts."""
    assert column(*values, name=name).form == form


@pytest.mark.parametrize(
    ("values", "true"),
    [
        ([], set()),
        (["a"], set()),
        ([["a"], "b"], {"has_lists"}),
        (["[1]"], {"has_lists", "are_numbers"}),
        ([1, "2", "-3.5"], {"are_numbers"}),
        ([1, "x"], set()),
        (["true", "False", True], {"are_flags"}),
        (["yes", "no"], {"are_flags"}),
        (["yes", "true"], set()),
        ([1, 0], {"are_numbers"}),
        ([{"a": 1}, {"b": 2.5}], {"are_objects", "are_grades", "is_by_id"}),
        ([{"a": 1}, {"a": 2}], {"are_objects", "are_grades", "is_by_id"}),
        ([{"a": "x"}, {"b": "y"}], {"are_objects", "is_by_id"}),
        ([{"a": "x"}, {"a": "y"}], {"are_objects"}),
        ([{"a": "x"}], {"are_objects"}),
        ([{"1": "x"}], {"are_objects", "is_by_id"}),
        ([{}, {}], {"are_objects"}),
        ([{"a": True}], {"are_objects"}),
        ([{"a": "x"}, 7], set()),
        ([[{"a": 1}]], {"has_lists"}),
        ([{"a": [1], "b": [2]}], {"has_lists", "are_objects"}),
    ],
)
def test_kinds_of_values(values: list[Any], true: set[str]) -> None:
    """Lists, objects, grades, flags, and numbers are told apart."""
    own = column(*values)
    kinds = ("has_lists", "are_objects", "are_grades", "is_by_id", "are_flags", "are_numbers")
    assert {kind for kind in kinds if getattr(own, kind)} == true
    assert own.each == ("x[]" if "has_lists" in true else "x")


def test_parts_of_objects() -> None:
    """The keys of a column's objects are columns, with a path and the words of a name."""
    docs = column(
        [{"id": "d1", "a text": "t"}, {"id": None, 7: "no name"}], [{"id": "d2"}], name="docs"
    )
    assert [(part.path, part.values) for part in docs.parts()] == [
        ("docs[].id", ["d1", "d2"]), ("docs[].a text", ["t"]),
    ]  # fmt: skip
    gold = column({"value": "a", "id.x": "b"}, name="gold_docs")
    value, other = gold.parts()
    assert (value.words, value.is_gold, value.path) == (gold.words, True, "gold_docs.value")
    assert (other.is_gold, other.path) == (True, 'gold_docs."id.x"')
    answer = column({"docs": ["a"]}, name="answer_expected")
    assert [part.is_gold for part in answer.parts()] == [False]
    output = column({"docs": ["a"]}, name="expected_output")
    assert [part.is_gold for part in output.parts()] == [True]


@pytest.mark.parametrize(
    ("name", "is_question", "is_gold"),
    [
        ("question", True, False), ("Customer query", True, False), ("user_prompt", True, False),
        ("query_id", False, False), ("has_question", False, False), ("question_type", False, False),
        ("question_doc", False, False), ("gold", False, True), ("relevant_docs", False, True),
        ("negative_expected", False, False), ("expected_type", False, False),
        ("Preguntas", True, False), ("referencias", False, True),
    ],
)  # fmt: skip
def test_names_of_questions_and_references(name: str, *, is_question: bool, is_gold: bool) -> None:
    """A word for something else, such as a type, takes the meaning from a name."""
    assert (asks(name), looks_gold(name)) == (is_question, is_gold)


@pytest.mark.parametrize(
    ("item", "number"),
    [("1", True), (" -2.5 ", True), ("1.", False), (".5", False), ("1e3", False), ("", False),
     (1, True), (1.5, True), (True, False), (None, False)],
)  # fmt: skip
def test_numbers(item: object, *, number: bool) -> None:
    """Numbers as text count, and flags do not."""
    assert is_number(item) == number


@pytest.mark.parametrize(
    ("items", "numbered"),
    [(["doc_1", "doc_14"], True), (["doc_1", "doc_1"], False), (["doc_1"], False),
     (["doc_1", "law_2"], False), (["doc_1", "doc"], False), (["doc_1", 2], False),
     (["0" * 31 + "a", "1" * 31 + "b"], True), (["a" * 32, "b" * 32], False)],
)  # fmt: skip
def test_series_of_ids(items: list[Any], *, numbered: bool) -> None:
    """At least two IDs have one name and different numbers, or are random."""
    assert are_numbered(items) == numbered


def test_small_questions() -> None:
    """Texts that look like IDs, ends of sentences, pairs, and values that are not missing."""
    likes = ["doc-14", "a_b", "law/3", "a.b.c1", "x:1"]
    assert [
        each for each in [*likes, "doc", "14", "1-2", "A_b", "a b-1", 7] if is_id_like(each)
    ] == likes
    ends = ["a.", "a! ", "a…", "。", "a?", "a？", "؟"]
    assert [each for each in [*ends, "a", "a.b", "", ".a", 7] if ends_sentence(each)] == ends
    pairs = [["a", 1], ("a", 0.5)]
    assert [
        each for each in [*pairs, ["a"], ["a", "b"], [1, 1], ["a", True], "ab"] if is_pair(each)
    ] == pairs
    assert [has_value(each) for each in (None, [], [0], "", 0)] == [
        False, False, True, True, True,
    ]  # fmt: skip
    assert given_values([None, float("nan"), "", 0, "[1]", "a", []]) == [0, [1], "a", []]


@pytest.mark.parametrize(
    ("word", "one"),
    [("docs", "doc"), ("ids", "ids"), ("queries", "query"), ("class", "class"), ("basis", "basis"),
     ("corpus", "corpus"), ("abs", "abs"), ("pages", "page"), ("alias", "alias")],
)  # fmt: skip
def test_plurals(word: str, one: str) -> None:
    """An -s is a plural except after a, i, s, u, and in words of three letters."""
    assert singular(word) == one


@pytest.mark.parametrize(
    ("name", "words"),
    [("goldDoc 2", ["golddoc", "2"]), ("Musterantwort", ["muster", "answer"]),
     ("réponse", ["answer"]), ("abantwort", ["abantwort"]), ("abcantwort", ["abc", "answer"]),
     ("参考答案", ["reference", "answer"]), ("вопрос", ["question"]), ("_", [])],
)  # fmt: skip
def test_foreign_words(name: str, words: list[str]) -> None:
    """Known words are translated, also the last one of a compound."""
    assert english_words(name) == words
