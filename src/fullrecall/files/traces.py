"""Read traces as samples: spans from files, frames and exporters, joined with references."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any

from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files.containers import kind_of, rows_of_file
from fullrecall.files.frames import rows_of
from fullrecall.files.row_paths import NumberedRows
from fullrecall.files.rows import each_row, in_file
from fullrecall.files.text_files import existing_file
from fullrecall.observe.reading import ToolDocuments
from fullrecall.observe.sources import spans_in
from fullrecall.observe.trace import Trace, TraceReading
from fullrecall.observe.translation import TracedStep, step_of
from fullrecall.samples.id_keys import IdKey
from fullrecall.samples.retrieval import FailedCalls, Retrieval
from fullrecall.samples.sample import Sample


def from_spans(
    spans: Any,
    *,
    id_key: IdKey | None = None,
    failed_calls: FailedCalls = "unscored",
    other_tools: Collection[str] = (),
    tool_documents: ToolDocuments = None,
) -> Iterator[Sample]:
    """Return one sample per trace, in the order in which the traces started.

    `spans` are the finished spans of OpenTelemetry's SDK, objects of OTLP JSON, or the result of
    Phoenix's `get_spans_dataframe()` or MLflow's `search_traces()`, as a frame or a list. It may
    also be the path of a file: OTLP JSON (one object, or one on each line, as OpenTelemetry's file
    exporters write it), a frame of Phoenix saved as JSON Lines or Parquet, or MLflow traces as
    JSON; all but Parquet may be gzipped. Spans of a trace may be anywhere in the file, so all
    retrievals are read into memory first.

    A sample has the question and the answer of the outermost span, the record of the retrieval, and
    the trace's ID in its metadata. The sample's ID is the trace's ID, unless a span has another ID
    in the attribute `fullrecall.sample_id`. A trace whose spans were cut, hidden or lost is
    unscored.

    - `id_key`: the place of a document's ID: a key of its metadata, a dotted path, several paths,
      or a function that takes the document as a `Context`. Default: the document's own ID.
    - `failed_calls`: "unscored" leaves a trace with a failed call unscored; "score" scores the
      results of its other calls.
    - `other_tools`: names of tools that return text but retrieve nothing.
    - `tool_documents`: a mapping from a tool's name to a function that returns the documents in the
      tool's result. Default: hits in lists, in envelopes such as {"results": […]}, and in JSON
      texts of both.

    Raises `InputError` with the line, or the item's number (from 1), for an item that is not a
    span.
    """
    reading = TraceReading(
        id_key=id_key,
        failed_calls=failed_calls,
        other_tools=other_tools,
        tool_documents=tool_documents,
    )
    if not isinstance(spans, (str, os.PathLike)):
        return samples_of_spans(enumerate(rows_of(spans), start=1), reading)
    file = existing_file(spans)
    # Files with any other ending are read as JSON or JSON Lines, by their content.
    kind = "parquet" if kind_of(file) == "parquet" else "json"
    return in_file(file, samples_of_spans(rows_of_file(file, kind), reading))


class Joined(list[Sample]):
    """Samples with references.

    `left_out` counts the samples that were left out, since they have no references; `unasked`
    counts how many of these samples have no question.
    """

    left_out = 0
    unasked = 0


def with_references(samples: Iterable[Sample], references: Iterable[Sample]) -> Joined:
    """Return the samples that have references, with the references, in the order of `samples`.

    A sample gets the references with the same ID, else with the same question (ignoring white
    space). Samples with the same references are one group, since they are not independent.
    References that match no sample follow at the end, unscored. Samples without references are left
    out: the list's `left_out` counts them, and `unasked` counts how many of them have no question.
    Raises `InputError` if two references have the same ID. Also raises it if no reference has the
    ID of a sample, and several references have the sample's question.
    """
    joined = Joined()
    listed = list(references)
    by_id: dict[str | None, Sample] = {}
    by_question: defaultdict[str | None, list[Sample]] = defaultdict(list)
    for number, reference in enumerate(listed, start=1):
        if not isinstance(reference, Sample):
            raise InputError(f"expected a Sample, got {shown(reference)}", line=number)
        if reference.id is not None and reference.id in by_id:
            problem = f"two references have the id {reference.id!r}: keep one"
            raise InputError(problem, line=number, field="id")
        by_id[reference.id] = reference
        by_question[_folded(reference.user_input)].append(reference)
    # A sample without an ID or a question must not match a reference without one.
    by_id.pop(None, None)
    by_question.pop(None, None)
    met: set[int] = set()
    for sample in samples:
        question = _folded(sample.user_input)
        same = [by_id[sample.id]] if sample.id in by_id else by_question.get(question, [])
        if len(same) > 1:
            raise InputError(
                f"{len(same)} references ask {shown(question)}: name the sample's id "
                "in the trace, in the span attribute fullrecall.sample_id",
                field="user_input",
            )
        if same:
            met.add(id(same[0]))
            joined.append(_merged(sample, same[0]))
        else:
            joined.left_out += 1
            joined.unasked += question is None
    lost = Retrieval(error="no trace asks this question")
    joined += [each.with_retrieval(lost) for each in listed if id(each) not in met]
    return joined


_RETRIEVED = ("retrieved_contexts", "retrieved_context_ids", "retrieval", "response")


def _merged(sample: Sample, reference: Sample) -> Sample:
    traced = sample.to_dict()
    fields = {n: value for n, value in reference.to_dict().items() if n not in _RETRIEVED}
    fields |= {name: traced[name] for name in _RETRIEVED if name in traced}
    fields.setdefault("user_input", sample.user_input)
    if "id" not in fields:
        fields["id"] = sample.id
        fields.setdefault("group", reference.user_input)
    fields["metadata"] = {**sample.metadata, **reference.metadata}
    return Sample(**fields)


def _folded(question: str | None) -> str | None:
    return None if question is None else " ".join(question.split())


def samples_of_spans(rows: NumberedRows, reading: TraceReading) -> Iterator[Sample]:
    """Yield one sample per trace in numbered rows; raise `InputError` for a row without a span."""
    traces = _traces(rows)
    # Sort by start time, since Phoenix returns the newest trace first.
    order = sorted(traces, key=lambda name: min(step.start for step in traces[name]))
    for trace_id in order:
        yield Trace(traces.pop(trace_id)).sample(trace_id, reading)


def _traces(rows: NumberedRows) -> dict[str, list[TracedStep]]:
    """Return the steps of each trace, by its ID; raise `InputError` if there are no spans."""
    traces: dict[str, list[TracedStep]] = {}

    def steps_in(row: object) -> list[tuple[str, TracedStep]]:
        return [(span.trace_id, step_of(span)) for span in spans_in(row)]

    for trace_id, step in chain.from_iterable(each_row(rows, steps_in)):
        traces.setdefault(trace_id, []).append(step)
    if not traces:
        raise InputError("holds no spans")
    return traces
