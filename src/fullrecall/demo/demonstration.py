"""The demonstration as a whole: the same questions, the same chunks, several retrievers."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from fullrecall.context import Context
from fullrecall.diagnosis import Diagnosis, diagnose
from fullrecall.errors import ParameterError
from fullrecall.evaluation import evaluate
from fullrecall.report import Report
from fullrecall.scorers import IdRecall

if TYPE_CHECKING:
    from fullrecall.demo.chunks import Chunk
    from fullrecall.run.retrievers import RetrieverLike
    from fullrecall.sample import Sample


class Joining(NamedTuple):
    """A retriever of a framework, which joins where its packages are installed."""

    name: str
    module: str
    needs: Mapping[str, str]
    """Each module that it imports, with what `pip install` calls it."""


JOINING = (
    Joining(
        "BM25",
        "fullrecall.demo.lexical",
        {
            "bm25s": "bm25s",
            "langchain_core": "langchain-core",
            "snowballstemmer": "snowballstemmer",
            "langchain_fullrecall": "integrations/langchain",
        },
    ),
    Joining(
        "dense",
        "fullrecall.demo.dense",
        {
            "llama_index.core": "llama-index-core",
            "wordllama": "wordllama",
            "llama_index.evaluation.fullrecall": "integrations/llama-index",
        },
    ),
)


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
        report, ids = self.reports[name], self.wordings[wording]
        return Report.of(report.methods, [row for row in report if row.sample.id in ids])


def missing_packages() -> tuple[str, ...]:
    """Return what `pip install` calls the packages that keep a framework's retriever away."""
    needs = [need for joining in JOINING for need in joining.needs.items()]
    return tuple(dict.fromkeys(package for module, package in needs if not _is_installed(module)))


def run(*, k: int = 10, depth: int = 50) -> Demonstration:
    """Return the reports of all retrievers over all questions, each asked for `depth` chunks.

    Ranks beyond `k` show how far away missed documents are, and what a larger k would bring.
    Raises `ParameterError` where Python's SQLite has no full-text search.
    """
    from fullrecall.collections import documents, questions
    from fullrecall.demo import full_text
    from fullrecall.demo.chunks import chunked
    from fullrecall.demo.hybrid import HybridRetriever, Reranker
    from fullrecall.demo.trigrams import TrigramSearch

    if not full_text.is_available():
        raise ParameterError("this Python's SQLite has no full-text search (FTS5): use another")
    # Before the frameworks: some of what they import patches the standard library, and with it
    # the documentation that this reads.
    texts = documents()
    by_wording = {"plain": questions("plain"), "hard": questions("hard")}
    samples = [sample for of_wording in by_wording.values() for sample in of_wording]
    chunks = chunked(texts)
    trigrams = TrigramSearch(chunks)
    searches = {"FTS5": full_text.FullTextSearch(chunks), "trigrams": trigrams}
    retrievers: dict[str, RetrieverLike] = {
        name: lambda question, search=search: search(question, depth)
        for name, search in searches.items()
    }
    retrievers |= _joined(chunks, depth)
    with _untraced():
        reports = {name: _report(samples, retriever) for name, retriever in retrievers.items()}
        lists = {
            name: {row.sample.id: row.sample.retrieved_contexts or () for row in report}
            for name, report in reports.items()
        }
        fused = HybridRetriever(lists, Reranker(chunks, trigrams), depth)
        reports["hybrid"] = _report(samples, fused)
    corpus = [Context(chunk.text, id=chunk.source) for chunk in chunks]
    return Demonstration(
        documents=len(texts),
        chunks=len(chunks),
        targets=sum(len(sample.reference_context_ids or ()) for sample in samples),
        wordings={
            name: frozenset(sample.id for sample in those) for name, those in by_wording.items()
        },
        reports=reports,
        diagnosis=diagnose(reports["hybrid"], k=k, corpus=corpus, scorers=IdRecall()),
    )


def _report(samples: Sequence[Sample], retriever: RetrieverLike) -> Report:
    return evaluate(samples, IdRecall(), retriever=retriever, progress=False)


def _joined(chunks: Sequence[Chunk], depth: int) -> dict[str, RetrieverLike]:
    """Return the retrievers of frameworks that are installed."""
    joined = {}
    for joining in JOINING:
        if all(map(_is_installed, joining.needs)):
            with _undisturbed():
                module = import_module(joining.module)
            joined[joining.name] = module.retriever(chunks, depth)
    return joined


@contextmanager
def _untraced() -> Iterator[None]:
    """Send nothing to LangSmith, which a user who traces has set in the environment."""
    if not _is_installed("langsmith") or not all(map(_is_installed, JOINING[0].needs)):
        yield
        return
    from langsmith import tracing_context

    with tracing_context(enabled=False):
        yield


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
