"""The spans of one trace as the record of a retrieval."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from fullrecall.observe import DocumentCopy, DocumentList, Step, StepReading
from fullrecall.observe.failures import attempts_of
from fullrecall.observe.translation import TracedStep, TraceValueReader, number_events
from fullrecall.observe.tree import Tree
from fullrecall.samples.context import Context
from fullrecall.samples.id_keys import IdKey, id_at
from fullrecall.samples.identifiers import as_id
from fullrecall.samples.retrieval import Retrieval
from fullrecall.samples.sample import Sample

_SEARCHES = ("retriever", "reranker", "tool")

_LATEST = datetime.max.replace(tzinfo=UTC).timestamp() * 1e9
"""The latest time that a date can hold, in nanoseconds."""


@dataclass(frozen=True, kw_only=True)
class TraceReading(StepReading):
    """How the steps of traces are read.

    - `id_key`: the place of a document's ID: a key of its metadata, a dotted path, several paths,
      or a function that takes the document as a `Context`. Default: the document's own ID.
    """

    id_key: IdKey | None = None

    @property
    def changes_documents(self) -> bool:
        """Whether documents get other IDs than their own."""
        return self.id_key is not None

    def documents_of(self, copy: DocumentCopy, rank: int) -> tuple[DocumentCopy]:  # noqa: ARG002
        """Return a document with the ID that `id_key` finds, or without an ID if it finds none."""
        if self.id_key is None or not isinstance(copy.detail, Context):
            return (copy,)
        try:
            own_id = as_id(id_at(copy.detail, self.id_key)) or None
        except ValueError:
            own_id = None
        return (copy._replace(id=own_id),)


class Trace:
    """The spans of a trace as a tree; their beginnings and ends are numbered by time."""

    def __init__(self, spans: Iterable[TracedStep]) -> None:
        # An exporter that retries may write a span twice: keep the last span of each ID. Copy the
        # spans: this class changes them, and the caller may read them again while the traced code
        # is still running.
        copies = (replace(span, step=replace(span.step)) for span in spans)
        self._spans = {span.step.id: span for span in copies}
        ordered = sorted(self._spans.values(), key=lambda s: (s.start, s.end, s.step.name))
        self._tops = [span for span in ordered if span.step.parent not in self._spans]
        self._orphans = [
            top for top in self._tops if top.step.parent is not None and not top.remote_parent
        ]
        self._spans = {span.step.id: span for span in number_events(ordered)}
        self._fill_in_texts(span.step for span in self._spans.values())
        self._move_attempts()
        self._take_off_repeats()

    def sample(self, trace_id: str, reading: TraceReading) -> Sample:
        """Return a sample with the question, the retrieval and the answer of the trace.

        The sample's ID is the one that a span names (outermost spans first), or else the trace's
        ID. The trace's ID is always in `metadata["trace_id"]`. `metadata["started"]` is the time at
        which the trace's first span began, as ISO 8601 in UTC; it is left out if a span has no
        time.
        """
        metadata = {"trace_id": trace_id}
        began = min((span.start for span in self._spans.values()), default=0)
        if 0 < began < _LATEST:
            metadata["started"] = datetime.fromtimestamp(began // 10**9, UTC).isoformat()
        return Sample(
            id=next((s.sample_id for s in self._spans.values() if s.sample_id), trace_id),
            user_input=self._question,
            retrieval=self.retrieval(reading),
            metadata=metadata,
        )

    @property
    def _question(self) -> str | None:
        """The question of the only outermost span that has one, or else that of all retrievers.

        None if neither exists: no or several outermost spans have a question, and the retrievers
        have none or different ones.
        """
        tops = [top.question for top in self._tops if top.question is not None]
        if len(tops) == 1:
            return tops[0]
        spans = self._spans.values()
        questions = {span.question for span in spans if span.step.kind == "retriever"} - {None}
        return questions.pop() if len(questions) == 1 else None

    def retrieval(self, reading: TraceReading, output: object = None) -> Retrieval:
        """Return the retrieval of the trace.

        `output` is the output of the whole traced call; it takes precedence over the outputs of the
        outermost spans.
        """
        steps = [span.step for span in self._spans.values()]
        if not self._prompts_are_whole():
            steps = [replace(step, prompt=None) for step in steps]
        root = self._root
        if output is not None:
            lists, texts = TraceValueReader().read_result(output)
            call = Step("call", None, "chain", "call", returned=lists, texts=texts)
            call.ended = 2 * len(steps) + 1
            root, steps = call.id, [call, *steps]
            self._fill_in_texts(steps)
        return reading.record_of(
            steps,
            root=root,
            question=self._question,
            response=output if isinstance(output, str) else self._response,
            partial=self._partial(),
            unseen=self._unseen(),
        )

    @property
    def _root(self) -> Hashable | None:
        """The ID of the span that traces the whole call, or None.

        It is the only outermost span, unless that is a retriever, a reranker or a tool.
        """
        if len(self._tops) != 1 or self._tops[0].step.kind in _SEARCHES:
            return None
        return self._tops[0].step.id

    @property
    def _response(self) -> str | None:
        """The answer of the only outermost span that is not a retriever or a reranker, or None."""
        responses = [top.response for top in self._tops if not top.step.retrieves]
        return responses[0] if len(responses) == 1 else None

    def _fill_in_texts(self, steps: Iterable[Step]) -> None:
        """Give documents without a text the text that other steps have for their ID.

        An ID with several texts is left out.
        """
        steps = list(steps)
        copies: dict[str, DocumentCopy | None] = {}
        for copy in _copies(steps):
            if copy.id is not None and copy.text:
                first_copy = copies.setdefault(copy.id, copy)
                if first_copy is not None and first_copy.text != copy.text:
                    copies[copy.id] = None  # an ID with several texts

        def filled(listed: DocumentList) -> DocumentList:
            documents = (c if c.text else copies.get(c.id or "") or c for c in listed.documents)
            return listed._replace(documents=tuple(documents))

        for step in steps:
            step.given, step.returned = (
                tuple(map(filled, step.given)),
                tuple(map(filled, step.returned)),
            )

    def _move_attempts(self) -> None:
        """Make each attempt of a run with fallbacks a call of that run.

        LangChain reports the attempts as calls of the run's caller. Inner runs are changed first.
        """
        beside: dict[Hashable, list[Step]] = {}
        for span in self._spans.values():
            beside.setdefault(span.step.parent, []).append(span.step)
        for step in reversed([span.step for span in self._spans.values() if span.step.tries]):
            others = (each for each in beside[step.parent] if each.parent == step.parent)
            for attempt in attempts_of(step, others) if step.parent in self._spans else ():
                attempt.parent = step.id

    def _take_off_repeats(self) -> None:
        """Remove the data that a span repeats from its caller.

        A span loses its graph's task if the caller has the same task. The inner method of a
        retriever loses its lists and texts, since the retriever itself has them.
        """
        tasks = {own: span.step.task for own, span in self._spans.items()}
        for span in self._spans.values():
            step = span.step
            if step.task == tasks.get(step.parent):
                step.task = step.group = None
            around = self._spans[step.parent].step if step.parent in self._spans else None
            is_inner = span.is_inner and step.kind == "retriever" and step.error is None
            if around and is_inner and (around.kind, around.name) == (step.kind, step.name):
                step.kind, step.given, step.returned, step.texts = "chain", (), (), ()

    def _prompts_are_whole(self) -> bool:
        """Return whether each model's prompt is known, from its span or an inner model's span."""
        models = [span.step for span in self._spans.values() if span.step.kind == "llm"]
        callers = {step.parent for step in models}
        return all(step.prompt is not None or step.id in callers for step in models)

    def _partial(self) -> str | None:
        tree = Tree(span.step for span in self._spans.values())
        cut = (step for orphan in self._orphans for step in tree.below(orphan.step))
        if any(step.kind in _SEARCHES or step.returned for step in cut):
            return (
                "the trace is cut: the span that called a retriever is missing. Export whole traces"
            )
        unknown = self._unknown_attributes()
        if unknown is not None:
            return f"{unknown}: its attributes are not of a known version of a convention"
        problems = (
            f"{span.step.name}: {span.problem}" for span in self._spans.values() if span.problem
        )
        return next(problems, None)

    def _unknown_attributes(self) -> str | None:
        """Return a note on data that instrumentors always write but no span has, or None.

        A single span may lack such data, since the application may have created the span itself.
        """
        spans = list(self._spans.values())
        chains = [span for span in spans if span.step.kind not in ("llm", *_SEARCHES)]
        holds = any(span.step.returned or span.step.given for span in spans)
        # Conventions rename attributes between versions: a score of partly read spans would be
        # wrong.
        if holds and not any(span.step.kind in _SEARCHES for span in spans):
            return "no span says that it retrieves"
        tools = [span for span in spans if span.step.kind == "tool"]
        outputs = {span.has_output for span in tools}
        if any(span.has_input for span in tools) and outputs <= {False}:
            return "no tool says what it returned"  # It is also unknown whether a tool failed.
        textless = self._without_text() if any(span.step.prompt for span in spans) else None
        if textless is not None:
            return f"no span has the text of the document {textless!r}"
        if len(chains) < 2:  # noqa: PLR2004 - the application's own
            return None
        if not any(span.has_input for span in chains):
            return "no span says what it was given"
        has_outputs = [span.has_output for span in chains if span.has_output is not None]
        is_known = len(has_outputs) < 2 or any(has_outputs)  # noqa: PLR2004 - as above
        return None if is_known else "no span says what it returned"

    def _without_text(self) -> str | None:
        """Return the ID of a retrieved document whose text no span has; None if there is none."""
        steps = [span.step for span in self._spans.values()]
        texts = {copy.id for copy in _copies(steps) if copy.text}
        searches = [step for step in steps if step.retrieves]
        references = (
            copy.id
            for step in searches
            for listed in step.returned
            for copy in listed.documents
            if copy.detail is None and not copy.text
        )
        return next((own_id for own_id in references if own_id not in texts), None)

    def _unseen(self) -> str:
        """Return the reason why no retrieval was observed."""
        failed = next((top.step.error for top in self._tops if top.step.error), None)
        return "no retriever was traced" if failed is None else f"the run failed: {failed}"


def _copies(steps: Iterable[Step]) -> Iterator[DocumentCopy]:
    """Yield every document in the steps."""
    for step in steps:
        for listed in (*step.given, *step.returned):
            yield from listed.documents
