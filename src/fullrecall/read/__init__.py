"""Readers: files and other tools' objects as samples, one at a time.

`read` goes by a file's name; the others are for one format each. All return an iterator that
raises `InputError`, with the file, the line and the field, at the first thing that is no sample,
after every sample before it. Arguments and the file's existence are checked at the call itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:
    from fullrecall.corpus import Document
    from fullrecall.read.documents import Documents, documents_of, read_contexts
    from fullrecall.read.frames import from_rows
    from fullrecall.read.labels import read_labels
    from fullrecall.read.reading import read
    from fullrecall.read.traces import from_spans, with_references
    from fullrecall.read.trec import from_qrels_run, read_trec
    from fullrecall.read.writing import Written, write, write_jsonl

__all__ = [
    "Document",
    "Documents",
    "Written",
    "documents_of",
    "from_qrels_run",
    "from_rows",
    "from_spans",
    "read",
    "read_contexts",
    "read_labels",
    "read_trec",
    "with_references",
    "write",
    "write_jsonl",
]

_MODULES = {
    "Written": "writing",
    "write": "writing",
    "Document": ".corpus",
    "Documents": "documents",
    "documents_of": "documents",
    "from_qrels_run": "trec",
    "from_rows": "frames",
    "from_spans": "traces",
    "read": "reading",
    "read_contexts": "documents",
    "read_labels": "labels",
    "read_trec": "trec",
    "with_references": "traces",
    "write_jsonl": "writing",
}

if not TYPE_CHECKING:
    __getattr__ = lazy.names(__name__, _MODULES)
