"""Chains of LCEL, as tutorials and templates build them."""

from __future__ import annotations

import html
import json
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain as flattened
from operator import itemgetter
from typing import Any
from xml.sax.saxutils import escape

from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.documents import Document
from langchain_core.load import dumps, loads
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import (
    ConfigurableField,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    chain,
)
from langchain_core.runnables.config import ContextThreadPoolExecutor
from langchain_core.runnables.history import RunnableWithMessageHistory
from pydantic import BaseModel

import fullrecall
from fullrecall.measures import Recall, calls
from langchain_apps.application import Stated, function, keyed, of_the_answer, runnable
from langchain_apps.parts import (
    ANSWER,
    PROMPT,
    QUESTION,
    Listed,
    document,
    documents,
    joined,
    model,
    shelf,
    store,
    structured,
)


class CitedAnswer(BaseModel):
    """An answer and the numbers of its sources."""

    answer: str = ANSWER
    citations: list[int]


# One retriever


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 0.5},
    output="documents",
)
def vector_store() -> Any:
    """The store itself is asked, and returns timetable, fares, bicycles, cafe."""
    return store("timetable fares bicycles cafe dogs")


@runnable(expects="timetable bicycles", right={Recall: 0.5, Recall @ 1: 0.5}, output="documents")
def store_with_filter() -> Any:
    """A search among documents whose metadata pass a filter, as multi-tenant applications do."""

    def is_ours(each: Document) -> bool:
        return str(each.metadata["source"]) != "bicycles.md"

    ranked = store("timetable bicycles fares cafe")
    return ranked.as_retriever(search_kwargs={"k": 2, "filter": is_ours})


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.0, Recall @ 2: 0.5},
    read=1.0,
    batches=True,
    streams=True,
)
def lcel_quickstart() -> Any:
    """The chain of the first RAG tutorial: a mapping, a prompt, a model, a parser."""
    retriever = shelf("cafe bicycles timetable")
    context = {"context": retriever | joined, "question": RunnablePassthrough()}
    return context | PROMPT | model() | StrOutputParser()


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    output="documents",
    read=0.5,
    batches=True,
    streams=True,
)
def answer_with_sources() -> Any:
    """Documents pass through a parallel, and the answer is assigned beside them."""
    answer = RunnablePassthrough.assign(context=lambda x: joined(x["context"]))
    answer = answer | PROMPT | model() | StrOutputParser()
    both = RunnableParallel(context=shelf("timetable cafe"), question=RunnablePassthrough())
    return both.assign(answer=answer)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 2: 0.0, Recall @ 3: 0.5},
    as_input=keyed("question"),
    output="documents",
    read=0.5,
)
def assigned_context() -> Any:
    """The input has a key; documents are assigned to another, and stay in the output."""
    retrieve = RunnablePassthrough.assign(
        documents=itemgetter("question") | shelf("cafe dogs timetable")
    )
    context = RunnablePassthrough.assign(context=lambda x: joined(x["documents"]))
    return (
        retrieve | context | RunnablePassthrough.assign(answer=PROMPT | model() | StrOutputParser())
    )


@runnable(expects="timetable bicycles", right={Recall: 0.5}, read=0.5, retrieved=1.0, streams=True)
def first_two_of_four() -> Any:
    """A lambda between retriever and prompt keeps the first two documents."""
    top = shelf("timetable cafe bicycles dogs") | (lambda found: found[:2])
    return {"context": top | joined, "question": RunnablePassthrough()} | PROMPT | model()


@runnable(
    expects="bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0},
    read=1.0,
    retrieved=1.0,
)
def sorted_by_metadata() -> Any:
    """Documents are sorted by their metadata before the prompt: that order is a ranking."""
    ordered = RunnableLambda(lambda found: sorted(found, key=lambda d: d.metadata["source"]))
    context = shelf("timetable cafe bicycles") | ordered | joined
    return {"context": context, "question": RunnablePassthrough()} | PROMPT | model()


