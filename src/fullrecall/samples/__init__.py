"""Samples: a question with its references and its retrieved contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullrecall._util import lazy

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
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
else:
    __getattr__ = lazy.names(__name__)
