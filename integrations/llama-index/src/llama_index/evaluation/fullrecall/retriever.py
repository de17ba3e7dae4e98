"""Adapt LlamaIndex's retrievers, engines, agents and workflows as `Retriever`s of `evaluate`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator
from copy import copy
from functools import partial
from inspect import isawaitable
from typing import Any, NamedTuple, TypeAlias

from llama_index.core.agent.workflow import AgentOutput, AgentWorkflow, BaseWorkflowAgent
from llama_index.core.async_utils import asyncio_run
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.indices.base import BaseIndex
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.schema import MetadataMode
from llama_index.core.storage.docstore.types import BaseDocumentStore
from llama_index.core.workflow import StartEvent, Workflow

from fullrecall import Context, Retrieval, Sample
from fullrecall.errors import ParameterError
from fullrecall.observe import ROOT, ToolDocuments, joined
from fullrecall.observe.messages import message_of
from fullrecall.run.retrievers import as_retrieval, asked_of, history_of, is_awaited, takes_history
from fullrecall.samples.id_keys import IdKey
from fullrecall.samples.identifiers import is_texts
from fullrecall.samples.retrieval import FailedCalls
from llama_index.evaluation.fullrecall.capture import answer_text
from llama_index.evaluation.fullrecall.depth import deeper
from llama_index.evaluation.fullrecall.inputs import found_in
from llama_index.evaluation.fullrecall.listening import recording, unrecorded
from llama_index.evaluation.fullrecall.nodes import got
from llama_index.evaluation.fullrecall.record import UNSEEN, LlamaIndexReading
from llama_index.evaluation.fullrecall.recorder import LlamaIndexRecorder
from llama_index.evaluation.fullrecall.responses import is_response
from llama_index.evaluation.fullrecall.selfcheck import broken

LlamaIndexObservable: TypeAlias = (
    BaseRetriever
    | BaseIndex[Any]
    | BaseQueryEngine
    | BaseChatEngine
    | Workflow
    | Callable[[Any], Any]
    | Callable[[Any, Any], Any]
)
"""A retriever, an index, a query engine, a chat engine, an agent or another workflow; or a
function of the question, and of `history` if it takes that, sync or async."""

_AGENTS = (BaseWorkflowAgent, AgentWorkflow)
_CHAT_HISTORY = "chat_history"
_ROLES = {"human": "user", "ai": "assistant"}
"""LlamaIndex's roles for those of LangChain, which a sample's history may have."""


def observed(
    retriever: LlamaIndexObservable,
    /,
    *,
    argument: str | None = None,
    id_key: IdKey = "node_id",
    metadata_mode: MetadataMode | str = MetadataMode.NONE,
    expand: BaseDocumentStore | None = None,
    failed_calls: FailedCalls = "unscored",
    other_tools: Collection[str] = (),
    tool_documents: ToolDocuments = None,
) -> ObservedLlamaIndexRetriever:
    """Return a retriever, engine, agent or workflow as a retriever for `evaluate` and `diagnose`.

        evaluate(samples, IdRecall(), retriever=observed(agent, id_key="source"))

    Each call records the results of every retriever and postprocessor inside, and the prompts of
    models.

    - `argument`: the name under which a workflow's `run` takes the question. Default: `user_msg`
      for agents; for other workflows, the only required field of the start event, else `query`.
    - `id_key`, `metadata_mode`, `expand`: those of `contexts`.
    - `failed_calls`: "unscored" (default) leaves a sample unscored if a call failed and no retry
      or fallback succeeded; "score" scores the results of the other calls, with a note.
    - `other_tools`: names of tools that return text but do not retrieve. Any other tool that
      returns a long text without known documents leaves a sample unscored.
    - `tool_documents`: by the name of a tool, a function that returns the documents in its result.
      Default: hits in lists, in envelopes such as {"results": […]}, and in JSON text of these.

    A chat engine or an agent gets each question in a conversation of its own. A sample's
    conversation, `metadata["history"]`, goes before the question. Chat engines and agents get it as
    `chat_history`. A workflow gets it if its start event has a field `chat_history` or `history`,
    and a function if it has a parameter `history`. A streamed answer of an engine is not read, and
    has no text; a generator is read to its end.

    Contexts in the output take precedence: nodes, texts, dicts or `Context`s. A sample
    without a known retrieval is unscored. Warns once if a sample's expected IDs are those of
    another `id_key`.

    Raises `ParameterError` for an object that cannot be asked.
    """
    if isinstance(retriever, type):
        raise ParameterError(f"expected a retriever, an engine or an agent, {got(retriever)}")
    if isinstance(retriever, BaseIndex):
        retriever = retriever.as_retriever()
    reading = LlamaIndexReading(
        id_key=id_key,
        metadata_mode=metadata_mode,
        expand=expand,
        failed_calls=failed_calls,
        other_tools=other_tools,
        tool_documents=tool_documents,
    )
    return ObservedLlamaIndexRetriever(retriever, _ask_functions(retriever, argument), reading)


class ObservedLlamaIndexRetriever:
    """A LlamaIndex object as a `fullrecall.samples.Retriever`.

    `asynchronous` is True if the object has no blocking call: `retrieve` then runs `aretrieve` in
    an event loop. A retriever can also be called with a question and k, for `diagnose`: it then
    returns its first k contexts.
    """

    def __init__(
        self, retriever: Any, functions: _AskFunctions, reading: LlamaIndexReading
    ) -> None:
        self._retriever = retriever
        self._functions = functions
        self._reading = reading
        self.asynchronous = functions.ask is None

    def __repr__(self) -> str:
        name = getattr(self._retriever, "__name__", None) or type(self._retriever).__name__
        return f"observed({name})"

    def retrieve(self, sample: Sample, /) -> Retrieval:
        """Return the record of the retrieval for the sample's question."""
        if self._functions.ask is None:
            retrieval: Retrieval = asyncio_run(self.aretrieve(sample))
            return retrieval
        question = asked_of(sample)
        history = _before(sample, self._functions.history)
        with recording(ROOT) as recorder:
            self._begin(recorder, question)
            answer = _read_out(self._functions.ask(question, **history))
            recorder.log.end_call(answer)
        return self._read(sample, answer, recorder)

    async def aretrieve(self, sample: Sample, /) -> Retrieval:
        """Return the same as `retrieve`, without blocking unless the wrapped object blocks."""
        question = asked_of(sample)
        history = _before(sample, self._functions.history)
        with recording(ROOT) as recorder:
            self._begin(recorder, question)
            answer = self._functions.aask(question, **history)
            if isawaitable(answer):
                answer = await answer
            if isinstance(answer, AsyncIterator):
                answer = joined([part async for part in answer])
            answer = _read_out(answer)
            recorder.log.end_call(answer)
        return self._read(sample, answer, recorder)

    def _begin(self, recorder: LlamaIndexRecorder, question: str) -> None:
        # LlamaIndex reports a span for each call of a retriever, even of a subclass that overrides
        # the called method. For any other object, record the call here.
        if not isinstance(self._retriever, BaseRetriever):
            recorder.log.begin_call(question)

    def __call__(self, question: str, k: int) -> list[Context]:
        """Return a retriever's first `k` contexts, or all if there are fewer.

        Raises `ParameterError` for an object that is not a retriever or has no
        `similarity_top_k`.
        """
        if not isinstance(self._retriever, BaseRetriever):
            raise ParameterError(f"only a retriever can search deeper, {got(self._retriever)}")
        with unrecorded():
            nodes = deeper(self._retriever, k).retrieve(question)
        return self._reading.contexts(nodes)[:k]

    def _read(self, sample: Sample, answer: object, recorder: LlamaIndexRecorder) -> Retrieval:
        if isinstance(answer, Retrieval):
            return answer
        record = self._reading.record_of(
            recorder.steps,
            root=ROOT,
            response=answer_text(answer),
            partial=broken() or recorder.problem,
            unseen=UNSEEN,
        )
        are_ids = isinstance(answer, (list, tuple)) and bool(answer) and is_texts([*answer])
        is_whole = record.error is None and record.retrieved == record.contexts
        is_known = record.error != UNSEEN and not (are_ids and is_whole)
        if is_known or answer is None or isinstance(answer, str):
            return record
        if is_response(answer) or isinstance(answer, AgentOutput):
            return found_in(answer, self._reading).retrieval or record
        return as_retrieval(answer, sample)


