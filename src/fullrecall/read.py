"""Readers of files and of other tools' objects; they return samples, one at a time.

`read` chooses the format by the file's name; each other reader is for one format. Each returns an
iterator of samples. At the first item that is not a sample, the iterator raises `InputError` with
the file, the line and the field. Arguments and the file's existence are checked when the reader is
called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from fullrecall.calibration import read_labels as read_labels
    from fullrecall.files.documents import Documents as Documents
    from fullrecall.files.documents import documents_of as documents_of
    from fullrecall.files.documents import read_contexts as read_contexts
    from fullrecall.files.frames import from_rows as from_rows
    from fullrecall.files.plans import ReadPlan as ReadPlan
    from fullrecall.files.reading import plan_of as plan_of
    from fullrecall.files.reading import read as read
    from fullrecall.files.traces import Joined as Joined
    from fullrecall.files.traces import from_spans as from_spans
    from fullrecall.files.traces import with_references as with_references
    from fullrecall.files.trec import from_qrels_run as from_qrels_run
    from fullrecall.files.trec import read_trec as read_trec
    from fullrecall.files.writing import Written as Written
    from fullrecall.files.writing import write as write
    from fullrecall.files.writing import write_jsonl as write_jsonl
    from fullrecall.samples.corpus import Document as Document
else:
    __getattr__ = lazy.names(__name__)
