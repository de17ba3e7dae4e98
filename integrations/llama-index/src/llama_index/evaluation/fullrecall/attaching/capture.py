"""What one call retrieved, as nodes and as a sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from llama_index.core.schema import MetadataMode, NodeWithScore
from llama_index.core.storage.docstore.types import BaseDocumentStore

from fullrecall import Context, ParameterError, Sample
from fullrecall import Retrieval as Recorded
from fullrecall.retrieval import Stage, calls_of
from llama_index.evaluation.fullrecall.attaching.lists import (
    final_nodes,
    retrieved_nodes,
    top_retrievals,
)
from llama_index.evaluation.fullrecall.attaching.recording import Recording
from llama_index.evaluation.fullrecall.attaching.spans import Kind
from llama_index.evaluation.fullrecall.attaching.stages import RETRIEVED, feeding, node_stages
from llama_index.evaluation.fullrecall.attaching.trace import Trace
from llama_index.evaluation.fullrecall.nodes import IdKey, NodeReader

Which: TypeAlias = Literal["final", "retrieved"]
"""Which list is scored: what reached the model, or what was retrieved in the first place."""


class Retrieval(NamedTuple):
    """What one retriever brought at one time.

    `nodes` is None where it raised `error`, or has not ended. `is_part` says that another
    retriever asked it.
    """

    retriever: str
    question: str | None
    nodes: tuple[NodeWithScore, ...] | None
    error: str | None
    is_part: bool


class Brought(NamedTuple):
    """What a call brought."""

    contexts: list[Context] | None
    error: str | None = None
    stages: list[Stage] | None = None

    def recorded(self, response: str | None) -> Recorded:
        """Return it as a retrieval that a sample takes."""
        calls = calls_of(self.stages or (), self.contexts)
        return Recorded(self.contexts, calls=calls, error=self.error, response=response)


class Capture:
    """What was seen of one call of an engine or a retriever, or of one block of code.

    Nodes stand as they were when they were handed on; nothing that happens later changes them.
    `question` is what the object was asked, `answer` the text that it returned (None for a stream
    and for a block), `error` what it raised. It can be read at any time; what has not ended by
    then is not in it.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

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
    def observed(self) -> bool:
        """Whether a retrieval was seen, or a synthesizer that was given nodes.

        Without a retrieval, as for an engine that reads its nodes from elsewhere, only `final` is
        known.
        """
        trace = self._trace()
        return bool(trace.retrievals) or final_nodes(trace) is not None

    @property
    def retrievals(self) -> tuple[Retrieval, ...]:
        """Every retrieval, in the order in which they began; failed ones too."""
        trace = self._trace()
        tops = set(top_retrievals(trace))
        return tuple(
            Retrieval(
                retriever=span.name,
                question=span.question,
                nodes=None if span.handed is None else span.handed.items,
                error=span.error,
                is_part=span not in tops,
            )
            for span in trace.steps
            if span.kind is Kind.RETRIEVAL and span not in trace.echoes
        )

    @property
    def retrieved(self) -> tuple[NodeWithScore, ...]:
        """What was retrieved, before any postprocessor.

        Retrievals that another retriever made are a part of its own. Several are joined in the
        order in which they began, and a node that several brought stands where it came first.
        """
        return retrieved_nodes(self._trace())

    @property
    def final(self) -> tuple[NodeWithScore, ...]:
        """What the synthesizers were given, or an agent by a retriever tool.

        Several are joined as in `retrieved`. Where there is neither, what the engine names as its
        sources, else what was left after the last postprocessor.

        Never among them: nodes that engines wrote themselves, as the answers to sub-questions.
        Sources that are numbered for citation stand as they were retrieved.
        """
        return final_nodes(self._trace()) or ()

    def nodes(self, which: Which = "final") -> tuple[NodeWithScore, ...]:
        """Return `final` or `retrieved`; raises `ParameterError` for another name."""
        return self.final if _checked(which) == "final" else self.retrieved

    def read(self, reader: NodeReader, which: Which = "final") -> Brought:
        """Return what was brought as contexts, with the stages before it, or why it is unknown.

        Raises `InputError` for nodes that `reader` cannot read.
        """
        nodes = self.nodes(which)
        if problem := self._problem(which):
            return Brought(None, problem)
        stages = node_stages(self._trace())
        if which == "retrieved":
            stages = feeding(stages, RETRIEVED)
        return Brought(
            reader.contexts(nodes),
            stages=[
                Stage(stage.name, tuple(reader.contexts(stage.nodes)), stage.into)
                for stage in stages
            ],
        )

    def sample(
        self,
        sample: Sample | Mapping[str, Any] | None = None,
        *,
        which: Which = "final",
        id_key: IdKey = "node_id",
        metadata_mode: MetadataMode | str = MetadataMode.NONE,
        offsets: bool = False,
        expand: BaseDocumentStore | None = None,
    ) -> Sample:
        """Return `sample`, which has the references, with what this call brought.

        - `which`: the list that is scored. "final" is what the answer was made from, after
          reranking and filtering; "retrieved" what the retrievers brought before.
        - `id_key`, `metadata_mode`, `offsets`, `expand`: those of `contexts`.

        The stages before that list stand in `Sample.stages`: "retrieved", the parts of a
        retriever that asks others, and each postprocessor, by class name. In async calls,
        LlamaIndex does not tell of a postprocessor with an async method of its own: what it left
        is the stage "before …" of the next one, or "final". Where it sends rerank events, as
        `StructuredLLMRerank` does, its stage is "reranker".

        A call that failed, and one in which no retrieval was seen, has a `retrieval_error`, so
        that scorers leave it unscored. Raises `InputError` for nodes without what `id_key` names.
        """
        reader = NodeReader(id_key, metadata_mode, offsets=offsets, expand=expand)
        if sample is None:
            sample = {"user_input": self.question}
        if not isinstance(sample, Sample):
            sample = Sample(**sample)
        return sample.with_retrieval(self.read(reader, which).recorded(self.answer))

    def __repr__(self) -> str:
        if self.error is not None:
            return f"<Capture of {self.question!r}: {self.error}>"
        retrieved, final = len(self.retrieved), len(self.final)
        return f"<Capture of {self.question!r}: {retrieved} retrieved, {final} final>"

    def _trace(self) -> Trace:
        return Trace(self._recording.spans, self._recording.owner)

    def _problem(self, which: Which) -> str | None:
        """Return why a list is not known, None where it is."""
        if self.error is not None:
            return self.error
        if self._recording.problems:
            return f"the call was not recorded completely: {self._recording.problems[0]}"
        trace = self._trace()
        if trace.retrievals or (which == "final" and final_nodes(trace) is not None):
            return None
        errors = dict.fromkeys(one.error for one in self.retrievals if one.error is not None)
        return "; ".join(errors) or (
            "no retrieval was seen: no retriever was asked, or in a thread that was started "
            "without copy_context()"
        )


def _checked(which: Which) -> Which:
    if which not in ("final", "retrieved"):
        raise ParameterError(f'which is "final" or "retrieved", got {which!r}')
    return which
