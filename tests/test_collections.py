"""The demo collection: the standard library's documentation, with judged questions."""

import json
import re
from importlib.resources import files
from typing import Any

import pytest

from fullrecall.collections import documents, questions
from fullrecall.sample import Sample


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """The questions as they are in the file."""
    source = files("fullrecall.collections").joinpath("stdlib_questions.jsonl")
    return [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def docstrings() -> dict[str, str]:
    """Each document's text without the line with the name, by id."""
    return {document.id: document.text.partition("\n\n")[2] for document in documents()}


def referenced_ids(row: dict[str, Any]) -> list[str]:
    """Return the ids of all groups of a question."""
    return [name for group in row["reference_context_ids"] for name in group["any_of"]]


def test_there_are_enough_documents_with_distinct_sorted_ids() -> None:
    """The collection is large enough to be a search problem, and its order is that of the ids."""
    ids = [document.id for document in documents()]
    assert len(ids) >= 2_000
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids)


def test_a_document_is_named_as_users_name_it() -> None:
    """Objects have the name under which they are imported, not that of the defining module."""
    ids = {document.id for document in documents()}
    assert ids >= {
        "collections.abc.Mapping",
        "dict.setdefault",
        "itertools",
        "json.dumps",
        "open",
        "os.path.splitext",
        "pathlib.Path.rglob",
        "random.choice",
        "socket.socket.connect",
        "sorted",
        "str.split",
        "unittest.mock.patch",
    }
    inner = ("_", "builtins.", "json.encoder", "ntpath", "posixpath", "random.Random.choice")
    assert not [name for name in ids if name.startswith(inner)]
    assert not [name for name in ids if "._" in name]


def test_a_document_begins_with_its_name_and_signature() -> None:
    """A retriever can find a document by its name and parameters, not only by its prose."""
    texts = {document.id: document.text for document in documents()}
    assert not [name for name, text in texts.items() if not text.startswith(name)]
    header, empty, body = texts["shutil.copytree"].partition("\n\n")
    assert header.startswith("shutil.copytree(src, dst, symlinks=False, ignore=None")
    assert empty
    assert body.startswith("Recursively copy a directory tree")


def test_every_document_has_a_docstring_and_nothing_of_the_machine(
    docstrings: dict[str, str],
) -> None:
    """No document is a bare name, and none shows a memory address."""
    assert not [name for name, text in docstrings.items() if len(text.split()) < 4]
    assert not [document.id for document in documents() if " at 0x" in document.text]


def test_every_referenced_document_exists_once_per_question(
    rows: list[dict[str, Any]], docstrings: dict[str, str]
) -> None:
    """A retriever can find everything that a question demands."""
    for row in rows:
        names = referenced_ids(row)
        assert not [name for name in names if name not in docstrings], row["id"]
        assert len(set(names)) == len(names), row["id"]


def test_no_question_names_what_it_asks_for(rows: list[dict[str, Any]]) -> None:
    """A search for the function's name alone does not find the answer."""
    told = [
        (row["id"], name)
        for row in rows
        for name in referenced_ids(row)
        if re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", row["user_input"], re.IGNORECASE)
    ]
    assert told == []


def test_questions_are_samples_with_reference_texts(
    rows: list[dict[str, Any]], docstrings: dict[str, str]
) -> None:
    """The reference texts are the docstrings, grouped like the ids."""
    samples = questions()
    assert [sample.id for sample in samples] == [row["id"] for row in rows]
    assert all(isinstance(sample, Sample) for sample in samples)
    for sample, row in zip(samples, rows, strict=True):
        assert sample.user_input == row["user_input"]
        assert [c.text for c in sample.reference_claims or ()] == row["reference_claims"]
        assert sample.reference_context_ids is not None
        assert [
            {"any_of": list(reference.any_of), "grade": reference.grade}
            for reference in sample.reference_context_ids
        ] == row["reference_context_ids"]
        assert sample.reference_contexts is not None
        assert [[context.text for context in group] for group in sample.reference_contexts] == [
            [docstrings[name] for name in group["any_of"]] for group in row["reference_context_ids"]
        ]
