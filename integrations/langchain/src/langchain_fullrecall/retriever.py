"""Adapt LangChain's retrievers, chains, graphs and agents as the `Retriever` of `evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property, wraps
from inspect import isasyncgenfunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, RunnableSequence
from langchain_core.runnables.config import merge_configs

from fullrecall import Context, Retrieval, Sample
from fullrecall._util.values import shown
from fullrecall.errors import InputError, ParameterError
from fullrecall.observe import ROOT, ToolDocuments, brief, joined
from fullrecall.observe.messages import answer_of
from fullrecall.run.retrievers import asked_of, history_of, takes_history
from fullrecall.samples.retrieval import FailedCalls
from langchain_fullrecall.depth import deeper
from langchain_fullrecall.documents import DocumentIdKey
from langchain_fullrecall.outputs import checked_key, held
from langchain_fullrecall.record import LangChainReading, Level
from langchain_fullrecall.recorder import LangChainRecorder
from langchain_fullrecall.selfcheck import broken

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore

LangChainObservable: TypeAlias = (
    "Runnable[Any, Any] | VectorStore | Callable[[Any], Any] | Callable[[Any, Any], Any]"
)
"""A retriever, chain, graph or agent; a function of the question; or a vector store, which is
searched through its `as_retriever()`."""

_QUESTIONS = ("input", "question", "query", "user_input")
_HISTORIES = ("chat_history", "history")


def observed(
    retriever: LangChainObservable,
    /,
    *,
    config: RunnableConfig | None = None,
    as_input: Callable[[str], Any] | None = None,
    documents_key: str | None = None,
    id_key: DocumentIdKey = None,
    collapse: bool = False,
    which: Level = "outermost",
    name: str | Sequence[str] = (),
    failed_calls: FailedCalls = "unscored",
    other_tools: Collection[str] = (),
    tool_documents: ToolDocuments = None,
) -> ObservedLangChainRetriever:
    """Return a retriever, vector store, chain, graph or agent as a retriever for `evaluate`.

        evaluate(samples, IdRecall(), retriever=observed(agent, id_key="source"))

    Each call records the results of every retriever, tool, reranker and step inside, and the
    prompts of models.

    - `config`: goes with every call.
    - `as_input`: a function that makes the input from the question. By default, the schema decides:
      a user's message for agents, `{"input": question}` for a chain with one such key, else the
      question itself. A sample's conversation, `metadata["history"]`, goes before an agent's
      message, or under the key `chat_history` or `history`; the function `as_input` gets it as
      its parameter `history`, if it has one.
    - `documents_key`: the key of the output that holds the final list. Default: the usual names.
    - `id_key`: the place of a document's ID: `Document.id` by default, a metadata key, several of
      them, or a function of the document. `collapse`: that of `contexts`.
    - `which`: the retriever calls that count if calls are nested: "outermost" (default), which
      return merged or reranked documents; or "innermost", which return the documents before that.
      `name`: only calls of this name, or of one of several.
    - `failed_calls`: "unscored" (default) leaves a sample unscored if a call failed and no retry
      or fallback succeeded; "score" scores the results of the other calls, with a note.
    - `other_tools`: names of tools that return text but do not retrieve. Any other tool that
      returns a long text without known documents leaves a sample unscored.
    - `tool_documents`: by the name of a tool, a function that returns the documents in its result.
      Default: hits in lists, in envelopes such as {"results": […]}, and in JSON text of these.

    Retries of a failing retriever are LangChain's: `observed(retriever.with_retry())`. Raises
    `ParameterError` for a value that cannot be called.
    """
    reading = LangChainReading(
        id_key=id_key,
        collapse=collapse,
        which=which,
        name=name,
        failed_calls=failed_calls,
        other_tools=other_tools,
        tool_documents=tool_documents,
        documents_key=documents_key,
    )
    return ObservedLangChainRetriever(runnable_of(retriever), reading, config, as_input)


class ObservedLangChainRetriever:
    """A LangChain object as a `fullrecall.samples.Retriever`."""

    def __init__(
        self,
        runnable: Runnable[Any, Any],
        reading: LangChainReading,
        config: RunnableConfig | None = None,
        as_input: Callable[[str], Any] | None = None,
    ) -> None:
        self._runnable = runnable
        self._reading = reading
        self._config = config
        self._as_input = as_input
        self._is_search = _is_search(runnable)
        self._keeps_state = getattr(runnable, "checkpointer", None) not in (None, False, True)
        function = getattr(runnable, "func", None) or getattr(runnable, "afunc", None)
        self._takes_history = function is not None and takes_history(function)
        self.asynchronous = isinstance(runnable, RunnableLambda) and not hasattr(runnable, "func")

    def __repr__(self) -> str:
        return f"observed({self._runnable.get_name()})"

    def with_config(self, config: RunnableConfig) -> ObservedLangChainRetriever:
        """Return a copy of this retriever that also passes `config` in each call."""
        return ObservedLangChainRetriever(
            self._runnable, self._reading, merge_configs(self._config, config), self._as_input
        )

    def __call__(self, question: str, k: int) -> list[Context]:
        """Return the first `k` contexts of a search in which each retriever returns `k`.

        `diagnose` calls it.

        Raises `ParameterError` if no retriever inside has a field for `k`, and `InputError` for a
        search that fails or calls no retriever.
        """
        search = deeper(self._runnable, k)
        retriever = ObservedLangChainRetriever(search, self._reading, self._config, self._as_input)
        record = retriever.retrieve(Sample(user_input=question))
        if record.contexts is None:
            raise InputError(record.error or "no retriever was called")
        return list(record.contexts[:k])

    def retrieve(self, sample: Sample, /) -> Retrieval:
        """Return the record of the retrieval for the sample's question."""
        recorder, arguments = self._call(sample)
        try:
            output = self._runnable.invoke(**arguments)
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises: it failed
            return self._read(sample, recorder, error=error)
        return self._read(sample, recorder, output)

    async def aretrieve(self, sample: Sample, /) -> Retrieval:
        """Return the record of `retrieve`, by the runnable's `ainvoke`."""
        recorder, arguments = self._call(sample)
        try:
            output = await self._runnable.ainvoke(**arguments)
        except Exception as error:  # noqa: BLE001 - whatever a retriever raises: it failed
            return self._read(sample, recorder, error=error)
        return self._read(sample, recorder, output)

    @cached_property
    def _default_input(self) -> Callable[[str, Sequence[Any]], Any]:
        # Read when first needed: LangChain takes milliseconds to make the schema of an input.
        return input_of(self._runnable)

    def _call(self, sample: Sample) -> tuple[LangChainRecorder, dict[str, Any]]:
        question, history = asked_of(sample), history_of(sample)
        if self._as_input is not None:
            inputs = self._as_input(question)
        else:
            inputs = self._default_input(question, history)
        recorder = LangChainRecorder()
        if not self._is_search:
            recorder.log.begin_call(inputs)
        config: RunnableConfig = {"callbacks": [recorder]}
        if self._config:
            config = merge_configs(self._config, config)
        if self._keeps_state and not _has_thread(config, self._runnable):
            config = merge_configs(config, {"configurable": {"thread_id": uuid4().hex}})
        named = {"history": history} if self._takes_history else {}
        return recorder, {"input": inputs, "config": config, **named}

    def _read(
        self,
        sample: Sample,
        recorder: LangChainRecorder,
        output: Any = None,
        error: Exception | None = None,
    ) -> Retrieval:
        recorder.log.end_call(output, None if error is None else brief(error))
        unseen = f"no retriever was called; {held(output)}"
        try:
            if error is None:
                checked_key(output, self._reading.documents_key)
            retrieval = self._reading.retrieval(
                recorder.log.steps,
                output,
                root=ROOT,
                question=sample.user_input,
                response=answer_of(output),
                partial=recorder.partial or broken(),
                unseen=unseen,
            )
        except InputError as problem:
            return Retrieval(error=str(problem))
        if error is not None:
            return Retrieval(calls=retrieval.calls, error=brief(error))
        return retrieval


