"""Translate the attributes of one span to a step; if its output is incomplete, note why."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fullrecall.errors import InputError
from fullrecall.observe import DocumentCopy, DocumentList, Step, StepKind, ValueReader, conventions
from fullrecall.observe.messages import REDACTED, answer_of, question_of, users_in
from fullrecall.observe.span import Span, below, left_early, numbered, parsed
from fullrecall.observe.values import copy_of
from fullrecall.samples.context import Context
from fullrecall.samples.hits import context_of, contexts_of
from fullrecall.samples.identifiers import as_id

# The SDK's default limit is 128 attributes. With it, LangChain's spans of 63 documents lose every
# ID without a warning.
_COUNT_LIMIT = "set OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000 where the application runs"
_HIDDEN = "its documents were hidden: OPENINFERENCE_HIDE_* is set"
_METHOD = re.compile(r"_?a?(retrieve|postprocess_nodes|forward)|run|run_async|__call__")
"""The methods of LlamaIndex, DSPy and Haystack that do an object's main work; see `source_of`."""


@dataclass(slots=True, eq=False)
class TracedStep:
    """A span translated to a step; `number_events` then sets the step's `began` and `ended`.

    - `start`, `end`: in nanoseconds.
    - `remote_parent`: whether its caller ran in another process.
    - `has_input`, `has_output`: whether a known attribute has its input and its output;
      `has_output` is None for a span that raised instead of returning.
    - `is_inner`: whether it is the inner method of a call, such as `_retrieve` within `retrieve`.
    - `problem`: why its output is incomplete; None if it is complete.
    - `question`, `response`, `sample_id`: the question, the answer and the sample's ID in its
      attributes; those of the outermost span belong to the whole run.
    - `is_open`: whether it has not ended.
    """

    step: Step
    start: float
    end: float
    remote_parent: bool
    problem: str | None = None
    question: str | None = None
    response: str | None = None
    sample_id: str | None = None
    is_open: bool = False
    is_inner: bool = False
    has_input: bool = True
    has_output: bool | None = True


def step_of(span: Span) -> TracedStep:
    """Translate a span to a step; drop the span's other data."""
    return _Translation(span).step()


def number_events(spans: Sequence[TracedStep]) -> list[TracedStep]:
    """Number the spans' beginnings and ends by time; at equal times, by the nesting of the calls.

    Returns the spans in the order in which they began.
    """
    ids = {span.step.id for span in spans}
    below: dict[Hashable, list[TracedStep]] = {}
    for span in spans:
        parent = span.step.parent
        below.setdefault(parent if parent in ids else None, []).append(span)
    first = min((span.start for span in spans), default=0)
    events: list[tuple[float, TracedStep, bool]] = []
    stack = [(top, False) for top in reversed(below.get(None, ()))]
    while stack:
        span, ends = stack.pop()
        if not ends:
            events.append((span.start, span, False))
            stack.append((span, True))
            for child in reversed(below.get(span.step.id, ())):
                child.start = max(child.start, span.start)  # the clocks of two machines may differ
                stack.append((child, False))
            continue
        span.end = max(span.end, span.start)
        span.step.seconds = (span.end - first) / 1e9
        if not span.is_open:
            events.append((span.end, span, True))
    events.sort(key=lambda event: event[0])
    for moment, (_, span, ends) in enumerate(events, start=1):
        setattr(span.step, "ended" if ends else "began", moment)
    return [span for _, span, ends in events if not ends]


class TraceValueReader(ValueReader):
    """Finds documents in JSON, in frameworks' objects, and in the printed form of these objects."""

    def document(self, value: Any) -> DocumentCopy | None:
        """Return a copy of a document of LangChain, LlamaIndex or Haystack; None for other values.

        The document may be a JSON object, a printed repr, or an object of the framework.
        """
        if isinstance(value, str):
            match = conventions.REFERENCE.match(value)
            return match and DocumentCopy(0, match[1] or match[2], "")
        if isinstance(value, Mapping):
            is_document = isinstance(value.get("page_content"), str)
        else:
            is_document = any(all(hasattr(value, f) for f in fields) for fields in _DOCUMENT_FIELDS)
        return copy_of(contexts_of([value])[0]) if is_document else None

    def _document(self, value: object) -> DocumentCopy | None:
        # Clear the identity: the object was made for this span, so no other step has it.
        copy = super()._document(value)
        return copy and copy._replace(token=0)