class _AskFunctions(NamedTuple):
    """The functions that ask an object: `ask` blocks, and is None if only `aask` exists.

    `history` is the argument that takes the conversation before the question.
    """

    ask: Callable[..., Any] | None
    aask: Callable[..., Any]
    history: str | None = None


def _ask_functions(retriever: object, argument: str | None) -> _AskFunctions:
    if argument is not None and not isinstance(retriever, Workflow):
        raise ParameterError(f"argument is for workflows, {got(retriever)}")
    if isinstance(retriever, BaseRetriever):
        return _AskFunctions(retriever.retrieve, retriever.aretrieve)
    if isinstance(retriever, BaseQueryEngine):
        return _AskFunctions(retriever.query, retriever.aquery)
    if isinstance(retriever, BaseChatEngine):
        return _AskFunctions(
            lambda question, **history: _alone(retriever).chat(question, **history),
            lambda question, **history: _alone(retriever).achat(question, **history),
            _CHAT_HISTORY,
        )
    if isinstance(retriever, Workflow):
        return _AskFunctions(None, partial(_run, retriever, argument), _history_field(retriever))
    if callable(retriever):
        history = "history" if takes_history(retriever) else None
        return _AskFunctions(None if is_awaited(retriever) else retriever, retriever, history)
    raise ParameterError(
        f"expected a retriever, an engine, an agent or a function of the question, {got(retriever)}"
    )


