"""What one call retrieved, as nodes, as a record and as a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llama_index.core.schema import NodeWithScore

from fullrecall import Context, Retrieval, Sample
from fullrecall.retrieval import Call
from llama_index.evaluation.fullrecall.nodes import NodeReader
from llama_index.evaluation.fullrecall.observation.branches import (
    Branch,
    Items,
    final_branches,
    final_items,
    retrieved_branches,
    retrieved_items,
    top_retrievals,
)
from llama_index.evaluation.fullrecall.observation.recording import Recording
from llama_index.evaluation.fullrecall.observation.snapshots import Snapshot
from llama_index.evaluation.fullrecall.observation.steps import Kind
from llama_index.evaluation.fullrecall.observation.trace import Trace
from llama_index.evaluation.fullrecall.options import Reading


class Asked(NamedTuple):
    """What one retriever returned at one time.

    `nodes` is None where it raised `error`, or has not ended. `is_part` says that another
    retriever asked it.
    """

    retriever: str
    question: str | None
    nodes: tuple[NodeWithScore, ...] | None
    error: str | None
    is_part: bool


class Capture:
    """What was seen of one call of an engine or a retriever, or of one block of code.

    Nodes stand as they were when they were returned; nothing that happens later changes them.
    `question` is what the object was asked, `answer` the text that it returned (None for a stream
    and for a block), `error` what it raised. It can be read at any time; what has not ended by
    then is not in it.
    """

    def __init__(self, recording: Recording, reading: Reading) -> None:
        self._recording = recording
        self._reading = reading

    @property
    def question(self) -> str | None:
        """What the engine or retriever was asked."""
        return self._recording.question

    @property
    def answer(self) -> str | None:
        """The text that the engine returned."""
        return self._recording.answer

    @property
    def error(self) -> str | None:
        """What the call raised, as "TimeoutError: …"."""
        return self._recording.error

    @property
    def is_complete(self) -> bool:
        """Whether all that was seen could be recorded; if not, `retrieval().error` says why."""
        return self._recording.gap is None

    @property
    def observed(self) -> bool:
        """Whether a retrieval was seen, or a synthesizer that was given nodes.

        Without a retrieval, as for an engine that reads its nodes from elsewhere, only `final` is
        known.
        """
        trace = self._recording.trace
        return bool(trace.retrievals) or any(
            branch.items is not None for branch in final_branches(trace)
        )

    @property
    def retrievals(self) -> tuple[Asked, ...]:
        """Every retrieval, in the order in which they began; failed ones too."""
        trace = self._recording.trace
        tops = set(top_retrievals(trace))
        return tuple(
            Asked(
                retriever=step.name,
                question=step.question,
                nodes=None if step.handed is None else _nodes(step.handed.items),
                error=step.error,
                is_part=step not in tops,
            )
            for step in trace.steps
            if step.kind is Kind.RETRIEVAL and step not in trace.echoes
        )

    @property
    def retrieved(self) -> tuple[NodeWithScore, ...]:
        """What was retrieved, before any postprocessor.

        Retrievals that another retriever made are a part of its own. Several are joined in the
        order in which they began, and a node that several returned stands where it came first.
        """
        return _nodes(retrieved_items(self._recording.trace))

    @property
    def final(self) -> tuple[NodeWithScore, ...]:
        """What the synthesizers were given, or an agent by a retriever tool.

        Where there is neither, what the engine names as its sources, else what was left after the
        last postprocessor. Several lists are joined by rank. Never among them: nodes that engines
        wrote themselves, as the answers to sub-questions. Sources that are numbered for citation
        stand as they were retrieved.
        """
        return _nodes(final_items(final_branches(self._recording.trace)))

    def retrieval(self) -> Retrieval:
        """Return the record of the call: its lists, what they were made of, what the model read.

        Where nothing was observed its `error` says so. Raises `InputError` for nodes that the
        options cannot read.
        """
        return self._read(self._reading)

    def contexts(self) -> list[Context] | None:
        """Return the list that is scored; None where nothing was observed or all calls failed.

        Raises `InputError` for nodes that the options cannot read.
        """
        found = self.retrieval().contexts
        return None if found is None else list(found)

    def sample(self, sample: Sample | Mapping[str, Any] | None = None, /, **fields: Any) -> Sample:
        """Return a sample, or the one with these fields, with what this call retrieved.

        A call that failed, and one in which no retrieval was seen, has a `retrieval_error`, so
        that scorers leave it unscored. Raises `InputError` for what makes no sample.
        """
        if sample is None and not fields:
            fields = {"user_input": self.question}
        given = sample.to_dict() if isinstance(sample, Sample) else dict(sample or {})
        return Sample(**{**given, **fields}).with_retrieval(self.retrieval())

    def _read(self, reading: Reading) -> Retrieval:
        trace = self._recording.trace
        if reading.scored == "retrieved":
            branches, prompts = retrieved_branches(trace), None
        else:
            branches = final_branches(trace)
            prompts = [prompt.text for prompt in trace.prompts] or None
        calls = _Calls(reading.reader).of(branches)
        if problem := self._problem(trace, reading, branches):
            return Retrieval(calls=calls, error=problem, response=self.answer)
        return Retrieval.of_calls(
            calls, response=self.answer, prompts=prompts, failed_calls=reading.failed_calls
        )

    def __repr__(self) -> str:
        if self.error is not None:
            return f"<Capture of {self.question!r}: {self.error}>"
        retrieved, final = len(self.retrieved), len(self.final)
        return f"<Capture of {self.question!r}: {retrieved} retrieved, {final} final>"

    def _problem(self, trace: Trace, reading: Reading, branches: Sequence[Branch]) -> str | None:
        """Return why a list is not known, None where it is."""
        if self.error is not None:
            return self.error
        if problem := self._recording.gap:
            return f"the call was not recorded completely: {problem}"
        if branches or (reading.scored == "final" and trace.retrievals):
            return None
        return (
            "no retrieval was seen: no retriever was asked, or in a thread that was started "
            "without copy_context()"
        )


def read_capture(capture: Capture, reading: Reading) -> Retrieval:
    """Return the record of a call, read by other options than its own."""
    return capture._read(reading)  # noqa: SLF001 - the capture's own module


class _Calls:
    """Branches as calls: each node is read once."""

    def __init__(self, reader: NodeReader) -> None:
        self._reader = reader
        self._known: dict[Snapshot, list[Context]] = {}

    def of(self, branches: Sequence[Branch]) -> tuple[Call, ...]:
        """Return the calls that branches are."""
        return tuple(map(self._call, branches))

    def _call(self, branch: Branch) -> Call:
        return Call(
            branch.name,
            branch.question,
            None if branch.items is None else self._contexts(branch.items),
            branch.error if branch.items is None else None,
            self.of(branch.children),
            reorders=branch.reorders,
        )

    def _contexts(self, items: Items) -> tuple[Context, ...]:
        for rank, item in enumerate(items, start=1):
            if item not in self._known:
                self._known[item] = self._reader.contexts([item.item()], rank)
        return tuple(context for item in items for context in self._known[item])


def _nodes(items: Items) -> tuple[NodeWithScore, ...]:
    return tuple(item.item() for item in items)