_DOCUMENT_FIELDS = (("page_content",), ("get_content", "metadata"), ("content", "meta", "id"))


class _Translation:
    """Translates one span to a step."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._raw_output = self._first(conventions.OUTPUT)
        self._has_output: bool | None = self._raw_output is not None
        if self._raw_output is None and (span.error or span.departure):
            self._has_output = None
            self._raw_output = None if span.error else span.departure
        self._input, self._output = parsed(self._first(conventions.INPUT)), parsed(self._raw_output)
        values = (parsed(span.attributes.get(name)) for name in conventions.KIND)
        kinds = (conventions.KINDS.get(value.lower()) for value in values if isinstance(value, str))
        self._kind: StepKind = next((kind for kind in kinds if kind is not None), "chain")
        self._problem: str | None = None

    def step(self) -> TracedStep:
        span, kind = self._span, self._kind
        query = self._first(conventions.QUERY)
        question = question_of(self._input) if query is None else str(query) or None
        is_tool = kind == "tool"
        name = str((is_tool and self._first(conventions.TOOL)) or source_of(span.name))
        metadata = parsed(span.attributes.get("metadata"))
        metadata = metadata if isinstance(metadata, Mapping) else {}
        given_lists = self._given()
        step = Step(
            span.span_id,
            span.parent_id,
            kind,
            name,
            given=given_lists,
            prompt=self._prompt() if kind == "llm" else None,
            asked=self._asked() if kind == "llm" else (),
            query=str(self._input) if is_tool else question,
            error=None if span.error and left_early(span.error) else span.error,
            callee=name if is_tool else None,
            task=_text_at(metadata, "langgraph_checkpoint_ns"),
            answers=any(each.path and each.path[0] in conventions.ANSWERED for each in given_lists),
            reorders=name in conventions.REORDERINGS,
            tries=name == conventions.FALLBACKS,
            group=_text_at(metadata, "langgraph_step"),
            branch=conventions.number_of_task(parsed(metadata.get("langgraph_path"))),
        )
        if step.error is None:
            self._end(step)
        return TracedStep(
            step,
            span.start,
            span.end,
            span.remote_parent,
            self._problem,
            question,
            answer_of(self._output),
            _as_id(span.attributes.get(conventions.SAMPLE_ID, metadata.get(conventions.SAMPLE_ID))),
            is_inner=span.name.startswith(f"{name}._"),
            has_input=self._input is not None or query is not None,
            has_output=self._has_output,
        )

    def _first(self, names: Sequence[str]) -> Any:
        values = (self._span.attributes.get(name) for name in names)
        return next((value for value in values if value is not None), None)

    # Input

    def _given(self) -> tuple[DocumentList, ...]:
        if self._kind == "llm":
            return ()
        if self._kind in conventions.GIVEN_DOCUMENTS:
            copies, _ = _single_documents(self._span, conventions.GIVEN_DOCUMENTS[self._kind])
            if copies:
                return (DocumentList((), copies),)
        return TraceValueReader().read(self._input).lists

    def _prompt(self) -> tuple[str, ...] | None:
        """Return the messages sent to a model; None if some of them are missing or hidden."""
        if self._span.dropped:
            return None
        attributes = self._span.attributes
        texts: list[str] = []
        for prefix, ends in conventions.MESSAGES.items():
            texts += [str(v) for name, v in below(attributes, prefix) if name.endswith(ends)]
        for name in conventions.PROMPTS:
            texts += ValueReader().read(parsed(attributes.get(name))).texts
        texts = texts or list(ValueReader().read(self._input).texts)
        return None if not texts or REDACTED in texts else tuple(texts)

    def _asked(self) -> tuple[str, ...]:
        """Return the users' messages in the prompt of a model."""
        messages = numbered(self._span.attributes, conventions.INPUT_MESSAGES, "message")
        return users_in([*messages.values()])

    # Output

    def _end(self, step: Step) -> None:
        if step.retrieves:
            copies = self._documents(conventions.DOCUMENTS[step.kind])
            step.returned = () if copies is None else (DocumentList((), copies),)
            return
        if self._output is None and self._span.dropped and step.kind != "llm":
            self._problem = self._dropped()
        TraceValueReader().end(step, self._output, ends_call=False)

    def _documents(self, prefix: str) -> tuple[DocumentCopy, ...] | None:
        """Return the list that a retriever or a reranker returned; None if it is incomplete."""
        if self._span.dropped:
            self._problem = self._dropped()
            return None
        single, problem = _single_documents(self._span, prefix)
        copies = None if problem else single
        written = self._written()
        if written is not None and (copies is None or len(written) == len(copies)):
            # One attribute has the whole list, with IDs that the numbered attributes lack.
            copies = tuple(map(_united, written, copies)) if copies else written
        elif copies is None and REDACTED in (self._raw_output, self._span.attributes.get(prefix)):
            self._problem = _HIDDEN
        else:
            self._problem = self._cut(copies) if copies else problem
        if copies and all(not copy.id and copy.text in ("", REDACTED) for copy in copies):
            self._problem = _HIDDEN
        return None if self._problem else copies

    def _written(self) -> tuple[DocumentCopy, ...] | None:
        """Return the list of documents in a single attribute or in the output, or None.

        Returns None if neither has a list, or if a text in the list is not a document's `repr`.
        """
        value: Any = parsed(self._span.attributes.get(conventions.DOCUMENT_LIST))
        if value is None:
            value = self._output
        if isinstance(value, Mapping):
            value = value.get("documents")
        if not isinstance(value, list):
            return None
        reader = TraceValueReader()
        if any(isinstance(each, str) and reader.copy(each) is None for each in value):
            return None
        try:
            return reader.read_documents(value).documents
        except InputError:
            return None

    def _dropped(self) -> str:
        return f"{self._span.dropped} of its attributes were dropped: {_COUNT_LIMIT}"

    def _cut(self, copies: Sequence[DocumentCopy]) -> str | None:
        """Return a note if a character limit cut the output, so that it is not JSON; else None."""
        raw = self._output
        if not isinstance(raw, str) or raw[:1] not in ("{", "["):
            return None
        # A limit cuts all values of a span to one length.
        if any(copy.id is None or len(copy.text) == len(raw) for copy in copies):
            return (
                f"its values were cut at {len(raw)} characters: unset "
                "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT where the application runs"
            )
        return None