@runnable(expects="timetable bicycles", right={Recall: 1.0, Recall @ 1: 0.5}, output="documents")
def numbered_citations() -> Any:
    """Sources are numbered in the prompt, and the model cites numbers in a structured answer."""

    def numbered(found: list[Document]) -> str:
        return "\n".join(f"Source ID: {n}\nSnippet: {d.page_content}" for n, d in enumerate(found))

    cited = model(structured(CitedAnswer(citations=[0, 2])))
    answer = (
        RunnablePassthrough.assign(context=lambda x: numbered(x["context"]))
        | PROMPT
        | cited.with_structured_output(CitedAnswer)
    )
    sources = {"context": shelf("timetable dogs bicycles"), "question": RunnablePassthrough()}
    return RunnablePassthrough() | sources | RunnablePassthrough.assign(answer=answer)


@function(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.0},
    designed=of_the_answer(
        "the cited documents are not in the answer", {Recall: 1.0, Recall @ 1: 0.5}
    ),
    output="documents",
)
def cited_documents_only() -> Any:
    """The function returns only the documents that the model cited, in the order of citation."""
    retriever = shelf("timetable dogs bicycles")
    chosen = model(structured(CitedAnswer(citations=[1, 0]))).with_structured_output(CitedAnswer)

    def ask(question: str) -> dict[str, Any]:
        found = retriever.invoke(question)
        cited = (PROMPT | chosen).invoke({"context": joined(found), "question": question})
        return {"answer": ANSWER, "documents": [found[each] for each in cited.citations]}

    return ask


# Prompts that escape


@runnable(expects="timetable fares", right={Recall: 1.0}, read=1.0, in_notes=True)
def html_escaped_prompt() -> Any:
    """Documents are escaped as HTML in the prompt, so that tags in them do no harm."""
    found = [
        Document(
            "Last boat: <b>16:10</b> & not later, the harbor office's sign says.", id="timetable"
        ),
        Document(
            'Fares are "eleven crowns" each way <one person>, says the harbor office.', id="fares"
        ),
    ]
    return _with_documents(found, lambda each: html.escape(each.page_content))


@runnable(expects="timetable fares", right={Recall: 1.0}, read=1.0)
def xml_escaped_prompt() -> Any:
    """Documents are put into XML elements, with their text escaped."""
    found = [
        Document("Boats & crossings: the last one is at 16:10 <in winter>.", id="timetable"),
        Document("Fares & passes: a day pass costs less than 3 < 4 tickets.", id="fares"),
    ]
    return _with_documents(found, lambda each: f"<document>{escape(each.page_content)}</document>")


@runnable(expects="timetable fares", right={Recall: 1.0}, read=1.0)
def xml_documents_prompt() -> Any:
    """Documents are put into XML elements with their index and source."""

    def element(each: Document) -> str:
        return f'<document index="1"><source>{each.id}</source>{each.page_content}</document>'

    return _with_documents(documents("timetable fares"), element)


@runnable(expects="timetable fares", right={Recall: 1.0}, read=1.0)
def json_prompt() -> Any:
    """Documents with line breaks and quotation marks are dumped as JSON into the prompt."""
    found = [
        Document(
            'The sign says "no boat after 16:10",\nand it has said so for years.', id="timetable"
        ),
        Document('A ticket is called "kort"\nand costs eleven crowns at the kiosk.', id="fares"),
    ]
    return _with_documents(found, lambda each: json.dumps({"text": each.page_content}))


@runnable(expects="timetable fares", right={Recall: 0.5}, retrieved=1.0, read=0.5)
def prompt_within_a_budget() -> Any:
    """Texts are put into the prompt until it is full: one of two documents fits."""

    def within(found: list[Document]) -> str:
        return joined(found)[: len(found[0].page_content)]

    context = shelf("timetable fares") | within
    return {"context": context, "question": RunnablePassthrough()} | PROMPT | model()


def _with_documents(found: list[Document], form: Any) -> Any:
    context = Listed(found=found) | (lambda docs: "\n".join(map(form, docs)))
    return {"context": context, "question": RunnablePassthrough()} | PROMPT | model()


# Shapes of lists


@runnable(
    expects="bicycles timetable",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 1.0},
    output="documents",
    retrieved=1.0,
    in_notes=True,
    streams=True,
)
def hits_as_dicts() -> Any:
    """A function returns hits, which are mappings with a document and a score, in a new order."""
    return shelf("timetable cafe bicycles") | (
        lambda d: [{"doc": d[2], "score": 0.9}, {"doc": d[0], "score": 0.5}]
    )


