"""deepeval's test cases as samples, duck-typed: deepeval need not be installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fullrecall.context import Context, ContextLike
from fullrecall.errors import InputError
from fullrecall.identifiers import shown
from fullrecall.read.forms import FORMS
from fullrecall.read.rows import as_mapping
from fullrecall.sample import Sample

_FIELDS = {theirs: ours for ours, theirs in FORMS["deepeval"].fields.items()}
_FIELDS["metadata"] = "metadata"
"""What a test case calls a sample's fields. `context` is what *should* be retrieved there."""


def from_test_cases(cases: Iterable[object]) -> Iterator[Sample]:
    """Return one sample per `LLMTestCase` of deepeval, or per dict like it, in their order.

    `expected_output` is the reference answer, `retrieval_context` what was retrieved, `context`
    the reference contexts; the name becomes the ID. What deepeval keeps beside (tools, costs,
    tags, …) is left out. Raises `InputError`, with the case's number from 1, for what is no test
    case.
    """
    if isinstance(cases, (str, bytes, Mapping)) or not isinstance(cases, Iterable):
        raise InputError(
            f"expected an iterable of test cases, got {type(cases).__name__} {shown(cases)}"
        )
    return _samples(cases)


def _samples(cases: Iterable[object]) -> Iterator[Sample]:
    for number, case in enumerate(cases, start=1):
        try:
            sample = _sample(case)
        except InputError as error:
            raise error.at(line=number) from None
        yield sample


def _sample(case: object) -> Sample:
    given = as_mapping(case)
    if "input" not in given:
        names = ", ".join(map(repr, list(given)[:8])) or "nothing"
        raise InputError(
            f"expected a test case with an input, got {names}: from_rows reads rows of any other "
            "form",
            field="input",
        )
    fields: dict[str, Any] = {
        ours: given[theirs] for theirs, ours in _FIELDS.items() if given.get(theirs) is not None
    }
    # Of the object itself: dumped, a source and its text would be one string.
    retrieved = getattr(case, "retrieval_context", None) or fields.get("retrieved_contexts")
    if isinstance(retrieved, (list, tuple)):
        fields["retrieved_contexts"] = [_context(item) for item in retrieved]
    return Sample(**fields)


def _context(item: Any) -> ContextLike:
    """Return a text as it is, and a `RetrievedContextData` with its source."""
    if hasattr(item, "context") and hasattr(item, "source"):
        return Context(item.context, source=item.source)
    return item  # type: ignore[no-any-return] # Sample says what it is not
