"""A record's lists, each as the final one, and its contexts under other IDs."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context, Sample
from fullrecall.errors import InputError, ParameterError
from fullrecall.samples.calls import Call, call_of
from fullrecall.samples.context import as_context
from fullrecall.samples.retrieval import Retrieval


def contexts(ids: str) -> tuple[Context, ...]:
    """Return contexts of these one-letter IDs."""
    return tuple(Context(f"text {one}", id=one) for one in ids)


def shape(record: Retrieval | None) -> Any:
    """Return the IDs of the final contexts, their ranks, and their other values."""
    if record is None:
        return None
    ids = "".join(each.id or "-" for each in record.contexts or ())
    return ids, record.ranks, record.read, record.call_numbers, record.seconds


READ = Retrieval(
    contexts("abc"),
    read=["yes", "no", "yes"],
    call_numbers=[2, 1, 1],
    seconds=[0.5, None, 0.25],
    response="r",
)


def test_the_read_contexts_keep_their_ranks() -> None:
    """The contexts in the prompt have the ranks of the final list, or its given ranks."""
    assert shape(READ.view("read")) == ("ac", (1, 3), None, (2, 1), (0.5, 0.25))
    ranked = Retrieval(contexts("abc"), ranks=[1, 1, 2], read=["no", "yes", "partly"])
    assert shape(ranked.view("read")) == ("b", (1,), None, None, None)
    view = READ.view("read")
    assert view is not None
    assert (view.response, view.retrieved, view.calls) == (None, None, ())


@pytest.mark.parametrize("name", ["read", "retrieved"])
def test_a_list_that_was_not_recorded_has_no_view(name: Any) -> None:
    """Without a record of a list, the view is None, and a sample's view has an error."""
    assert Retrieval(contexts("a")).view(name) is None
    assert Retrieval(error="down").view(name) is None
    assert READ.view("contexts") is READ
    with pytest.raises(ParameterError, match="kept"):
        READ.view("kept")  # type: ignore[arg-type]


def test_the_retrieved_contexts_have_their_best_rank_in_a_call() -> None:
    """The ranks of several calls are merged; those of one call are the order of its list."""
    one = [Call("search", "q", contexts("ba"))]
    two = [*one, Call("search", "r", contexts("cab"))]
    alone = Retrieval(contexts("a"), calls=one, retrieved=contexts("ba"))
    both = Retrieval(contexts("a"), calls=two, retrieved=contexts("bac"))
    assert shape(alone.view("retrieved")) == ("ba", None, None, None, None)
    assert shape(both.view("retrieved")) == ("bca", (1, 1, 2), None, None, None)
    staged = Call("rerank", "q", contexts("ab"), children=tuple(two))
    assert shape(
        Retrieval(contexts("a"), calls=[staged], retrieved=contexts("bac")).view("retrieved")
    ) == ("bca", (1, 1, 2), None, None, None)


@pytest.mark.parametrize(
    ("other_ids", "part_ids", "wanted", "found"),
    [
        ({"a": ["x", "y"]}, {}, "y", ("ybc", None)),
        ({"a": ["x", "y"]}, {}, "xy", ("xbc", None)),
        ({"a": ["x"]}, {}, "ax", ("abc", None)),
        ({"a": ["x"]}, {}, "z", ("abc", None)),
        ({}, {"a": ["p", "q"]}, "p", ("pbc", None)),
        ({}, {"a": ["p", "q"]}, "pq", ("pqbc", (1, 1, 2, 3))),
        ({}, {"b": ["p", "q"]}, "bq", ("abqc", (1, 2, 2, 3))),
        ({"a": ["x"]}, {"a": ["p"]}, "xp", ("xpbc", (1, 1, 2, 3))),
        ({"a": ["x"]}, {"a": ["p"]}, "z", ("abc", None)),
    ],
)
def test_a_reference_may_name_any_id_of_a_document(
    other_ids: Any, part_ids: Any, wanted: str, found: tuple[str, Any]
) -> None:
    """A context gets the wanted ID, and one that was merged of several has each of theirs."""
    record = Retrieval(contexts("abc"), other_ids=other_ids, part_ids=part_ids)
    named = record.named(wanted)
    assert shape(named)[:2] == found
    changed = set(found[0]) != set("abc")
    assert (named.other_ids == {} and named.part_ids == {}) or not changed
    ranked = Retrieval(
        contexts("abc"), ranks=[1, 1, 2], other_ids=other_ids, part_ids=part_ids
    ).named(wanted)
    assert ranked.ranks is not None
    assert len(ranked.ranks) == len(found[0])
    assert set(ranked.ranks) == {1, 2}


def test_a_sample_without_the_wanted_list_has_an_error() -> None:
    """The view of a sample keeps its fields; without the list, its retrieval is an error."""
    sample = Sample(user_input="q", reference="r", retrieval=READ)
    read = sample.in_view("read")
    assert (read.user_input, read.reference) == ("q", "r")
    assert shape(read.retrieval)[0] == "ac"
    bare = Sample(user_input="q", retrieved_contexts=["a"])
    errors = [bare.in_view(name).retrieval_error for name in ("read", "retrieved")]
    assert all(errors)
    assert errors[0] != errors[1]
    failed = Sample(user_input="q", retrieval=Retrieval(error="down"))
    assert failed.in_view("read").retrieval_error == "down"


def test_contexts_of_one_id_are_joined() -> None:
    """Contexts of one ID are one at the first rank; a sample without such contexts is unchanged."""
    chunks = [Context("one", id="a", score=0.5), Context("two", id="b"), Context("one", id="a"),
              Context("three", id="a"), Context("x"), Context("x")]  # fmt: skip
    for sample in (
        Sample(user_input="q", retrieved_contexts=chunks),
        Sample(user_input="q", retrieval=Retrieval(chunks, ranks=[1, 1, 2, 2, 3, 4])),
    ):
        joined = sample.collapsed()
        assert [(each.id, each.text, each.score) for each in joined.contexts or ()] == [
            ("a", "one\n\nthree", 0.5), ("b", "two", None), (None, "x", None), (None, "x", None),
        ]  # fmt: skip
        assert joined.collapsed() is joined
    assert joined.retrieval is not None
    assert joined.retrieval.ranks == (1, 1, 3, 4)
    plain = Sample(user_input="q")
    assert plain.collapsed() is plain


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (
            {"text": "a", "page": 3, "author": "x"},
            (
                "a context has no field 'author', 'page': it takes text, id, score, metadata, "
                "source, start, end (anything else belongs in metadata)"
            ),
        ),
        ({"page_content": "a", "type": "Document"}, None),
        ({"text": "a", "start": 1}, "start and end go together, got start=1, end=None"),
    ],
)
def test_a_context_with_other_fields_is_refused(value: Any, problem: str | None) -> None:
    """A mapping with unknown keys is refused with the names of the known ones."""
    if problem is None:
        assert as_context(value) == Context("a")
        return
    with pytest.raises((ValueError, InputError)) as raised:
        as_context(value)
    assert problem in str(raised.value)


@pytest.mark.parametrize("value", [7, {}, {"query": "q"}, {"source": "s", "rank": 1}])
def test_a_call_of_another_form_is_refused(value: Any) -> None:
    """A call is a mapping with a source, and only with the fields of a call."""
    with pytest.raises(ValueError, match="expected a Call, or a mapping with source") as raised:
        call_of(value)
    assert str(raised.value) == (
        "expected a Call, or a mapping with source and any of query, contexts, error, "
        f"children, recovered, reorders, got {value!r}"
    )