@runnable(
    expects="bicycles",
    right={Recall: 1.0, Recall @ 1: 0.0, Recall @ 2: 1.0},
    output="documents",
    in_notes=True,
)
def hits_as_dataclasses() -> Any:
    """A function returns hits as objects of the application's own class."""

    @dataclass
    class Hit:
        """A document and its score."""

        document: Document
        score: float

    return shelf("timetable cafe bicycles") | (lambda d: [Hit(d[0], 0.9), Hit(d[2], 0.4)])


@runnable(
    expects="bicycles",
    right={Recall: 1.0, Recall @ 1: 0.0, Recall @ 2: 1.0},
    output="documents",
    in_notes=True,
)
def lists_of_one() -> Any:
    """Each document is wrapped in a list of its own, as batches of size one leave them."""
    return shelf("timetable bicycles") | (lambda found: [[each] for each in found])


@runnable(
    expects="bicycles",
    right={Recall: 1.0, Recall @ 1: 0.0, Recall @ 2: 1.0},
    output="documents",
    in_notes=True,
)
def scored_pairs() -> Any:
    """A function returns pairs of a document and a score, in another order than the retriever's."""
    return shelf("bicycles timetable") | (lambda d: [(d[1], 0.8), (d[0], 0.3)])


@runnable(
    expects="bicycles",
    right={Recall: 1.0, Recall @ 1: 0.0, Recall @ 2: 1.0},
    output="documents",
    in_notes=True,
)
def hits_by_id() -> Any:
    """A function returns a mapping from IDs to documents, whose order is the rank."""
    return shelf("bicycles timetable") | (lambda d: {"timetable": d[1], "bicycles": d[0]})


@runnable(
    expects="bicycles",
    right={Recall: 1.0, Recall @ 1: 0.0, Recall @ 2: 1.0},
    as_input=keyed("question"),
    output="documents",
    read=1.0,
)
def scored_hits_beside_an_answer() -> Any:
    """The output has hits with scores under one key, and the answer under another."""
    found = itemgetter("question") | shelf("timetable bicycles")
    hits = RunnablePassthrough.assign(
        hits=found | (lambda d: [{"document": e, "score": 1.0} for e in d])
    )
    text = RunnableLambda(lambda x: joined(each["document"] for each in x["hits"]))
    return hits | RunnablePassthrough.assign(
        answer=RunnablePassthrough.assign(context=text) | PROMPT | model() | StrOutputParser()
    )


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5},
    output="documents",
)
def documents_as_mappings() -> Any:
    """Documents are dumped to plain mappings for a JSON API."""
    return shelf("timetable cafe bicycles") | (lambda found: [each.model_dump() for each in found])


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 1.0},
    options={"id_key": "source"},
    output="documents",
    retrieved=1.0,
)
def grouped_by_source() -> Any:
    """The chunks of each source are joined into one new document, at the rank of the first."""

    def grouped(found: list[Document]) -> list[Document]:
        texts: dict[str, list[str]] = {}
        for each in found:
            texts.setdefault(str(each.metadata["source"]), []).append(each.page_content)
        return [Document("\n".join(t), metadata={"source": s}) for s, t in texts.items()]

    chunks = [
        Document(
            "The last boat leaves at ten past four in winter.", metadata={"source": "timetable"}
        ),
        Document("A bicycle costs three crowns on deck.", metadata={"source": "bicycles"}),
        Document("The timetable changes on the first of April.", metadata={"source": "timetable"}),
    ]
    return Listed(found=chunks) | grouped


_ONE_LIST = dict.fromkeys(
    ("strings", "function"),
    Stated("the output alone is a list of lists of one", {Recall: 1.0, Recall @ 1: 0.0}),
)


@runnable(
    expects="bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0},
    designed=_ONE_LIST,
    output="documents",
)
def one_hit_for_each_query() -> Any:
    """Two queries return one document each: two calls, each with its own first rank."""
    retriever = shelf(by_query={"boats": "timetable", "costs": "bicycles"})
    return RunnableLambda(lambda _: ["boats", "costs"]) | retriever.map()


@runnable(
    expects="bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0},
    output="documents",
)
def one_hit_of_each_index() -> Any:
    """Two indexes are searched in parallel, and return one document each: two calls."""
    return RunnableParallel(times=shelf("timetable"), prices=shelf("bicycles"))


# Several queries


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


