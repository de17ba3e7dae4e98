"""The machine checks of the texts that references name, at their limits."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context, Sample
from fullrecall.samples.corpus import Document
from fullrecall.testset.content import (
    has_spans,
    longest_run,
    names_in,
    numbers_in,
    of_references,
    pointing,
    texts_named,
)

LONG = " ".join(f"word{n}" for n in range(300))
SHORT = " ".join(f"word{n}" for n in range(299))
QUOTE = "one two three four five six seven eight"


def problems(texts: dict[str, str], **fields: Any) -> list[str]:
    """Return the problems of a sample's references."""
    return [str(problem) for problem, _ in of_references(Sample(**fields), texts)]


def span(text: str, source: str | None = "a", start: int | None = 0) -> Context:
    """Return a reference in a document."""
    end = None if start is None else start + len(text)
    return Context(text, source=source, start=start, end=end)


@pytest.mark.parametrize(
    ("texts", "reference", "found"),
    [
        ({"a": LONG}, span(LONG), ["span is a whole document"]),
        ({"a": LONG}, span(LONG[: int(0.9 * len(LONG)) + 1]), ["span is a whole document"]),
        ({"a": LONG}, span(LONG[: int(0.89 * len(LONG))]), []),
        ({"a": LONG}, span(LONG, start=None), []),
        ({"a": SHORT}, span(SHORT), []),
        ({}, span(LONG), []),
        ({"a": QUOTE, "b": f"so {QUOTE} on"}, span(QUOTE), ["quote occurs in other documents"]),
        ({"a": QUOTE, "b": f"so {QUOTE} on", "c": QUOTE}, span(QUOTE),
         ["quote occurs in other documents"]),
        ({"a": QUOTE, "b": f"so {QUOTE[:-6]} on"}, span(QUOTE), []),
        ({"a": QUOTE, "b": f"so {QUOTE} on"}, span(QUOTE[:-6]), []),
        ({"a": "?!"}, span("?!"), ["reference without words"] * 2),
    ],
)  # fmt: skip
def test_problems_of_a_span(texts: dict[str, str], reference: Context, found: list[str]) -> None:
    """A span of a long document, a quote of eight words elsewhere, a text without words."""
    assert problems(texts, reference_contexts=[reference]) == found


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"reference": "It has 5 doors."}, 0),
        ({"reference": "It has 7 doors."}, 1),
        ({"reference": "It has 1,000 doors."}, 0),
        ({"reference": "It has 9 doors.", "user_input": "Has it 9 doors?"}, 0),
        ({"reference_claims": ["It has 5 doors.", "It has 7 doors."]}, 1),
        ({"reference": "It has 7.", "reference_claims": ["It has 8."]}, 1),
    ],
)
def test_numbers_without_a_source(fields: dict[str, Any], found: int) -> None:
    """A number of the answer or a claim is in the question or a reference; one is told."""
    names = {"reference_context_ids": ["a"], **fields}
    texts = {"a": "It has 5 doors and 1000 windows."}
    assert problems(texts, **names) == ["number or name not in the references"] * found
    assert problems({}, **names) == []


def test_a_text_without_words_is_shown_with_its_source() -> None:
    """The problem names the text's document, if it is known, and shows the text."""
    references = [span("?!", "b"), span("--", None)]
    found = of_references(Sample(user_input="q", reference_contexts=references), {})
    assert [detail for _, detail in found] == ["b: '?!'", "a reference: '--'"]


def test_names_and_spans_of_references() -> None:
    """IDs come before documents, each once; a group has a span if one of its contexts has."""
    sample = Sample(
        reference_context_ids=[["a", "b"], "a"],
        reference_contexts=[[span("x", "c"), span("y", None, None)], [span("z", "b")]],
    )
    assert names_in(sample) == ["a", "b", "c"]
    assert has_spans(sample)
    assert not has_spans(Sample(reference_contexts=[span("x"), span("y", "b", None)]))
    assert not has_spans(Sample(reference_context_ids=["a"]))
    documents = [Document("a", "1"), Document("z", "2"), Document("c", "3")]
    assert texts_named([sample], documents) == {"a": "1", "c": "3"}


def test_words_that_a_question_takes() -> None:
    """The longest run of words in any source, and the words that point at a text."""
    assert longest_run("is one two three red", ["two three", "one two three", "red"]) == (
        "one", "two", "three")  # fmt: skip
    assert longest_run("red", []) == longest_run("", ["red"]) == ()
    assert numbers_in("1,000 and 2.5, 3:45 x7") == ["1000", "2.5", "3:45", "7"]
    assert pointing("What does this passage say?") == "this passage"
    assert pointing("What does the mill do?") == ""
