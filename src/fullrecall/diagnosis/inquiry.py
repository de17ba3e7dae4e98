"""Ask a retriever for the contexts of one sample after another."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from fullrecall.run.drivers import retrieved
from fullrecall.samples.retrieval import Retrieval
from fullrecall.samples.sample import Sample

if TYPE_CHECKING:
    from fullrecall.run.retrievers import RetrieverLike


class Inquiry:
    """Asks a retriever for `k` contexts for each sample, as `evaluate` does.

    Takes the retrievers that `evaluate(retriever=…)` takes, else raises `ParameterError`.
    """

    def __init__(self, retriever: RetrieverLike, k: int | None = None) -> None:
        self._waiting: deque[Sample] = deque()
        # `ask` adds samples one by one, so `retrieved` must not read ahead.
        samples = iter(self._waiting.popleft, None)
        self._answered = retrieved(samples, retriever, k, max_concurrency=1, timeout=None)

    def ask(self, sample: Sample) -> Retrieval:
        """Return the retrieval for a sample, with its contexts or its error."""
        self._waiting.append(sample)
        retrieval = next(self._answered).retrieval
        assert retrieval is not None  # noqa: S101 - each sample comes back with one
        return retrieval

    def close(self) -> None:
        """End the run that asks the retriever."""
        self._answered.close()