@runnable(
    expects="timetable bicycles history",
    right={Recall: 1.0, Recall @ 1: 2 / 3},
    as_input=keyed("question"),
    read=1.0,
    streams=True,
)
def step_back() -> Any:
    """The question and a broader one are searched at once; the prompt has both lists."""
    prompt = ChatPromptTemplate.from_template("{normal}\n\n{broad}\n\nQuestion: {question}")
    retriever = shelf("timetable cafe", by_query={"How does the ferry work?": "bicycles history"})
    broader = model("How does the ferry work?") | StrOutputParser()
    contexts = {
        "normal": itemgetter("question") | retriever | joined,
        "broad": itemgetter("question") | broader | retriever | joined,
        "question": itemgetter("question"),
    }
    return contexts | prompt | model() | StrOutputParser()


@runnable(expects="timetable bicycles", right={Recall: 0.5, Recall @ 1: 0.5}, read=0.5)
def hypothetical_document() -> Any:
    """A model writes a document that might answer; its neighbors are retrieved (HyDE)."""
    written = "The last boat of a winter day leaves in the afternoon."
    guess = (
        PromptTemplate.from_template("Write a passage: {q}") | model(written) | StrOutputParser()
    )
    context = {"q": RunnablePassthrough()} | guess | shelf(by_query={written: "timetable delays"})
    answer = {"context": context | joined, "question": RunnablePassthrough()} | PROMPT | model()
    return answer | StrOutputParser()


@function(
    expects="timetable bicycles fares",
    right={Recall: 2 / 3, Recall @ 1: 1 / 3, Recall @ calls(1): 1 / 3, Recall @ calls(2): 2 / 3},
)
def decomposition() -> Any:
    """Sub-questions are answered in turn, each with the earlier answers in its prompt."""
    retriever = shelf(by_query={"When?": "timetable cafe", "How much?": "dogs bicycles"})
    answer = PROMPT | model("At ten past four.", "Three crowns.", ANSWER) | StrOutputParser()

    def ask(question: str) -> str:
        pairs = ""
        for each in ("When?", "How much?"):
            context = joined(retriever.invoke(each))
            said = answer.invoke({"context": f"{pairs}\n{context}", "question": each})
            pairs += f"\nQuestion: {each}\nAnswer: {said}\n"
        return answer.invoke({"context": pairs, "question": question})

    return ask


_MERGED = "the function's list is not in its answer: the calls are united, each from its rank 1"


@function(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 4: 0.5, Recall @ 5: 1.0},
    designed=of_the_answer(_MERGED, {Recall: 1.0, Recall @ 1: 0.5, Recall @ 4: 1.0}),
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
    designed=of_the_answer(_MERGED, {Recall: 1.0, Recall @ 1: 1.0}),
    output="documents",
)
def searches_in_threads() -> Any:
    """Two stores are searched at once, in the threads of LangChain's own executor."""
    stores = [shelf("timetable cafe"), shelf("bicycles dogs")]

    def ask(question: str) -> list[Document]:
        with ContextThreadPoolExecutor(2) as pool:
            first, second = pool.map(lambda each: each.invoke(question), stores)
        return [*first, *second]

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


@runnable(expects="timetable bicycles", right={Recall: 0.5, Recall @ 1: 0.0}, read=0.5)
def routed_by_function() -> Any:
    """A function returns the next chain, which LangChain then runs."""
    stores = {"times": shelf("cafe timetable"), "prices": shelf("fares")}

    def route(question: str) -> Any:
        chosen = stores["times" if "When" in question else "prices"]
        return {"context": chosen | joined, "question": RunnablePassthrough()} | PROMPT | model()

    return RunnableLambda(route) | StrOutputParser()


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


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    output="documents",
    config={"configurable": {"search": {"k": 2}}},
)
def configurable_depth() -> Any:
    """The number of documents is configured at run time: two, instead of four by default."""
    retriever = store("timetable cafe bicycles dogs").as_retriever()
    return retriever.configurable_fields(search_kwargs=ConfigurableField(id="search"))


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


# Own code


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.0, Recall @ 2: 0.5},
    designed={"spans": Stated("the span of a chain does not say that it retrieves")},
    output="documents",
)
def scores_in_metadata() -> Any:
    """A chain function searches with scores and writes them into the metadata."""
    ranked = store("cafe timetable bicycles")

    @chain
    def retriever(question: str) -> list[Document]:
        found = ranked.similarity_search_with_score(question, k=2)
        return [Document(d.page_content, id=d.id, metadata={"score": s}) for d, s in found]

    return retriever


