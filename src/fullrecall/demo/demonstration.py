"""The demonstration as a whole: the same questions, the same chunks, three retrievers."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

from fullrecall.context import Context
from fullrecall.diagnosis import Diagnosis, diagnose
from fullrecall.report import Report
from fullrecall.scorers import IdRecall

_NEEDED = {
    "bm25s": "bm25s",
    "langchain_core": "langchain-core",
    "langchain_text_splitters": "langchain-text-splitters",
    "llama_index.core": "llama-index-core",
    "snowballstemmer": "snowballstemmer",
    "wordllama": "wordllama",
    "langchain_fullrecall": "integrations/langchain",
    "llama_index.evaluation.fullrecall": "integrations/llama-index",
}
"""Each module that the demo imports, with what `pip install` calls it; paths of the repository."""


@dataclass(frozen=True)
class Demonstration:
    """What the demo measured: one report for each retriever, over the same samples.

    `wordings` has the IDs of the questions of each wording; `diagnosis` is that of the last
    retriever's report.
    """

    documents: int
    chunks: int
    targets: int
    wordings: Mapping[str, frozenset[str | None]]
    reports: Mapping[str, Report]
    diagnosis: Diagnosis

    @property
    def questions(self) -> int:
        """How many questions were asked."""
        return sum(map(len, self.wordings.values()))

    def worded(self, name: str, wording: str) -> Report:
        """Return the part of a report that has the questions of one wording."""
        report, asked = self.reports[name], self.wordings[wording]
        return Report.of(report.methods, [row for row in report if row.sample.id in asked])


def install_command() -> str | None:
    """Return the command that installs what the demo needs and is missing; None without any."""
    lacking = dict.fromkeys(_NEEDED[module] for module in _NEEDED if not _is_installed(module))
    return f"pip install {' '.join(lacking)}" if lacking else None


def run(*, k: int = 10, depth: int = 50) -> Demonstration:
    """Return the reports of three retrievers over all questions, each asked for `depth` chunks.

    Ranks beyond `k` show how far away missed documents are, and what a larger k would bring.
    """
    from fullrecall.collections import documents, questions

    # Before the frameworks: some of what they import patches the standard library, and with it
    # the documentation that this reads.
    texts = documents()
    asked = {"plain": questions("plain"), "hard": questions("hard")}
    samples = [sample for samples in asked.values() for sample in samples]
    with _undisturbed():
        from fullrecall.demo import dense, hybrid, lexical
        from fullrecall.demo.chunks import chunked

    scorers = (IdRecall(),)
    chunks = chunked(texts)
    reports = {
        "BM25": lexical.evaluated(chunks, samples, scorers, depth),
        "dense": dense.evaluated(texts, samples, scorers, depth),
    }
    pieces = [chunk.page_content for chunk in chunks]
    reports["hybrid"] = hybrid.evaluated(reports, pieces, samples, scorers, depth)
    corpus = [Context(chunk.page_content, id=chunk.metadata["source"]) for chunk in chunks]
    return Demonstration(
        documents=len(texts),
        chunks=len(chunks),
        targets=sum(len(sample.reference_context_ids or ()) for sample in samples),
        wordings={name: frozenset(one.id for one in those) for name, those in asked.items()},
        reports=reports,
        diagnosis=diagnose(reports["hybrid"], k=k, corpus=corpus, scorers=scorers),
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
