"""A document with its IDs, the documents merged into it, and the steps that returned it."""

from __future__ import annotations

import pytest

from fullrecall.observe.documents import DocumentText, TrackedDocument, documents_in, is_made
from fullrecall.observe.step import DocumentCopy, Step
from fullrecall.observe.words import PassageIndex

UUID = "0123abcd-0123-0123-0123-0123456789ab"


def document(id_: str | None, text: str = "text") -> TrackedDocument:
    """Return a document of one copy."""
    return TrackedDocument(DocumentCopy(0, id_, text))


@pytest.mark.parametrize(
    ("own", "copies", "id_", "ids"),
    [
        ("a", [("a", "a longer text")], "a", ("a",)),
        ("a", [("b", "text")], "a", ("a", "b")),
        ("a", [("b", "texts")], "b", ("a", "b")),
        ("a", [("b", "t"), ("b", "a longer text")], "a", ("a", "b")),
        (None, [("b", "t")], "b", ("b",)),
        ("a", [(None, "a longer text")], "a", ("a",)),
        (None, [(None, "text")], None, ()),
    ],
)
def test_a_document_has_the_ids_of_its_copies(
    own: str | None, copies: list[tuple[str | None, str]], id_: str | None, ids: tuple[str, ...]
) -> None:
    """Each ID is kept once; the first one is shown, or that of a copy with a longer text."""
    tracked = document(own)
    for each, text in copies:
        tracked.add_id_of(DocumentCopy(0, each, text))
    assert (tracked.id, tracked.ids) == (id_, ids)


def test_a_merged_document_counts_as_its_parts() -> None:
    """A document has the parts of its parts, and the origin of its first one."""
    steps = [Step(n, None, "retriever", "search") for n in range(3)]
    first, second, third = (document(name) for name in "abc")
    for each, step in zip((first, second, third), steps, strict=True):
        each.origin = step
        each.sources = [step]
    inner = TrackedDocument(DocumentCopy(0, "d", "one two"), [("one", first), ("two", second)])
    outer = TrackedDocument(DocumentCopy(0, "e", "one two three"), [("x", inner), ("y", third)])
    assert (inner.parts, inner.origin, inner.sources) == ((first, second), steps[0], steps[:2])
    assert (outer.parts, outer.origin) == ((inner, first, second, third), steps[0])
    assert outer.sources == steps
    assert first.parts == ()
    passages = [DocumentText(each, DocumentCopy(0, None, ""), 0) for each in (outer, third, first)]
    assert [*documents_in(passages)] == [outer, inner, first, second, third]
    assert document("a").origin is None


@pytest.mark.parametrize(
    ("id_", "made"),
    [(None, True), (UUID, True), (UUID.replace("-", ""), True), (UUID.upper(), True), ("a", False),
     (UUID[:-1], False), (f"{UUID}0", False)],
)  # fmt: skip
def test_an_id_that_a_framework_made(id_: str | None, *, made: bool) -> None:
    """A random ID, like no ID, says nothing about the document."""
    assert is_made(DocumentCopy(0, id_, "text")) is made


WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (WORDS, (0,)),
        (f"Before. {WORDS}! After.", (0,)),
        (WORDS.upper(), ()),
        ("one two", ()),
        ("zero", ()),
        ("The short text.", (1,)),
        (f"A short text. {WORDS}", (0, 1)),
        (f"&lt;b&gt;{WORDS}", (0,)),
    ],
)
def test_the_passages_in_a_text(text: str, found: tuple[int, ...]) -> None:
    """A text contains a passage if it has its words; it is searched again for new passages."""
    index = PassageIndex()
    for passage in (WORDS, "short text"):
        index.add(passage)
    assert tuple(sorted(index.found_in(text))) == found
    index.add("zero")
    assert tuple(sorted(index.found_in(text, again=False))) == found
    assert tuple(sorted(index.found_in(text))) == (found if text != "zero" else (2,))
