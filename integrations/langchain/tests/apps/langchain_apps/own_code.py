"""Chains with code of the application's own: searches, streams, conversations, lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory

import fullrecall
from fullrecall.measures import Recall, calls
from langchain_apps.application import Stated, function, keyed, of_the_answer, runnable
from langchain_apps.parts import (
    ANSWER,
    PROMPT,
    QUESTION,
    Listed,
    document,
    joined,
    model,
    shelf,
    store,
)
from langchain_apps.several_queries import CALLS_UNITED


@function(
    expects="timetable bicycles",
    right={},
    unscorable="no event is fired, and the output is text",
    in_notes=True,
)
def search_into_a_prompt() -> Any:
    """`similarity_search` goes straight into a prompt: the record cannot see it."""
    ranked = store("timetable cafe bicycles")
    answer = PROMPT | model() | StrOutputParser()

    def ask(question: str) -> str:
        found = ranked.similarity_search(question, k=2)
        return answer.invoke({"context": joined(found), "question": question})

    return ask


@function(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    read=0.5,
    in_notes=True,
    skips={"spans": "the instrumentor does not know fullrecall's own records"},
)
def search_that_is_recorded() -> Any:
    """`similarity_search` goes into a prompt, and the application records its documents."""
    ranked = store("timetable cafe bicycles")
    answer = PROMPT | model() | StrOutputParser()

    def ask(question: str) -> str:
        found = ranked.similarity_search(question, k=2)
        fullrecall.record(found, query=question)  # type: ignore[attr-defined]
        return answer.invoke({"context": joined(found), "question": question})

    return ask


@function(
    is_awaited=True,
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5},
    designed=of_the_answer(CALLS_UNITED, {Recall: 1.0, Recall @ 1: 1.0}),
    output="documents",
)
def asynchronous_function() -> Any:
    """An `async` function awaits two searches at once, and returns one list."""
    import asyncio

    stores = [shelf("timetable cafe"), shelf("bicycles dogs")]

    async def ask(question: str) -> list[Document]:
        first, second = await asyncio.gather(*(each.ainvoke(question) for each in stores))
        return [*first, *second]

    return ask


@function(expects="timetable bicycles", right={Recall: 0.5, Recall @ 1: 0.5}, read=0.5)
def streamed_answer() -> Any:
    """A generator, as in FastAPI, retrieves, then yields the answer in parts."""
    retriever = shelf("timetable cafe")
    answer = PROMPT | model() | StrOutputParser()

    def ask(question: str) -> str:
        def parts() -> Iterator[str]:
            context = joined(retriever.invoke(question))
            yield from answer.stream({"context": context, "question": question})

        return "".join(parts())

    return ask


# Conversations


@runnable(
    expects="bicycles fares",
    right={Recall: 0.5, Recall @ 1: 0.5},
    question="And what does a bicycle cost?",
    as_input=keyed("question"),
    config={"configurable": {"session_id": "1"}},
    read=0.5,
)
def message_history() -> Any:
    """A history is kept by session; the question is rewritten before the search."""
    history = InMemoryChatMessageHistory()
    history.add_user_message("When does the last boat to Skerry leave?")
    history.add_ai_message("At ten past four.")
    alone = "What does a bicycle cost on the ferry to Skerry?"
    prompt = ChatPromptTemplate.from_messages(
        [("system", "{context}"), MessagesPlaceholder("history"), ("human", "{question}")]
    )
    retriever = shelf(by_query={alone: "bicycles luggage"})
    context = RunnableLambda(lambda _: "rewrite") | model(alone) | StrOutputParser() | retriever
    answer = RunnablePassthrough.assign(context=context | joined) | prompt | model()
    return RunnableWithMessageHistory(
        answer,
        lambda session_id: history,
        input_messages_key="question",
        history_messages_key="history",
    )


@function(
    expects="bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0},
    question="And what does a bicycle cost?",
)
def asked_with_history() -> Any:
    """A function keeps the messages itself, and asks the chain with all of them."""
    retriever = shelf(by_query={"And what does a bicycle cost?": "bicycles luggage"})
    said: list[BaseMessage | tuple[str, str]] = [
        ("human", "When does the last boat leave?"),
        ("ai", "At ten past four, as the timetable has it."),
    ]
    prompt = ChatPromptTemplate.from_messages(
        [("system", "{context}"), MessagesPlaceholder("said"), ("human", "{question}")]
    )
    answer = prompt | model() | StrOutputParser()

    def ask(question: str) -> str:
        context = joined(retriever.invoke(question))
        return answer.invoke({"context": context, "said": said, "question": question})

    return ask


@function(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ calls(1): 0.5},
)
def own_query_variants() -> Any:
    """A function searches for the question and for a variant of it, and answers from both lists."""
    retriever = shelf(by_query={QUESTION: "timetable cafe", "cost of bicycles": "fares bicycles"})
    answer = PROMPT | model() | StrOutputParser()

    def ask(question: str) -> str:
        lists = [retriever.invoke(each) for each in (question, "cost of bicycles")]
        context = "\n\n".join(map(joined, lists))
        return answer.invoke({"context": context, "question": question})

    return ask


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    retrieved=1.0,
    read=0.5,
)
def graded_in_a_batch() -> Any:
    """A model grades each document in one batch, and those that fail are dropped."""
    grade = PromptTemplate.from_template("Relevant? {text}") | model(_grade) | StrOutputParser()

    def graded(found: list[Document]) -> list[Document]:
        marks = grade.batch([{"text": each.page_content} for each in found])
        return [each for each, mark in zip(found, marks, strict=True) if mark == "yes"]

    context = shelf("timetable bicycles dogs") | graded | joined
    return {"context": context, "question": RunnablePassthrough()} | PROMPT | model()


def _grade(messages: list[BaseMessage]) -> str:
    return "yes" if "ten past four" in messages[-1].text else "no"


@function(
    expects="timetable bicycles",
    right={},
    unscorable="no search runs: the answer comes from a cache of answers",
)
def semantic_cache_hit() -> Any:
    """An answer to the same question is in a cache, so that no search runs."""
    cached = {QUESTION: ANSWER}
    retriever = shelf("timetable")
    return lambda question: cached.get(question) or joined(retriever.invoke(question))


@function(
    expects="timetable bicycles",
    right={},
    unscorable="the retriever fails, and no retry or fallback makes up for it",
)
def apology_for_a_failure() -> Any:
    """The store does not answer, and the application apologizes."""
    retriever = shelf(failures=99)

    def ask(question: str) -> str:
        try:
            return joined(retriever.invoke(question))
        except ConnectionError:
            return "I cannot look that up at the moment."

    return ask


@function(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    designed={
        **of_the_answer("a call failed, and no record shows that another one made up for it"),
        "stored output": Stated("docs: a fallback that is not tagged in a stored run"),
    },
    output="documents",
)
def fallback_by_hand() -> Any:
    """A hand-written `try … except` asks another store, which counts as a fallback."""
    first, second = shelf(failures=99), shelf("timetable cafe")

    def ask(question: str) -> list[Document]:
        try:
            return first.invoke(question)
        except ConnectionError:
            return second.invoke(question)

    return ask


@runnable(expects="timetable bicycles", right={Recall: 0.0, Recall @ 1: 0.0}, output="documents")
def nothing_found() -> Any:
    """The store returns an empty list: recall is 0, not unknown."""
    return shelf("")


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 3: 1.0},
    output="documents",
)
def the_same_twice() -> Any:
    """A document occurs twice in the list: the first counts, the second only takes a rank."""
    return shelf("timetable timetable bicycles")


@runnable(
    expects="timetable.md bicycles.md",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 1.0},
    options={"id_key": "source", "collapse": True},
    output="documents",
)
def chunks_of_sources() -> Any:
    """References name files; the chunks of one file count once."""
    chunks = [
        Document("The last boat leaves at ten past four.", metadata={"source": "timetable.md"}),
        Document("The summer timetable begins in April.", metadata={"source": "timetable.md"}),
        Document("A bicycle costs three crowns.", metadata={"source": "bicycles.md"}),
    ]
    return Listed(found=chunks)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    retrieved=0.5,
    read=0.5,
)
def wrapped_documents() -> Any:
    """A header is written before each text in the prompt (contextual retrieval)."""

    def with_header(found: list[Document]) -> list[Document]:
        return [
            Document(
                f"File {d.metadata['source']}, ferry handbook.\n{d.page_content}",
                metadata=d.metadata,
            )
            for d in found
        ]

    context = shelf("timetable cafe") | with_header | joined
    return {"context": context, "question": RunnablePassthrough()} | PROMPT | model()


@function(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0, Recall @ calls(1): 0.5},
    output="documents",
)
def lists_of_two_indexes() -> Any:
    """The output has the lists of two indexes under two keys, without a merge."""
    times, prices = shelf("timetable cafe"), shelf("bicycles fares")

    def ask(question: str) -> dict[str, Any]:
        return {
            "times": times.invoke(question),
            "prices": prices.invoke(question),
            "answer": ANSWER,
        }

    return ask


@function(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 1.0},
    output="documents",
)
def ids_alone() -> Any:
    """The output has the retrieved IDs beside the answer, and no text."""
    retriever = shelf("timetable bicycles cafe")

    def ask(question: str) -> dict[str, Any]:
        found = retriever.invoke(question)
        return {"answer": ANSWER, "retrieved_context_ids": [each.id for each in found]}

    return ask


@function(
    expects="bicycles", right={Recall: 1.0, Recall @ 1: 0.0, Recall @ 2: 1.0}, output="documents"
)
def metadata_enriched() -> Any:
    """Documents are looked up again in a database by their ID, and returned as its rows."""
    retriever = shelf("timetable bicycles")
    database = {name: document(name, rows=1) for name in ("timetable", "bicycles")}
    return lambda question: [database[str(each.id)] for each in retriever.invoke(question)]
