"""The hybrid retriever: all lists fused by rank, then reranked; a plain class, no framework.

The reranker reads question and chunk together, as a cross-encoder does, with nothing to download:
the share of the question's word weight that the chunk has, plus the similarity of their trigrams.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log

from fullrecall.calls import Call
from fullrecall.context import Context
from fullrecall.demo.searches import Chunk, TrigramSearch
from fullrecall.retrieval import Retrieval
from fullrecall.sample import Sample
from fullrecall.testset.vocabulary import content_words

_RANK_CONSTANT = 60  # of reciprocal rank fusion: Cormack, Clarke, Büttcher, SIGIR 2009


@dataclass(frozen=True)
class HybridRetriever:
    """Fuses what the other retrievers returned for a sample, and reranks the first `depth`.

    It takes their lists, by retriever and sample, instead of asking them again. Each step is
    recorded, so that a diagnosis can say what a step dropped.
    """

    lists: Mapping[str, Mapping[str | None, Sequence[Context]]]
    reranker: Reranker
    depth: int

    def retrieve(self, sample: Sample) -> Retrieval:
        """Return the reranked list, with the steps that led to it."""
        question = sample.user_input or ""
        calls = [
            Call(name, question, tuple(by_sample[sample.id]))
            for name, by_sample in self.lists.items()
        ]
        fused = fusion([call.contexts or () for call in calls])[: self.depth]
        first = Call("fusion", question, tuple(fused), children=tuple(calls))
        best = tuple(self.reranker.reranked(question, fused))
        return Retrieval(best, calls=[Call("reranker", question, best, children=(first,))])

    async def aretrieve(self, sample: Sample) -> Retrieval:
        """Return the same."""
        return self.retrieve(sample)


class Reranker:
    """Scores a chunk by the words and by the trigrams that it shares with the question."""

    def __init__(self, chunks: Sequence[Chunk], trigrams: TrigramSearch) -> None:
        self._positions = {chunk.text: position for position, chunk in enumerate(chunks)}
        self._words = [frozenset(content_words(chunk.text)) for chunk in chunks]
        self._document_counts = Counter(word for words in self._words for word in words)
        self._trigrams = trigrams

    def reranked(self, question: str, contexts: Sequence[Context]) -> list[Context]:
        """Return the contexts, best first; equal scores keep their order."""
        weights = {word: self._weight(word) for word in sorted(set(content_words(question)))}
        whole = sum(weights.values()) or 1.0
        alike = self._trigrams.similarities(question)

        def score(context: Context) -> float:
            position = self._positions[context.text or ""]
            shared = sum(
                weight for word, weight in weights.items() if word in self._words[position]
            )
            return shared / whole + float(alike[position])

        return sorted(contexts, key=lambda context: -score(context))

    def _weight(self, word: str) -> float:
        """Return BM25's inverse document frequency: rare words count more."""
        count = self._document_counts[word]
        return log(1 + (len(self._words) - count + 0.5) / (count + 0.5))


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
