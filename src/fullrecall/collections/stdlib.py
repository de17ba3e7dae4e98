"""The documentation of Python 3.11.7's standard library, with judged questions.

The documents are the docstrings of public modules, classes, functions and methods, taken once with
`inspect` and kept next to this file, so that figures are the same under every Python. Python's
license stands beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from fullrecall.corpus import Document

if TYPE_CHECKING:
    from fullrecall.sample import Sample

PYTHON = "3.11.7"
"""The Python whose documentation it is."""

_QUESTION_FILES = {
    "plain": "stdlib_plain_questions.jsonl",
    "hard": "stdlib_questions.jsonl",
}


@cache
def documents() -> tuple[Document, ...]:
    """Return the collection, sorted by ID.

    An ID is the qualified name under which users reach the object (`pathlib.Path.rglob`; for
    builtins without a prefix, `str.split`). A text is that name with the call signature where
    Python knows it, an empty line, and the docstring.
    """
    return tuple(Document(**row) for row in _rows("stdlib_documents.jsonl"))


def questions(wording: Literal["plain", "hard"] = "hard") -> tuple[Sample, ...]:
    """Return the judged questions as samples, in the order of the file.

    Questions of `plain` wording are asked as people ask them, in words that the answer has too.
    `hard` ones tell of the problem and share hardly a word with the answer; they have claims and
    a reference answer. The docstrings of the documents that a question needs are its
    `reference_contexts`, grouped as their IDs are.
    """
    from fullrecall.sample import Sample

    docstrings = {document.id: document.text.partition("\n\n")[2] for document in documents()}
    samples = []
    for row in _rows(_QUESTION_FILES[wording]):
        groups = [group["any_of"] for group in row["reference_context_ids"]]
        texts = [[docstrings[name] for name in group] for group in groups]
        samples.append(Sample(**row, reference_contexts=texts))
    return tuple(samples)


def _rows(name: str) -> Iterator[dict[str, Any]]:
    lines = files("fullrecall.collections").joinpath(name).read_text(encoding="utf-8")
    return map(json.loads, lines.splitlines())