@function(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    output="documents",
    designed=of_the_answer("docs: similarity_search fires no event"),
    in_notes=True,
)
def search_without_events() -> Any:
    """`similarity_search` fires no event, but the function returns its documents."""
    ranked = store("timetable cafe bicycles")
    return lambda question: ranked.similarity_search(question, k=2)


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
    designed=of_the_answer(_MERGED, {Recall: 1.0, Recall @ 1: 1.0}),
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


@runnable(
    expects="timetable bicycles", right={Recall: 0.5, Recall @ 1: 0.5}, read=0.5, streams=True
)
def generator_chain() -> Any:
    """A generator function in a chain serves sync and async callers."""
    retriever = shelf("timetable cafe")
    answer = PROMPT | model() | StrOutputParser()

    def parts(questions: Iterator[str]) -> Iterator[str]:
        for question in questions:
            context = joined(retriever.invoke(question))
            yield from answer.stream({"context": context, "question": question})

    async def aparts(questions: AsyncIterator[str]) -> AsyncIterator[str]:
        async for question in questions:
            context = joined(await retriever.ainvoke(question))
            async for part in answer.astream({"context": context, "question": question}):
                yield part

    from langchain_core.runnables import RunnableGenerator

    return RunnableGenerator(parts, aparts)


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
    expects="bicycles fares",
    right={Recall: 0.5, Recall @ 1: 0.5},
    question="And what does a bicycle cost?",
    in_notes=True,
)
def replayed_chain() -> Any:
    """The target replays an earlier turn; the chain keeps a history by session.

    The first turn's search finds fares, which does not count for the second.
    """
    retriever = shelf(
        by_query={
            "What does a ticket cost?": "fares",
            "And what does a bicycle cost?": "bicycles luggage",
        }
    )
    prompt = ChatPromptTemplate.from_messages(
        [("system", "{context}"), MessagesPlaceholder("history"), ("human", "{question}")]
    )
    context = RunnablePassthrough.assign(context=itemgetter("question") | retriever | joined)
    history = InMemoryChatMessageHistory()
    answer = RunnableWithMessageHistory(
        context | prompt | model("Eleven crowns.", ANSWER) | StrOutputParser(),
        lambda session_id: history,
        input_messages_key="question",
        history_messages_key="history",
    )
    session: Any = {"configurable": {"session_id": "1"}}

    def ask(question: str) -> str:
        for each in ("What does a ticket cost?", question):
            said = answer.invoke({"question": each}, session)
        return str(said)

    return ask


@function(
    expects="timetable bicycles fares",
    right={Recall: 1.0, Recall @ 1: 2 / 3, Recall @ calls(2): 2 / 3},
)
def recursive_decomposition() -> Any:
    """Sub-questions go through the chain first, then the question with their answers.

    This is no replayed turn, so documents found for a sub-question count.
    """
    by_query = {"When?": "timetable cafe", "How much?": "dogs bicycles", QUESTION: "fares"}
    context = RunnablePassthrough.assign(
        context=itemgetter("question") | shelf(by_query=by_query) | joined
    )
    prompt = ChatPromptTemplate.from_template("{pairs}\n\n{context}\n\nQuestion: {question}")
    answer = (
        context | prompt | model("At ten past four.", "Three crowns.", ANSWER) | StrOutputParser()
    )

    def ask(question: str) -> str:
        pairs = said = ""
        for each in ("When?", "How much?", question):
            said = answer.invoke({"question": each, "pairs": pairs})
            pairs += f"\nQuestion: {each}\nAnswer: {said}\n"
        return said

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


@function(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ calls(1): 1.0},
)
def map_reduce_over_documents() -> Any:
    """Each document is summarized alone, and the summaries are reduced to an answer."""
    retriever = shelf("timetable cafe bicycles")
    summary = (
        PromptTemplate.from_template("Summarize: {text}") | model("Short.") | StrOutputParser()
    )
    reduce = PromptTemplate.from_template("Combine: {texts}") | model() | StrOutputParser()

    def ask(question: str) -> str:
        found = retriever.invoke(question)
        texts = summary.batch([{"text": each.page_content} for each in found])
        return reduce.invoke({"texts": "\n".join(texts)})

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
