"""The parts of applications: documents, searches of a stated order, and scripted models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, tool
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import BaseModel

QUESTION = "When does the last ferry to Skerry leave in winter, and what does a bicycle cost?"
ANSWER = "The last ferry leaves at ten past four, and a bicycle travels for three crowns."

TEXTS = {
    "timetable": "Between November and March the last boat to Skerry casts off at ten past four.",
    "summer": "From April to October six crossings a day connect Skerry with Holm until dark.",
    "bicycles": "A bicycle is carried on deck for three crowns; tandems and trailers pay for two.",
    "fares": "Adults pay eleven crowns each way. Children under twelve travel without a ticket.",
    "parking": "Cars stay behind the customs house in Holm, where a whole day costs six crowns.",
    "weather": "In a northerly gale above force eight the harbor master cancels every crossing.",
    "dogs": "Dogs are welcome on the lower deck if they are kept on a short lead all the time.",
    "seals": "Grey seals rest on the sandbank west of the pier, and may be watched at low tide.",
    "cafe": "The kiosk at the pier sells coffee, soup and rye bread until the last boat has gone.",
    "luggage": "Two pieces of luggage are free. Prams and wheelchairs never count as luggage.",
    "history": "The first steam ferry, the Petrel, was built in 1891 by a cooperative of farmers.",
    "delays": "When a crossing is late by an hour or more, half of the fare is paid back.",
}
"""The corpus: one document for each name, which is its ID."""


def document(name: str, **metadata: Any) -> Document:
    """Return a new document of this name."""
    metadata = {"source": f"{name}.md", "topic": name[0], **metadata}
    return Document(TEXTS[name], id=name, metadata=metadata)


def documents(names: str) -> list[Document]:
    """Return new documents of these names, in their order."""
    return [document(name) for name in names.split()]


def joined(found: Iterable[Document]) -> str:
    """Return documents joined as in most prompts."""
    return "\n\n".join(each.page_content for each in found)


class Shelf(BaseRetriever):
    """A retriever that returns the stated documents of a query, or else default ones."""

    default: str = ""
    by_query: dict[str, str] = {}  # noqa: RUF012 - pydantic copies a default
    failures: int = 0

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the index does not answer")
        return documents(self.by_query.get(query, self.default))


class Listed(BaseRetriever):
    """A retriever that returns these documents, which need not be of the corpus."""

    found: list[Document]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.found


def shelf(default: str = "", *, failures: int = 0, **options: Any) -> Shelf:
    """Return a retriever of the same documents for every query, or of documents by query.

    The first `failures` calls raise.
    """
    by_query = options.pop("by_query", {})
    return Shelf(default=default, by_query=by_query, failures=failures, **options)


class StatedOrder(Embeddings):
    """Embeddings by which a search returns documents in the order that is stated for a query."""

    def __init__(self, default: str, by_query: Mapping[str, str]) -> None:
        self._default = default
        self._by_query = by_query
        self._axis = {text: position for position, text in enumerate(TEXTS.values())}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, on an axis of its own."""
        return [self._vector({self._axis[self._whole(text)]: 1.0}) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector whose neighbors are in the query's stated order."""
        names = self._by_query.get(text, self._default).split()
        weights = {self._axis[TEXTS[name]]: 1 / rank for rank, name in enumerate(names, start=1)}
        return self._vector(weights)

    def _whole(self, text: str) -> str:
        """Return the text of the corpus that equals or contains this one."""
        return next(each for each in self._axis if text in each)

    def _vector(self, weights: Mapping[int, float]) -> list[float]:
        return [weights.get(position, 0.0) for position in range(len(self._axis))]


def store(order: str, *, by_query: Mapping[str, str] | None = None) -> InMemoryVectorStore:
    """Return a vector store of the corpus that returns documents in this order."""
    made = InMemoryVectorStore(StatedOrder(order, by_query or {}))
    made.add_documents(documents(" ".join(TEXTS)))
    return made


class Model(BaseChatModel):
    """A chat model that gives the replies of a script in turn, and repeats the last one.

    A reply is a text, a message, or a function of the messages that returns one of these.
    """

    replies: list[Any]
    said: int = 0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _reply(self, messages: list[BaseMessage]) -> AIMessage:
        reply = self.replies[min(self.said, len(self.replies) - 1)]
        self.said += 1
        if callable(reply):
            reply = reply(messages)
        return reply.model_copy() if isinstance(reply, AIMessage) else AIMessage(reply)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **options: Any,
    ) -> Any:
        reply = self._reply(messages)
        words = reply.text.split(" ")
        for position, word in enumerate(words):
            text = word if position == 0 else f" {word}"
            calls = reply.tool_calls if position == 0 else []
            chunks = [
                {"name": each["name"], "args": json.dumps(each["args"]), "id": each["id"],
                 "index": index, "type": "tool_call_chunk"}
                for index, each in enumerate(calls)
            ]  # fmt: skip
            chunk = ChatGenerationChunk(
                message=AIMessageChunk(content=text, tool_call_chunks=chunks)  # type: ignore[arg-type]
            )
            if run_manager is not None:
                run_manager.on_llm_new_token(text, chunk=chunk)
            yield chunk

    def get_num_tokens(self, text: str) -> int:
        """Return a quarter of the characters: no tokenizer is loaded."""
        return len(text) // 4

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """Return the model itself: its script knows the tools."""
        return self


def model(*replies: str | AIMessage | Callable[[list[BaseMessage]], str | AIMessage]) -> Model:
    """Return a chat model with this script, or one that gives the answer."""
    return Model(replies=list(replies) or [ANSWER])


def calls(*named: tuple[str, Mapping[str, Any]], text: str = "") -> AIMessage:
    """Return a message that calls tools, all at once, each by its name and arguments."""
    made: Any = [
        {"name": name, "args": dict(arguments), "id": f"call_{name}_{number}"}
        for number, (name, arguments) in enumerate(named)
    ]
    return AIMessage(text, tool_calls=made)


def searches(*queries: str, tool: str = "search") -> AIMessage:
    """Return a message that calls the search tool, once for each query, all at once."""
    made: Any = [
        {"name": tool, "args": {"query": query}, "id": f"call {query}"} for query in queries
    ]
    return AIMessage("", tool_calls=made)


def structured(value: Any) -> AIMessage:
    """Return the reply with structured output: one call of its schema."""
    return calls((type(value).__name__, value.model_dump()))


PROMPT = ChatPromptTemplate.from_template(
    "Answer from the context alone.\n\nContext:\n{context}\n\nQuestion: {question}"
)


class Query(BaseModel):
    """The arguments of a search, declared once: LangChain would derive them for each tool."""

    query: str


def search_tool(found: str = "", *, by_query: Mapping[str, str] | None = None) -> BaseTool:
    """Return the search tool of the RAG tutorial: its artifact is the list of documents."""
    retriever = shelf(found, by_query=dict(by_query or {}))

    @tool(args_schema=Query, response_format="content_and_artifact")
    def search(query: str) -> tuple[str, list[Document]]:
        """Search the ferry company's documents."""
        hits = retriever.invoke(query)
        serialized = "\n\n".join(f"Source: {d.metadata}\nContent: {d.page_content}" for d in hits)
        return serialized, hits

    return search