def _has_thread(config: RunnableConfig, graph: Any) -> bool:
    """Return whether a call's config, or that of the graph itself, names the graph's thread."""
    configs = (config, getattr(graph, "config", None) or {})
    return any((each.get("configurable") or {}).get("thread_id") for each in configs)


def _is_search(runnable: Runnable[Any, Any]) -> bool:
    """Return whether a runnable is a retriever with the standard `invoke`, which reports a step."""
    own = type(runnable)
    return isinstance(runnable, BaseRetriever) and (
        own.invoke is BaseRetriever.invoke and own.ainvoke is BaseRetriever.ainvoke
    )


def runnable_of(source: LangChainObservable) -> Runnable[Any, Any]:
    """Return a source as a runnable; raise `ParameterError` if `observed` does not take it."""
    if isinstance(source, Runnable):
        return source
    if isinstance(source, type):
        raise ParameterError(
            f"expected a retriever instance, got class {source.__name__}: pass {source.__name__}(…)"
        )
    as_retriever = getattr(source, "as_retriever", None)
    if as_retriever is not None:
        retriever: Runnable[Any, Any] = as_retriever()
        return retriever
    if callable(source):
        return RunnableLambda(_listing(source))
    raise ParameterError(
        f"expected a Runnable, a VectorStore or a function of the question, got {shown(source)}"
    )


