"""The base class of records of a block of code or a call, which can be turned into samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from fullrecall.samples.context import Context
from fullrecall.samples.retrieval import Retrieval
from fullrecall.samples.sample import Sample


class Captured(ABC):
    """The record of a block or a call.

    While the block or call is still running, the record has the steps that have ended so far.
    """

    @property
    def question(self) -> str | None:
        """The question; None if it is unknown."""
        return None

    @abstractmethod
    def retrieval(self) -> Retrieval:
        """Return the record; if no retrieval was observed, its `error` is set."""

    def contexts(self) -> list[Context] | None:
        """Return the scored contexts; the list is empty if the calls returned none.

        Returns None if no retrieval was observed or all calls failed; `sample` then has the reason.
        Raises `InputError` for values that cannot be read as documents.
        """
        contexts = self.retrieval().contexts
        return None if contexts is None else list(contexts)

    def sample(self, sample: Sample | Mapping[str, Any] | None = None, /, **fields: Any) -> Sample:
        """Return a sample with the retrieval and the response of this record.

        It is a copy of `sample` with these `fields`. Without either, the sample has the record's
        question. If retrieval failed, or none was observed, the sample has a `retrieval_error`, so
        that scorers leave it unscored. Raises `InputError` for fields that do not make a sample.
        """
        if sample is None and not fields:
            fields = {"user_input": self.question}
        known_fields = sample.to_dict() if isinstance(sample, Sample) else dict(sample or {})
        whole_sample = Sample(**{**known_fields, **fields})
        return whole_sample.with_retrieval(self._retrieval_for(whole_sample))

    def _retrieval_for(self, sample: Sample) -> Retrieval:  # noqa: ARG002 - for several questions
        return self.retrieval()
