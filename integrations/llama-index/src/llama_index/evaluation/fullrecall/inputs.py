"""Read the arguments of one call of the evaluator as a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llama_index.core.agent.workflow import AgentOutput, ToolCallResult

from fullrecall import Retrieval, Sample
from fullrecall.errors import InputError
from fullrecall.observe import StepLog, brief
from fullrecall.samples.hits import contexts_of
from llama_index.evaluation.fullrecall.capture import answer_text, capture_in
from llama_index.evaluation.fullrecall.nodes import NodeLike, are_nodes
from llama_index.evaluation.fullrecall.reader import (
    NO_DOCUMENTS,
    NodeValueReader,
    documents_among,
    has_number_and_new_id,
    replaces_documents,
)
from llama_index.evaluation.fullrecall.record import UNSEEN, LlamaIndexReading, nodes_in, nodes_of
from llama_index.evaluation.fullrecall.recorder import question_text
from llama_index.evaluation.fullrecall.responses import (
    AnyResponse,
    is_response,
    response_text,
    says_that_nothing_was_retrieved,
)

_SAMPLE_NAMES = {name for field, others in Sample.names().items() for name in (field, *others)}
_RETRIEVAL_NAMES = {
    name
    for field in ("retrieved_contexts", "retrieved_context_ids", "retrieval")
    for name in (field, *Sample.names()[field])
}
_FRAMEWORK_NAMES = {"sleep_time_in_seconds"}
"""Arguments that LlamaIndex passes to every evaluator, used or not."""


class CallInput(NamedTuple):
    """A sample, its contexts' nodes, and the names of the unused arguments.

    `problem` is the reason why the arguments cannot be read as a sample, or None. `is_recorded` is
    False if the contexts are known only from the response.
    """

    sample: Sample
    nodes: Sequence[NodeLike] = ()
    unused: Sequence[str] = ()
    problem: str | None = None
    is_recorded: bool = True


class RetrievalWithNodes(NamedTuple):
    """The record of a retrieval, None if unknown, and the nodes from which it was read."""

    retrieval: Retrieval | None = None
    nodes: Sequence[NodeLike] = ()


def read_call(
    reading: LlamaIndexReading,
    *,
    query: object,
    response: object,
    contexts: object,
    named: Mapping[str, Any],
) -> CallInput:
    """Return an evaluation's arguments as a sample; raise `InputError` if this is impossible.

    The retrieved contexts are those given as arguments, or else those of the response.
    """
    question: Any = question_text(query) or query
    fields: dict[str, Any] = {"user_input": question, "response": answer_text(response)}
    fields |= {
        name: value for name, value in named.items() if name in _SAMPLE_NAMES and value is not None
    }
    retrieved = _only_one(
        contexts=contexts,
        retrieved_nodes=named.get("retrieved_nodes"),
        retrieved_contexts=fields.pop("retrieved_contexts", None),
    )
    retrieved_by = RetrievalWithNodes()
    if retrieved is None and fields.keys().isdisjoint(_RETRIEVAL_NAMES):
        retrieved_by = found_in(response, reading)
        fields["retrieval"] = retrieved_by.retrieval
    elif are_nodes(retrieved):
        retrieved_by = RetrievalWithNodes(None, retrieved)
        fields["retrieved_contexts"] = reading.contexts(retrieved)
    elif retrieved is not None:
        fields["retrieved_contexts"] = retrieved
    unused = named.keys() - _SAMPLE_NAMES - _FRAMEWORK_NAMES - {"retrieved_nodes"}
    if retrieved_by.retrieval is not None and retrieved_by.retrieval.response is not None:
        fields["response"] = retrieved_by.retrieval.response
    is_recorded = retrieved_by.retrieval is None or capture_in(response) is not None
    sample = Sample(**fields)
    return CallInput(sample, retrieved_by.nodes, sorted(unused), is_recorded=is_recorded)


def found_in(response: object, reading: LlamaIndexReading) -> RetrievalWithNodes:
    """Return the retrieval of a response: the record of its call, or else its source nodes.

    The record comes first, because an engine may rewrite or invent source nodes. Without a record,
    an empty list of source nodes counts only if the response says that no nodes were found;
    otherwise the retrieval has an error. A list of nodes is the retrieval itself. A text, or None,
    gives an unknown retrieval without an error.

    Raises `InputError` for nodes that the options cannot read.
    """
    capture = capture_in(response)
    if capture is not None:
        record = capture.retrieval(reading)
        own = response.source_nodes if is_response(response) else None
        if record.error != UNSEEN or not documents_among(own or ()):
            return RetrievalWithNodes(record, capture.nodes)
    if isinstance(response, AgentOutput):
        return _found_by_agent(response, reading)
    if is_response(response):
        return _found_in_response(response, reading)
    if response is None or isinstance(response, str):
        return RetrievalWithNodes()
    return _found_in_value(response, reading)


def _found_in_value(value: object, reading: LlamaIndexReading) -> RetrievalWithNodes:
    """Return the documents in a function's result: nodes, or any form that `contexts_of` reads."""
    nodes: Sequence[NodeLike]
    if are_nodes(value):
        nodes = documents_among(value)
        if value and not nodes:
            return RetrievalWithNodes(Retrieval(error=NO_DOCUMENTS))
        return RetrievalWithNodes(Retrieval(reading.contexts(nodes)), nodes)
    lists = [each for each in NodeValueReader().read(value).lists if each.certain]
    nodes = [each for listed in lists for each in nodes_of(listed.documents)]
    if len(lists) == 1 and nodes:
        return RetrievalWithNodes(Retrieval(reading.contexts(nodes)), nodes)
    return RetrievalWithNodes(Retrieval(contexts_of(value, strings_are_ids=True)))


