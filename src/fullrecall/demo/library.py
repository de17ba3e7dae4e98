"""The help pages of an invented town's library, with judged questions: small and easy to read.

166 pages answer sixty questions; three more questions have no answer. All texts were written for
this project.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
from typing import TYPE_CHECKING, Any

from fullrecall.samples.corpus import Document

if TYPE_CHECKING:
    from fullrecall.samples.sample import Sample


def library_pages() -> tuple[Document, ...]:
    """Return the pages by ID, such as "returns/late-fees"; each text begins with a title."""
    return tuple(
        Document(page["id"], f"{page['title']}\n\n{page['text']}")
        for page in _lines("documents.jsonl")
    )


def library_questions() -> tuple[Sample, ...]:
    """Return the questions with the IDs of the pages that answer them; "kind" is metadata."""
    from fullrecall.files.frames import from_rows

    return tuple(from_rows(_lines("questions.jsonl")))


@functools.cache
def _lines(name: str) -> tuple[dict[str, Any], ...]:
    file = importlib.resources.files("fullrecall.demo").joinpath("showcase", name)
    return tuple(map(json.loads, file.read_text("utf-8").splitlines()))
