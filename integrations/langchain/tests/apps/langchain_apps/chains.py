"""Chains of LCEL with one search, as tutorials and templates build them."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from pydantic import BaseModel

from fullrecall.measures import Recall
from langchain_apps.application import Stated, function, of_the_answer, runnable
from langchain_apps.parts import ANSWER, PROMPT, Listed, joined, model, shelf, store, structured


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