def _found_in_response(response: AnyResponse, reading: LlamaIndexReading) -> RetrievalWithNodes:
    text, sources = response_text(response), response.source_nodes
    own = None if sources is None else documents_among(sources)
    if reading.id_key == "node_id" and any(map(has_number_and_new_id, own or ())):
        problem = (
            "the response's sources are numbered and have new IDs: ask it in "
            "`with capture_retrievals():`, or pass id_key='ref_doc_id'"
        )
        return RetrievalWithNodes(Retrieval(error=problem, response=text))
    if sources and any(map(replaces_documents, sources)):
        return RetrievalWithNodes(Retrieval(error=f"some of {NO_DOCUMENTS}", response=text))
    if own is None or (not own and not says_that_nothing_was_retrieved(response)):
        problem = (
            "the response names no source nodes, so what was retrieved is unknown: "
            "ask it in `with capture_retrievals():`, or pass retrieved_nodes=[…]"
        )
        return RetrievalWithNodes(Retrieval(error=problem, response=text))
    return RetrievalWithNodes(Retrieval(reading.contexts(own), response=text), own)


def _found_by_agent(output: AgentOutput, reading: LlamaIndexReading) -> RetrievalWithNodes:
    """Return the retrievals by an agent's tools, read from the agent's output.

    LlamaIndex lists the tool calls in the order in which they ended. Here the calls are sorted by
    ID, so that their timing has no effect.
    """
    log = StepLog(NodeValueReader())
    results = [
        each
        for each in output.tool_calls
        if isinstance(each, ToolCallResult) and not _searched_nothing(each)
    ]
    if not results and is_response(output.raw):  # A tool's result is the answer.
        return _found_in_response(output.raw, reading)
    for result in sorted(results, key=lambda each: each.tool_id):
        texts = [value for value in result.tool_kwargs.values() if isinstance(value, str)]
        query = texts[0] if len(texts) == 1 else repr(result.tool_kwargs)
        name, id_ = result.tool_name, result.tool_id
        step = log.begin(id_, None, "tool", name, callee=name)
        failed = brief(result.tool_output.content) if result.tool_output.is_error else None
        log.end(id_, result.tool_output, error=failed)
        if step is not None:
            # `log.end` treats an empty list as an empty search if the step has a query. Here, an
            # empty list does not prove that the tool searched, so set the query only now.
            step.query = query
    unseen = (
        "the agent's tools returned no nodes: pass observed(agent) to evaluate, or run it in "
        "`with capture_retrievals() as capture:` and pass the capture"
    )
    record = reading.record_of(log.steps, response=output.response.content, unseen=unseen)
    return RetrievalWithNodes(record, nodes_in(log.steps))


def _searched_nothing(result: ToolCallResult) -> bool:
    """Return whether a result is from a hand-off or a missing tool, which do not search."""
    name, content = result.tool_name, result.tool_output.content
    hands_over = name == "handoff" and {"to_agent", "reason"} == result.tool_kwargs.keys()
    return hands_over or (result.tool_output.is_error and f"Tool {name} not found" in content)


def read_texts(query: object, response: object) -> Sample:
    """Return a sample with only the question and the answer, if they are texts."""
    answer = response if isinstance(response, str) else None
    return Sample(user_input=question_text(query), response=answer)


def _only_one(**retrieved: object) -> object:
    passed = {name: value for name, value in retrieved.items() if value is not None}
    if len(passed) > 1:
        raise InputError(f"{' and '.join(passed)} mean the same: pass one", field=min(passed))
    return next(iter(passed.values()), None)