def source_of(name: str) -> str:
    """Return the name of the called object: `BM25Retriever` for `BM25Retriever.retrieve`."""
    owner, _, method = name.rpartition(".")
    return owner if owner and _METHOD.fullmatch(method) else name


def _single_documents(
    span: Span, prefix: str
) -> tuple[tuple[DocumentCopy, ...] | None, str | None]:
    """Return the documents in numbered attributes, and the reason why some are missing.

    The documents are None if the span has no such list; the reason is None if all are there.
    """
    fields = numbered(span.attributes, prefix, "document")
    if not fields:
        empty = span.attributes.get(prefix)
        return (() if isinstance(empty, (list, tuple)) and not empty else None), None
    copies = tuple(copy for each in fields.values() if (copy := _single_document(each)) is not None)
    if len(copies) != max(fields) + 1:
        return copies, f"some of its {max(fields) + 1} documents are missing: {_COUNT_LIMIT}"
    return copies, None


def _single_document(fields: Mapping[str, Any]) -> DocumentCopy | None:
    metadata = parsed(fields.get("metadata"))
    if not isinstance(metadata, Mapping):
        metadata = dict(below(fields, "metadata"))  # Phoenix keeps the value as a struct.
    row = {name: fields.get(name) for name in ("content", "score")}
    try:
        context = context_of({**row, "id": _as_id(fields.get("id")), "metadata": metadata})
    except ValueError:
        return None
    return copy_of(context)


def _united(copy: DocumentCopy, other: DocumentCopy) -> DocumentCopy:
    """Return the document of `copy`; the fields that it lacks come from that of `other`."""
    own = copy.detail or Context(copy.text or None, id=copy.id)
    fields = {name: value for name, value in own.to_dict().items() if value not in ("", {})}
    return copy_of(Context(**{**other.detail.to_dict(), **fields}))


def _text_at(metadata: Mapping[str, Any], name: str) -> str | None:
    return None if metadata.get(name) is None else str(metadata[name])


def _as_id(value: object) -> str | None:
    try:
        return None if value is None else as_id(value) or None
    except ValueError:
        return None
