"""Chains that search several times: query variants, routes, retries and fallbacks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import chain as flattened
from operator import itemgetter
from typing import Any

from langchain_core.documents import Document
from langchain_core.load import dumps, loads
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableBranch, RunnablePassthrough

from fullrecall.measures import Recall
from langchain_apps.application import Stated, function, of_the_answer, runnable
from langchain_apps.parts import PROMPT, joined, model, shelf


def _fused(lists: list[list[Document]]) -> list[Document]:
    """Return documents by reciprocal rank fusion, as the template of RAG fusion does: by JSON."""
    scores: dict[str, float] = {}
    for found in lists:
        for rank, each in enumerate(found):
            scores[dumps(each)] = scores.get(dumps(each), 0.0) + 1 / (rank + 60)
    ordered = sorted(scores, key=lambda text: -scores[text])
    return [loads(text) for text in ordered]


_QUERIES = "last ferry in winter\nbicycle costs"
_BY_QUERY = {
    "last ferry in winter": "timetable cafe delays",
    "bicycle costs": "fares cafe bicycles",
}


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.0, Recall @ 2: 0.5, Recall @ 3: 0.5},
    output="documents",
    retrieved=1.0,
    streams=True,
)
def rag_fusion() -> Any:
    """A model writes queries; their lists are fused by rank, through JSON text.

    The kiosk's document is second in both lists, so it comes first: cafe (2/61), timetable (1/60),
    fares (1/60), delays (1/62), bicycles (1/62).
    """
    queries = PromptTemplate.from_template("Write two queries: {q}") | model(_QUERIES)
    lists = queries | StrOutputParser() | str.splitlines | shelf(by_query=_BY_QUERY).map()
    return {"q": RunnablePassthrough()} | lists | _fused


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5},
    read=1.0,
    retrieved=1.0,
)
def unique_union() -> Any:
    """The lists of two queries are united without duplicates, and go into a prompt."""

    def unique(lists: list[list[Document]]) -> list[Document]:
        return list({each.id: each for each in flattened.from_iterable(lists)}.values())

    queries = PromptTemplate.from_template("Write two queries: {q}") | model(_QUERIES)
    lists = queries | StrOutputParser() | str.splitlines | shelf(by_query=_BY_QUERY).map()
    context = {"q": RunnablePassthrough()} | lists | unique | joined
    return {"context": context, "question": RunnablePassthrough()} | PROMPT | model()


CALLS_UNITED = (
    "the function's list is not in its answer: the calls are united, each from its rank 1"
)


@function(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 4: 0.5, Recall @ 5: 1.0},
    designed=of_the_answer(CALLS_UNITED, {Recall: 1.0, Recall @ 1: 0.5, Recall @ 4: 1.0}),
    output="documents",
)
def batched_queries() -> Any:
    """A function searches for several queries by `batch`, and returns one list of them."""
    retriever = shelf(by_query=_BY_QUERY)

    def ask(_question: str) -> list[Document]:
        lists = retriever.batch(_QUERIES.splitlines())
        return list({each.id: each for each in flattened.from_iterable(lists)}.values())

    return ask


@function(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5},
    designed=of_the_answer("docs: a plain ThreadPoolExecutor does not pass the context on"),
    output="documents",
)
def searches_in_plain_threads() -> Any:
    """Two stores are searched in Python's own executor, which only the output shows."""
    stores = [shelf("timetable cafe"), shelf("bicycles dogs")]

    def ask(question: str) -> list[Document]:
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(lambda each: each.invoke(question), stores)
        return [*first, *second]

    return ask


# Choice


@runnable(expects="timetable bicycles", right={Recall: 0.5, Recall @ 1: 0.5}, output="documents")
def routed_by_branch() -> Any:
    """A classifier's word chooses between two stores."""
    topic = PromptTemplate.from_template("Topic of {q}?") | model("prices") | StrOutputParser()
    branch = RunnableBranch(
        (lambda x: x["topic"] == "prices", itemgetter("q") | shelf("bicycles fares")),
        itemgetter("q") | shelf("timetable summer"),
    )
    return {"q": RunnablePassthrough()} | RunnablePassthrough.assign(topic=topic) | branch


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    output="documents",
    config={"configurable": {"index": "winter"}},
)
def configurable_alternatives() -> Any:
    """The index is chosen at run time, by the config of the call."""
    return shelf("summer seals").configurable_alternatives(
        ConfigurableField(id="index"), default_key="summer", winter=shelf("timetable delays")
    )


# Failures with a retry or a fallback


_UNTAGGED = {"spans": Stated("spans do not tell that a retry or a fallback made up for a failure")}


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    read=0.5,
    designed=_UNTAGGED,
    streams=True,
)
def fallback_store() -> Any:
    """The first store does not answer, and another one does."""
    retriever = shelf("bicycles", failures=99).with_fallbacks([shelf("timetable cafe")])
    return {"context": retriever | joined, "question": RunnablePassthrough()} | PROMPT | model()


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5},
    designed=_UNTAGGED,
    output="documents",
)
def retried_store() -> Any:
    """The store fails once, and answers the second request."""
    retriever = shelf("timetable bicycles", failures=1)
    return retriever.with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
