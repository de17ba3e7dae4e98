"""Meaning beyond spelling: the claim's words against the nearest words of the contexts.

The word vectors are those that `wordllama` (MIT) carries in its wheel; nothing is downloaded.
Soft coverage is the recall of BERTScore (Zhang et al. 2020) with static vectors: each word of
the claim counts by its cosine with the most similar word, weighted by rarity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from fullrecall.errors import MissingExtraError
from fullrecall.judges.lexical.matching import Match, occurrences
from fullrecall.judges.lexical.passages import Passage

_UNRELATED = 0.25  # a cosine that counts for nothing
_MISSING = 0.79  # a softer credit than this is a word that is not there

SIGNS: Mapping[str, int] = {
    "soft_coverage": 1,
    "soft_coverage_1": 1,
    "soft_coverage_3": 1,
    "soft_coverage_pair": 1,
    "soft_least_3": 1,
    "soft_missing_3": -1,
    "soft_new": 1,
    "soft_new_3": 1,
    "nearest_of_missing": 1,
    "nearest_of_missing_best": 1,
    "cosine_3": 1,
    "cosine_context": 1,
}


class WordVectors:
    """Unit vectors of words, kept up to `limit` words. Threads may share them."""

    def __init__(self, limit: int = 50_000) -> None:
        try:
            import wordllama
        except ImportError:
            raise MissingExtraError("wordllama", "embedded", "EmbeddedModel") from None
        # A plain `load()` looks for the tokenizer in the user's cache and then downloads it.
        beside = Path(wordllama.__file__).parent
        self._model: Any = wordllama.WordLlama.load(cache_dir=beside, disable_download=True)
        self.limit = limit
        self._row: dict[str, int] = {}
        self._vectors: Any = None
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._row)

    def look_up(self, words: Sequence[str]) -> Any:
        """Return one row per word."""
        with self._lock:
            return self._look_up(words)

    def _look_up(self, words: Sequence[str]) -> Any:
        import numpy as np

        distinct = dict.fromkeys(words)
        if len(self._row) + len(distinct) > self.limit:
            self._row, self._vectors = {}, None
        unknown = [word for word in distinct if word not in self._row]
        if unknown:
            fresh = np.nan_to_num(self._model.embed(unknown, norm=True))
            for word in unknown:
                self._row[word] = len(self._row)
            known = self._vectors
            self._vectors = fresh if known is None else np.concatenate((known, fresh))
        return self._vectors[[self._row[word] for word in words]]


def soft_features(
    contexts: Sequence[Passage], question: Passage | None, found: Match, vectors: WordVectors
) -> dict[str, float]:
    """Return all features, by name, in the order of `SIGNS`; needs a word on either side."""
    import numpy as np

    units = [unit.word for unit in found.units]
    words = [word for passage in contexts for word in passage.words]
    weights = np.array([word.weight for word in units])
    ours = vectors.look_up([word.written for word in units])
    theirs = vectors.look_up([word.written for word in words])
    # Not `@`: for matrices as small as these BLAS wakes its threads in vain.
    cosines = np.einsum("ik,jk->ij", ours, theirs)
    for row, word in enumerate(units):
        if word.is_number:  # numbers are near each other in meaning and yet differ
            cosines[row] = [float(word.key == other.key) for other in words]
    credit = np.clip((cosines - _UNRELATED) / (1 - _UNRELATED), 0, 1)
    offsets = np.cumsum([0] + [len(passage.words) for passage in contexts])
    for offset, passage in zip(offsets, contexts, strict=False):
        for row, word in enumerate(units):
            for position, exact in occurrences(word, passage):
                credit[row, offset + position] = max(exact, credit[row, offset + position])
    starts = [
        int(offset) + first
        for offset, passage in zip(offsets, contexts, strict=False)
        for first, _ in passage.sentences
    ]
    context_of = np.repeat(np.arange(len(contexts)), [len(p.sentences) for p in contexts])
    by_sentence = np.maximum.reduceat(credit, starts, axis=1)
    by_window = _with_neighbours(by_sentence, context_of, np.maximum)
    share = weights / weights.sum()
    one, three = share @ by_sentence, share @ by_window
    best = by_window[:, int(three.argmax())]
    pair = share @ np.maximum(by_sentence, by_sentence[:, [int(one.argmax())]])
    anywhere = by_sentence.max(axis=1)
    telling = np.zeros(len(units), dtype=bool)
    telling[list(found.telling) or slice(None)] = True
    asked = question.places if question is not None else {}
    new = telling & np.array([word.key not in asked for word in units])
    missing = telling & (anywhere < _MISSING)
    nearest = cosines.max(axis=1)[missing]
    claim = _unit(weights @ ours)
    summed = theirs * np.array([[word.weight] for word in words])
    sentences = np.add.reduceat(summed, starts, axis=0)
    windows = _with_neighbours(sentences.T, context_of, np.add).T
    whole = np.array([sentences[context_of == c].sum(axis=0) for c in range(len(contexts))])
    measured = {
        "soft_coverage": share @ anywhere,
        "soft_coverage_1": one.max(),
        "soft_coverage_3": three.max(),
        "soft_coverage_pair": pair.max(),
        "soft_least_3": best[telling].min(),
        "soft_missing_3": (weights * (1 - best))[telling].max(),
        "soft_new": _share(weights, anywhere, new),
        "soft_new_3": _share(weights, best, new),
        "nearest_of_missing": nearest.mean() if nearest.size else 1.0,
        "nearest_of_missing_best": nearest.max() if nearest.size else 1.0,
        "cosine_3": (_unit(windows) @ claim).max(),
        "cosine_context": (_unit(whole) @ claim).max(),
    }
    return {name: float(measured[name]) for name in SIGNS}


def _with_neighbours(columns: Any, context_of: Any, join: Any) -> Any:
    """Join each sentence's column with those of the sentences beside it in the same context."""
    joined = columns.copy()
    same = context_of[1:] == context_of[:-1]
    joined[:, 1:][:, same] = join(joined[:, 1:][:, same], columns[:, :-1][:, same])
    joined[:, :-1][:, same] = join(joined[:, :-1][:, same], columns[:, 1:][:, same])
    return joined


def _share(weights: Any, credit: Any, chosen: Any) -> Any:
    return (weights * credit)[chosen].sum() / weights[chosen].sum() if chosen.any() else 1.0


def _unit(vectors: Any) -> Any:
    import numpy as np

    return vectors / (np.linalg.norm(vectors, axis=-1, keepdims=True) + 1e-9)
