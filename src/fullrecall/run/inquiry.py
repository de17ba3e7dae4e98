"""One retriever, asked one question after the other, as answers are wanted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from fullrecall.hits import IdKey
from fullrecall.retrieval import Retrieval
from fullrecall.run.retrievers import RetrieverLike, as_retriever
from fullrecall.sample import Sample


class Inquiry:
    """Asks a retriever for `k` contexts at a time, in the way in which `evaluate` asks it.

    What it takes is what `evaluate(retriever=…)` takes. Raises `ParameterError` for anything else.
    """

    def __init__(
        self,
        retriever: RetrieverLike,
        k: int | None = None,
        id_key: IdKey | None = None,
        timeout: float | None = None,
    ) -> None:
        from fullrecall.run.asker import Asker

        self._waiting: deque[Sample] = deque()
        asker = Asker(as_retriever(retriever, k=k, id_key=id_key), 1, timeout)
        self._answered = asker.asked(self._questions())

    def ask(self, sample: Sample) -> Retrieval:
        """Return what is retrieved for a sample, or an error that says why nothing is."""
        self._waiting.append(sample)
        retrieval = next(self._answered).retrieval
        assert retrieval is not None  # noqa: S101 - each sample comes back with one
        return retrieval

    def close(self) -> None:
        """End what the retriever was asked in."""
        self._answered.close()

    def _questions(self) -> Iterator[Sample]:
        while True:  # drawn once for each `ask`, never ahead
            yield self._waiting.popleft()
