"""What was seen of a block of code, or of one call, as a sample: the same for every framework."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from fullrecall.samples.context import Context
from fullrecall.samples.retrieval import Retrieval
from fullrecall.samples.sample import Sample


class Captured(ABC):
    """What was seen of a block or a call, which may go on still: what has ended is in it."""

    @property
    def question(self) -> str | None:
        """What was asked, where that is known."""
        return None

    @abstractmethod
    def retrieval(self) -> Retrieval:
        """Return the record; where nothing was observed its `error` says so."""

    def contexts(self) -> list[Context] | None:
        """Return the list that is scored: an empty one where nothing was retrieved.

        None where nothing was observed or all calls failed: `sample` keeps the reason. Raises
        `InputError` for what cannot be read as documents.
        """
        contexts = self.retrieval().contexts
        return None if contexts is None else list(contexts)

    def sample(self, sample: Sample | Mapping[str, Any] | None = None, /, **fields: Any) -> Sample:
        """Return a sample, or the one with these fields, with what was retrieved and answered.

        Without either it has the question. Where retrieval failed, or none was seen, it has a
        `retrieval_error`, so that scorers leave it unscored. Raises `InputError` for what makes
        no sample.
        """
        if sample is None and not fields:
            fields = {"user_input": self.question}
        known_fields = sample.to_dict() if isinstance(sample, Sample) else dict(sample or {})
        whole_sample = Sample(**{**known_fields, **fields})
        return whole_sample.with_retrieval(self._retrieval_for(whole_sample))

    def _retrieval_for(self, sample: Sample) -> Retrieval:  # noqa: ARG002 - for several questions
        return self.retrieval()
