"""The hybrid retriever: both lists fused by rank, then reranked; a plain class, no framework.

The reranker reads question and chunk together, as a cross-encoder does, with nothing to download:
the share of the question's word weight that the chunk has, plus the similarity of their vectors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from fullrecall.calls import Call
from fullrecall.context import Context
from fullrecall.demo.dense import embedder
from fullrecall.demo.lexical import stems
from fullrecall.evaluation import evaluate
from fullrecall.report import Report
from fullrecall.retrieval import Retrieval
from fullrecall.sample import Sample
from fullrecall.scorers import Scorer

_RANK_CONSTANT = 60  # of reciprocal rank fusion: Cormack, Clarke, Büttcher, SIGIR 2009


@dataclass(frozen=True)
class HybridRetriever:
    """Fuses what the other retrievers returned for a sample, and reranks the first `depth`.

    It takes their lists from `reports` instead of asking them again. Each step is recorded, so
    that a diagnosis can say what a step dropped.
    """

    lists: Mapping[str, Mapping[str | None, Sequence[Context]]]
    reranker: Reranker
    depth: int

    def retrieve(self, sample: Sample) -> Retrieval:
        """Return the reranked list, with the steps that led to it."""
        question = sample.user_input or ""
        found = [
            Call(name, question, tuple(by_sample[sample.id]))
            for name, by_sample in self.lists.items()
        ]
        fused = fusion([call.contexts or () for call in found])[: self.depth]
        first = Call("fusion", question, tuple(fused), children=tuple(found))
        best = tuple(self.reranker.reranked(question, fused))
        return Retrieval(best, calls=[Call("reranker", question, best, children=(first,))])

    async def aretrieve(self, sample: Sample) -> Retrieval:
        """Return the same."""
        return self.retrieve(sample)


class Reranker:
    """Scores a chunk by the words and by the vector that it shares with the question."""

    def __init__(self, texts: Iterable[str]) -> None:
        every = list(dict.fromkeys(texts))
        words = [frozenset(found) for found in stems(every)]
        self._seen = Counter(word for found in words for word in found)
        self._model: Any = embedder()
        vectors = self._model.embed(every, norm=True)
        self._texts = dict(zip(every, zip(words, vectors, strict=True), strict=True))

    def reranked(self, question: str, contexts: Sequence[Context]) -> list[Context]:
        """Return the contexts, best first; equal scores keep their order."""
        if not contexts:
            return []
        held, vectors = zip(*(self._texts[context.text or ""] for context in contexts), strict=True)
        weights = {word: self._weight(word) for word in sorted(set(stems([question])[0]))}
        alike = np.asarray(vectors) @ self._model.embed([question], norm=True)[0]
        whole = sum(weights.values()) or 1.0
        scores = [
            sum(weight for word, weight in weights.items() if word in words) / whole + cosine
            for words, cosine in zip(held, alike, strict=True)
        ]
        order = sorted(range(len(contexts)), key=lambda n: -scores[n])
        return [contexts[n] for n in order]

    def _weight(self, word: str) -> float:
        """Return BM25's inverse document frequency: rare words count more."""
        count = self._seen[word]
        return log(1 + (len(self._texts) - count + 0.5) / (count + 0.5))


def fusion(lists: Iterable[Sequence[Context]]) -> list[Context]:
    """Return the contexts of all lists by the sum of 1 / (60 + rank), the largest first."""
    scores: dict[tuple[str | None, str | None], float] = {}
    contexts: dict[tuple[str | None, str | None], Context] = {}
    for ranked in lists:
        for rank, context in enumerate(ranked, start=1):
            key = (context.id, context.text)
            scores[key] = scores.get(key, 0.0) + 1 / (_RANK_CONSTANT + rank)
            contexts.setdefault(key, context)
    return [contexts[key] for key in sorted(scores, key=lambda key: -scores[key])]


def evaluated(
    reports: Mapping[str, Report],
    texts: Iterable[str],
    samples: Sequence[Sample],
    scorers: Sequence[Scorer],
    depth: int,
) -> Report:
    """Return the report of the hybrid of the retrievers whose reports these are."""
    lists = {
        name: {row.sample.id: row.sample.retrieved_contexts or () for row in report}
        for name, report in reports.items()
    }
    retriever = HybridRetriever(lists, Reranker(texts), depth)
    return evaluate(samples, scorers, retriever=retriever, progress=False)
