"""BM25 over texts: rank passages by the words of a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from fullrecall._util.vocabulary import content_words

_K1, _B = 1.5, 0.75


class Ranking:
    """An index of texts by their terms, by default their content words.

    Scores are BM25 in Lucene's form (k1 = 1.5, b = 0.75): Robertson and Zaragoza, "The
    Probabilistic Relevance Framework: BM25 and Beyond", 2009.
    """

    def __init__(
        self, texts: Iterable[str], terms: Callable[[str], Iterable[str]] = content_words
    ) -> None:
        import numpy as np

        self._terms = terms
        # An array of weights for each term: scoring adds arrays, with no loop over texts.
        postings: dict[str, tuple[list[int], list[int]]] = {}
        lengths: list[int] = []
        for number, text in enumerate(texts):
            term_counts = Counter(terms(text))
            lengths.append(term_counts.total())
            for term, count in term_counts.items():
                numbers, counts = postings.setdefault(term, ([], []))
                numbers.append(number)
                counts.append(count)
        sizes = np.asarray(lengths, dtype=np.float32)
        mean = float(sizes.mean()) if lengths else 1.0
        norms = _K1 * (1 - _B + _B * sizes / (mean or 1.0))
        self._weights: dict[str, tuple[Any, Any]] = {}
        for term, (numbers, counts) in postings.items():
            at = np.asarray(numbers, dtype=np.int32)
            times = np.asarray(counts, dtype=np.float32)
            rarity = np.log1p((len(lengths) - len(at) + 0.5) / (len(at) + 0.5))
            self._weights[term] = (at, (rarity * times / (times + norms[at])).astype(np.float32))
        self._size = len(lengths)

    def scores(self, question: str) -> Any:
        """Return the score of every text, an array in the texts' order."""
        import numpy as np

        scores = np.zeros(self._size, dtype=np.float32)
        for term in self._terms(question):
            if term in self._weights:
                at, weights = self._weights[term]
                scores[at] += weights
        return scores

    def best(self, question: str, k: int) -> list[int]:
        """Return the numbers of the `k` best texts; texts without a common word are left out."""
        import numpy as np

        scores = self.scores(question)
        # The sort is stable: equal scores stay in the order of the texts, on every machine.
        order = np.argsort(-scores, kind="stable")[:k]
        return [int(number) for number in order if scores[number] > 0]
