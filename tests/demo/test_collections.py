"""The demo's collection of fullrecall's pages, and the standard library's documentation."""

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from tests.stdlib_docs.collection import FOLDER, documents, questions

from fullrecall.demo import library_pages, library_questions
from fullrecall.demo.library import CHUNK_SIZE, Chunk, FullTextSearch, chunked
from fullrecall.samples.corpus import Document
from fullrecall.samples.sample import Sample


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """The questions as they are in the file."""
    source = FOLDER / "questions.jsonl"
    return [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def docstrings() -> dict[str, str]:
    """Each document's text without the line with the name, by id."""
    return {document.id: document.text.partition("\n\n")[2] for document in documents()}


def referenced_ids(row: dict[str, Any]) -> list[str]:
    """Return the ids of all groups of a question."""
    return [name for group in row["reference_context_ids"] for name in group["any_of"]]


def run_python(code: str, **environment: str) -> str:
    """Run `code` in a fresh interpreter with warnings as errors; return its output."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_there_are_enough_documents_with_distinct_sorted_ids() -> None:
    """The collection has enough documents for a search, with distinct, sorted IDs."""
    ids = [document.id for document in documents()]
    assert len(ids) >= 2_000
    assert len(set(ids)) == len(ids)
    assert ids == sorted(ids)


def test_a_document_is_named_as_users_name_it() -> None:
    """A document has the name under which users import its object, not its module's."""
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


def test_inherited_methods_are_not_repeated() -> None:
    """An inherited method has one document only, at the class which defines it for its users."""
    ids = {document.id for document in documents()}
    assert "pathlib.PurePath.joinpath" in ids
    assert "pathlib.Path.joinpath" not in ids
    assert "queue.Queue.put" in ids
    assert "queue.LifoQueue.put" not in ids


def test_a_document_begins_with_its_name_and_signature() -> None:
    """A document begins with its name and parameters, by which a retriever can find it."""
    texts = {document.id: document.text for document in documents()}
    assert not [name for name, text in texts.items() if not text.startswith(name)]
    header, empty, body = texts["shutil.copytree"].partition("\n\n")
    assert header.startswith("shutil.copytree(src, dst, symlinks=False, ignore=None")
    assert empty
    assert body.startswith("Recursively copy a directory tree")


def test_every_document_has_a_docstring_and_nothing_of_the_machine(
    docstrings: dict[str, str],
) -> None:
    """No document is a bare name; none shows a memory address or where Python is installed."""
    assert not [name for name, text in docstrings.items() if len(text.split()) < 3]
    assert not [document.id for document in documents() if " at 0x" in document.text]
    assert not [document.id for document in documents() if sys.executable in document.text]


def test_documents_are_the_same_in_every_process() -> None:
    """IDs, texts and their order depend neither on the hash seed nor on the process."""
    code = (
        "import hashlib; from tests.stdlib_docs.collection import documents; "
        "print(len(documents()), hashlib.sha256(repr(documents()).encode()).hexdigest())"
    )
    first = run_python(code, PYTHONHASHSEED="1")
    second = run_python(code, PYTHONHASHSEED="2")
    assert first == second
    assert first.startswith(f"{len(documents())} ")


def test_reading_the_collection_warns_of_nothing_and_needs_only_the_standard_library() -> None:
    """The collection imports no deprecated module, prints nothing, and needs no installation."""
    code = """
import importlib.util, sys
present = set(sys.modules)
spec = importlib.util.spec_from_file_location("collection_by_path", {path!r})
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
assert len(module.documents()) >= 2_000
imported = {{name.partition(".")[0] for name in set(sys.modules) - present}}
known = sys.stdlib_module_names | {{"__mp_main__", "fullrecall", spec.name}}
foreign = [name for name in imported - known if not name.startswith("_sysconfigdata_")]
print(sorted(foreign))
"""
    path = str(FOLDER / "collection.py")
    assert run_python(code.format(path=path)) == "[]\n"


def test_every_referenced_document_exists_once_per_question(
    rows: list[dict[str, Any]], docstrings: dict[str, str]
) -> None:
    """Every document that a question refers to exists, once per question."""
    for row in rows:
        names = referenced_ids(row)
        assert not [name for name in names if name not in docstrings], row["id"]
        assert len(set(names)) == len(names), row["id"]


def test_no_question_names_what_it_asks_for(rows: list[dict[str, Any]]) -> None:
    """No question contains the name that it asks for, so a search for the name is no shortcut."""
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
    """The reference texts are the docstrings of the running Python, grouped like the ids."""
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


def test_the_librarys_pages_answer_its_questions() -> None:
    """Each reference is a page, and each text begins with its title."""
    pages = {page.id: page.text for page in library_pages()}
    needed = {
        own_id
        for sample in library_questions()
        for reference in sample.reference_context_ids or ()
        for own_id in reference.any_of
    }
    assert needed <= pages.keys()
    assert all(text.partition("\n\n")[2] for text in pages.values())


def test_a_search_needs_a_word_other_than_stop_words() -> None:
    """A search ignores stop words, treats operators as words, and ranks the chunks."""
    chunks = [("a", "the one and only near cat"), ("b", "a cat, a cat near"), ("c", "the dog")]
    search = FullTextSearch([Chunk(*each) for each in chunks])
    assert search("the and of", k=3) == []
    assert [source for source, _, _ in search("the cats AND near", k=3)] == ["b", "a"]
    assert [source for source, _, _ in search("cat", k=1)] == ["b"]


def test_chunks_end_in_the_second_half_of_their_room() -> None:
    """A strong break near the beginning of a chunk does not make a tiny chunk."""
    text = f"{'a' * 150}\n\n{'word ' * 200}"
    first, *_, last = chunked([Document("d", text)])
    assert len(first.text) >= CHUNK_SIZE // 2
    assert last.source == "d"
    # A chunk may be full.
    full = f"{'a' * 300} {'b' * 99}"
    assert [each.text for each in chunked([Document("d", full)])] == [full]
    assert [len(each.text) for each in chunked([Document("d", full + "b")])] == [300, 100]
