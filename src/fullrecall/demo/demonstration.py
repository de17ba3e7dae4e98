"""The demonstration as a whole: the same questions, the same chunks, two retrievers."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fullrecall.scorers import ClaimRecall, IdRecall, SpanRecall

if TYPE_CHECKING:
    from fullrecall.report import Report

_NEEDED = {
    "bm25s": "bm25s",
    "langchain_core": "langchain-core",
    "langchain_text_splitters": "langchain-text-splitters",
    "llama_index.core": "llama-index-core",
    "wordllama": "wordllama",
    "langchain_fullrecall": "integrations/langchain",
    "llama_index.evaluation.fullrecall": "integrations/llama-index",
}
"""Each module that the demo imports, with what `pip install` calls it; paths of the repository."""


@dataclass(frozen=True)
class Demonstration:
    """What the demo measured: one report for each retriever, and over how much."""

    documents: int
    chunks: int
    questions: int
    targets: int
    reports: Mapping[str, Report]


def install_command() -> str | None:
    """Return the command that installs what the demo needs and is missing; None without any."""
    lacking = dict.fromkeys(_NEEDED[module] for module in _NEEDED if not _is_installed(module))
    if not lacking:
        return None
    here = ", in fullrecall's repository" if any("/" in name for name in lacking) else ""
    return f"pip install {' '.join(lacking)}{here}"


def run(*, k: int = 10, depth: int = 50) -> Demonstration:
    """Return the reports of both retrievers over all questions, each asked for `depth` chunks.

    Claims are judged in the first `k`; ranks beyond it show how far away missed documents are.
    """
    from fullrecall.collections import documents, questions

    # Before the frameworks: some of what they import patches the standard library, and with it
    # the documentation that this reads.
    texts, samples = documents(), questions()
    with _undisturbed():
        from fullrecall.demo import dense, lexical
        from fullrecall.demo.chunks import chunked

    # Claims are judged in the chunks that count: the judge takes longer than all the rest.
    scorers = (IdRecall(), SpanRecall(), ClaimRecall(depth=k))
    chunks = chunked(texts)
    return Demonstration(
        documents=len(texts),
        chunks=len(chunks),
        questions=len(samples),
        targets=sum(len(sample.reference_context_ids or ()) for sample in samples),
        reports={
            "BM25": lexical.evaluated(chunks, samples, scorers, depth),
            "dense": dense.evaluated(texts, samples, scorers, depth),
        },
    )


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Import silently: no warnings, and the process's logging left as it was.

    What the frameworks warn of when they are imported is not for the demo's user to mend, and
    wordllama turns on the root logger, to which bm25s then sends every step.
    """
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent of it is missing
        return False