def _read_out(answer: object) -> object:
    """Return the joined values of a generator, and any other value unchanged."""
    return joined(list(answer)) if isinstance(answer, Iterator) else answer


def _alone(engine: BaseChatEngine) -> BaseChatEngine:
    """Return a chat engine with the same parts and its own, empty history."""
    alone = copy(engine)
    if "_memory" in vars(alone):
        vars(alone)["_memory"] = ChatMemoryBuffer.from_defaults(llm=getattr(alone, "_llm", None))
    return alone


def _run(workflow: Workflow, argument: str | None, question: str, **history: Any) -> Any:
    arguments: Any = {argument or _argument(workflow): question, **history}
    return workflow.run(**arguments)


def _argument(workflow: Workflow) -> str:
    if isinstance(workflow, _AGENTS):
        return "user_msg"
    event: type[StartEvent] = workflow.start_event_class
    required = {name for name, field in event.model_fields.items() if field.is_required()}
    required -= {_CHAT_HISTORY, "history"}
    return required.pop() if len(required) == 1 else "query"


def _history_field(workflow: Workflow) -> str | None:
    """Return the field of a workflow's start event that takes the conversation, or None."""
    if isinstance(workflow, _AGENTS):
        return _CHAT_HISTORY
    names = (_CHAT_HISTORY, "history")
    return next((name for name in names if name in workflow.start_event_class.model_fields), None)


def _before(sample: Sample, argument: str | None) -> dict[str, list[Any]]:
    """Return the messages before a sample's question, by the argument that takes them."""
    history = history_of(sample)
    if argument is None or not (history or argument == "history"):
        return {}
    if argument == "history":
        return {argument: history}  # Pass the messages as they are.
    read = [message_of(each) for each in history if not isinstance(each, ChatMessage)]
    if not read:
        return {argument: history}
    messages = [
        ChatMessage(role=_ROLES.get(each.role, each.role), content=each.text)
        for each in read
        if each is not None
    ]
    return {argument: messages}
