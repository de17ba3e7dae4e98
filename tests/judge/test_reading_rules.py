"""Numbers, labels, windows, and exceptions, each read by one rule, at its limits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from fullrecall.judge.exchange import groups_of, windows
from fullrecall.judge.judge import Citation, Verdict
from fullrecall.judge.models.failures import (
    failed_grammar,
    is_server_error,
    links,
    named_field,
    shortened,
)
from fullrecall.judge.verdicts import label_of, merged, number_of


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, 1),
        (0, 0),
        (-1, None),
        (True, None),
        (1.0, 1),
        (0.0, 0),
        (1.5, None),
        (-1.0, None),
        ("claim 1", 1),
        ("#1", 1),
        ("[1]", 1),
        (" 1. ", 1),
        ("x1", None),
        ("1 2", None),
        ("", None),
        ([1], None),
        (999_999_999, 999_999_999),
        (1_000_000_000, None),
        ("999999999", 999_999_999),
        ("9999999999", None),
        (float("inf"), None),
        (float("nan"), None),
        (f"1{' ' * 29}", 1),
        (f"1{' ' * 30}", None),
    ],
)
def test_a_number_in_any_form(value: object, number: int | None) -> None:
    """A whole number from 0 to 999,999,999 is read, also in a text of up to 30 characters."""
    assert number_of(value) == number


@pytest.mark.parametrize(
    ("word", "label"),
    [
        ("supported", "supported"),
        ("Supported.", "supported"),
        ("NOT_SUPPORTED", "not_supported"),
        ("partially supported", "partial"),
        ("refuted", "contradicted"),
        ("none", "not_supported"),
        ("false", None),
        ("true", "supported"),
        (True, "supported"),
        (False, "not_supported"),
        (1, "supported"),
        (0.0, "not_supported"),
        (2, None),
        (" 1 ", "supported"),
        ("0", "not_supported"),
        ("supported: yes", "supported"),
        ("supported (by 2)", "supported"),
        ("supported - fully", "supported"),
        ("supported: except one", None),
        ("supported but not all", None),
        ("", None),
        (None, None),
    ],
)
def test_a_label_in_any_form(word: object, label: str | None) -> None:
    """A label may be a word, a truth value, or have a reason; an ambiguous one is none."""
    assert label_of(word) == label


@pytest.mark.parametrize(
    ("contexts", "size", "packed"),
    [
        ({1: "abc", 2: "de"}, 5, [{1: "abc", 2: "de"}]),
        ({1: "abc", 2: "de"}, 4, [{1: "abc"}, {2: "de"}]),
        ({1: "abc"}, 3, [{1: "abc"}]),
        ({1: "abcdef"}, 3, [{1: "abc"}, {1: "def"}]),
        ({1: "aaa bbb ccc"}, 8, [{1: "aaa bbb "}, {1: "ccc"}]),
        ({1: "aa bbbbbbbb"}, 8, [{1: "aa bbbbb"}, {1: "bbb"}]),
        ({1: "One. Two three four"}, 10, [{1: "One. Two "}, {1: "three four"}]),
        ({1: "1234. 6789 1234"}, 11, [{1: "1234. "}, {1: "6789 1234"}]),
        ({1: "123. 567\n\n12 45 78"}, 14, [{1: "123. 567\n\n"}, {1: "12 45 78"}]),
        ({1: "ab", 2: "abcdefgh", 3: "x"}, 5, [{1: "ab"}, {2: "abcde"}, {2: "fgh", 3: "x"}]),
        ({}, 5, []),
    ],
)
def test_the_windows_of_contexts(
    contexts: dict[int, str], size: int, packed: list[dict[int, str]]
) -> None:
    """Whole contexts are packed; a longer one is cut at the best place of its second half."""
    assert windows(contexts, size) == packed


def test_groups_have_at_most_a_size() -> None:
    """The last group has the rest."""
    assert groups_of([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4], [5]]
    assert groups_of([1, 2], 2) == [[1, 2]]
    assert groups_of([], 2) == []


FOUND = Verdict("supported", (Citation(0, "a b"),))
PART = Verdict("partial", (Citation(1, "c d"),))
DENIED = Verdict("contradicted", (Citation(2, "e f"),))
OTHER = Verdict("contradicted", (Citation(3, "g h"),))
NONE = Verdict("not_supported")
OPEN = Verdict(None, problem="no reply")


@pytest.mark.parametrize(
    ("verdicts", "best"),
    [
        ([NONE, FOUND], FOUND),
        ([PART, FOUND], Verdict("supported", FOUND.citations, others=(PART,))),
        ([FOUND, PART], Verdict("supported", FOUND.citations, others=(PART,))),
        ([OPEN, FOUND], FOUND),
        ([OPEN, PART], OPEN),
        ([OPEN, NONE], OPEN),
        ([NONE, DENIED], DENIED),
        ([DENIED, OTHER], Verdict("contradicted", (*DENIED.citations, *OTHER.citations))),
        ([DENIED, PART], PART),
        ([NONE, NONE], NONE),
        ([Verdict("not_supported", contested="why"), FOUND],
         Verdict("supported", FOUND.citations, contested="why")),
        ([Verdict("partial", PART.citations, others=(FOUND,)), NONE],
         Verdict("supported", FOUND.citations, others=(PART,))),
        ([PART], PART),
    ],
)  # fmt: skip
def test_the_verdict_of_several_windows(verdicts: list[Verdict], best: Verdict) -> None:
    """Full support counts before an open window, an open window before all other verdicts."""
    assert merged(verdicts) == best


class FailedError(Exception):
    """An exception of a client, with the fields that a test gives it."""

    def __init__(self, message: str = "", **fields: Any) -> None:
        super().__init__(message)
        vars(self).update(fields)


@pytest.mark.parametrize(("status", "is_server"), [(499, False), (500, True), (501, False)])
def test_a_server_that_failed(status: int, *, is_server: bool) -> None:
    """Only status 500 means that the server failed by itself, wherever the client keeps it."""
    for error in (
        FailedError(status_code=status),
        FailedError(http_status=status),
        FailedError(code=status),
        FailedError(response=FailedError(status=status)),
        FailedError(response={"ResponseMetadata": {"HTTPStatusCode": status}}),
    ):
        assert is_server_error(error) == is_server
    assert is_server_error(FailedError(response={"ResponseMetadata": None}, status_code=500))
    assert not is_server_error(FailedError(response={}, status_code=None))


def test_a_grammar_that_a_server_cannot_build() -> None:
    """The status and the message together tell that the server rejects a schema."""
    message = "failed to parse grammar"
    assert failed_grammar(FailedError(message, status_code=500))
    assert not failed_grammar(FailedError(message, status_code=400))
    assert not failed_grammar(FailedError("overloaded", status_code=500))


@pytest.mark.parametrize(
    ("error", "field"),
    [
        (FailedError(param="seed"), "seed"),
        (FailedError(param="response_format.type"), "response_format"),
        (FailedError(param="messages[0]"), ""),
        (FailedError("unknown field 'seed'"), "seed"),
        (FailedError("the seed is wrong"), ""),
        (FailedError("the temperature is wrong"), "temperature"),
        (FailedError("the top_p is wrong"), "top_p"),
        (FailedError("bad request", body={"error": "'top_p'"}), "top_p"),
        (FailedError("'seed' exceeds the context length"), ""),
        (FailedError("-" * 8_190 + " top_p"), ""),
    ],
)
def test_the_field_that_an_error_names(error: FailedError, field: str) -> None:
    """A field is named by `param`, or by a quoted or unmistakable word of the message."""
    assert named_field(error, {"seed", "temperature", "top_p", "response_format"}) == field


def test_a_failures_message_is_short() -> None:
    """A message of up to 300 characters is kept, a longer one is cut."""
    assert shortened("x" * 300) == "x" * 300
    assert shortened("x" * 301) == "x" * 299 + "…"


def test_the_causes_of_an_exception() -> None:
    """An exception, its cause, and the exception that it was raised in, at most eight deep."""
    chain = [FailedError(str(n)) for n in range(10)]
    for outer, inner in pairwise(chain):
        outer.__cause__ = inner
    assert [*links(chain[0])] == chain[:8]
    within, hidden = FailedError("within"), FailedError("hidden")
    within.__context__ = hidden
    assert [*links(within)] == [within, hidden]
    within.__suppress_context__ = True
    assert [*links(within)] == [within]
    assert [*links(None)] == []