def _listing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that joins the values of a generator function.

    Any other function is returned unchanged. LangChain itself would add up the values of a
    generator; if it cannot add them, it would keep only the last value.
    """
    if isgeneratorfunction(function):

        @wraps(function)
        def listing(*args: Any, **options: Any) -> Any:
            return joined(list(function(*args, **options)))

        return listing
    if isasyncgenfunction(function):

        @wraps(function)
        async def alisting(*args: Any, **options: Any) -> Any:
            return joined([part async for part in function(*args, **options)])

        return alisting
    return function


def input_of(runnable: Runnable[Any, Any]) -> Callable[[str, Sequence[Any]], Any]:
    """Return a function that makes a runnable's input from a question and a history.

    The keys of the runnable's input schema decide the form of the input.
    """
    keys = _keys(runnable)
    earlier = [key for key in _HISTORIES if key in keys][:1]
    named = [key for key in keys if key not in earlier]
    if "messages" in named or (len(named) > 1 and keys != [*_QUESTIONS]):
        named = [key for key in _QUESTIONS if key in keys][:1]

    def made(question: str, history: Sequence[Any] = ()) -> Any:
        inputs = {**dict.fromkeys(named, question), **{key: list(history) for key in earlier}}
        if "messages" in keys:
            inputs["messages"] = [*history, {"role": "user", "content": question}]
        return inputs or question

    return made


def _keys(runnable: Runnable[Any, Any]) -> list[str]:
    """Return the keys of a runnable's input mapping; none for any other input.

    An input type without declared keys, such as `dict`, gets the usual names of a question.
    """
    try:
        schema = runnable.get_input_jsonschema()
    except Exception:  # noqa: BLE001 - Pydantic has none for a state that is typing.TypedDict
        if isinstance(runnable, RunnableSequence):
            return _keys(runnable.first)
        builder = getattr(runnable, "builder", None)
        state = getattr(builder, "input_schema", None) or getattr(builder, "state_schema", None)
        return list(getattr(state, "__annotations__", ()))
    if isinstance(schema.get("$ref"), str):
        schema = schema.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], schema)
    if schema.get("type") != "object":
        return []
    properties = schema.get("properties", dict.fromkeys(_QUESTIONS))
    # "root" is Pydantic's name for an input that has no fields.
    names = [name for name in properties if name != "root"]
    # An executor of langchain-classic does not declare its key: use "input", its usual one.
    return names or (["input"] if hasattr(runnable, "input_keys") else [])
