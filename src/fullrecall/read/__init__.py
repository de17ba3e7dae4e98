"""Readers: files and other tools' objects as samples, one at a time.

`read` goes by a file's name; the others are for one format each. All return an iterator that
raises `InputError`, with the file, the line and the field, at the first thing that is no sample,
after every sample before it. Arguments and the file's existence are checked at the call itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall import lazy

if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.corpus import Document as Document
    from fullrecall.read.documents import Documents as Documents
    from fullrecall.read.documents import documents_of as documents_of
    from fullrecall.read.documents import read_contexts as read_contexts
    from fullrecall.read.frames import from_rows as from_rows
    from fullrecall.read.labels import read_labels as read_labels
    from fullrecall.read.reading import read as read
    from fullrecall.read.traces import from_spans as from_spans
    from fullrecall.read.traces import with_references as with_references
    from fullrecall.read.trec import from_qrels_run as from_qrels_run
    from fullrecall.read.trec import read_trec as read_trec
    from fullrecall.read.writing import Written as Written
    from fullrecall.read.writing import write as write
    from fullrecall.read.writing import write_jsonl as write_jsonl

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

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __getattr__ = lazy.names(__name__, _MODULES)
