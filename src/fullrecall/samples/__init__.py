"""Samples: a question with its references and its retrieved contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # `as` the same name says that it is public (PEP 484)
    from fullrecall.samples.calls import Call as Call
    from fullrecall.samples.calls import Stage as Stage
    from fullrecall.samples.context import Context as Context
    from fullrecall.samples.corpus import CorpusIndex as CorpusIndex
    from fullrecall.samples.corpus import Document as Document
    from fullrecall.samples.corpus import stale_label as stale_label
    from fullrecall.samples.references import Claim as Claim
    from fullrecall.samples.references import Reference as Reference
    from fullrecall.samples.retrieval import Retrieval as Retrieval
    from fullrecall.samples.retrieval import Retriever as Retriever
    from fullrecall.samples.sample import Sample as Sample

_MODULES = {
    "Call": "calls",
    "Claim": "references",
    "Context": "context",
    "CorpusIndex": "corpus",
    "Document": "corpus",
    "Reference": "references",
    "Retrieval": "retrieval",
    "Retriever": "retrieval",
    "Sample": "sample",
    "Stage": "calls",
    "stale_label": "corpus",
}

if not TYPE_CHECKING:  # checkers read no list but a literal one
    __all__ = list(_MODULES)
    __getattr__ = lazy.names(__name__, _MODULES)
