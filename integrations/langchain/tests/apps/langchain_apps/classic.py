"""The retrievers and chains of langchain-classic, which most public code still uses."""

from __future__ import annotations

from typing import Any

from langchain_classic.chains import (
    ConversationalRetrievalChain,
    RetrievalQA,
    create_history_aware_retriever,
    create_retrieval_chain,
)
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_classic.chains.query_constructor.ir import Comparator, Comparison, StructuredQuery
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
    MultiVectorRetriever,
    RePhraseQueryRetriever,
    SelfQueryRetriever,
)
from langchain_classic.retrievers.document_compressors import (
    CrossEncoderReranker,
    LLMChainExtractor,
    LLMChainFilter,
)
from langchain_classic.retrievers.document_compressors.cross_encoder import BaseCrossEncoder
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.stores import InMemoryStore
from langchain_core.structured_query import Visitor
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_core.version import VERSION

from fullrecall.measures import Recall
from fullrecall.measures import calls as first_calls
from langchain_apps.application import SYNC_ONLY, Stated, keyed, runnable
from langchain_apps.parts import ANSWER, PROMPT, TEXTS, StatedOrder, document, model, shelf

_STUFF = ChatPromptTemplate.from_messages(
    [("system", "Answer from this:\n\n{context}"), ("human", "{input}")]
)

# Chains

_INPUT = {} if VERSION >= "1.1" else {"as_input": keyed("input")}
"""langchain-core 1.0 does not tell the key of these chains' input; newer versions do."""


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.0, Recall @ 2: 0.5},
    as_input=keyed("input"),
    observing=_INPUT,
    output="documents",
    read=1.0,
    batches=True,
    streams=True,
)
def retrieval_chain() -> Any:
    """`create_retrieval_chain` over `create_stuff_documents_chain`."""
    answer = create_stuff_documents_chain(model(), _STUFF)
    return create_retrieval_chain(shelf("cafe timetable bicycles"), answer)


_HISTORY = [
    HumanMessage("When does the last boat leave?"),
    AIMessage("At ten past four, as the winter timetable says."),
]


def _with_history(question: str) -> Any:
    return {"input": question, "chat_history": _HISTORY}


@runnable(
    expects="bicycles luggage",
    right={Recall: 0.5, Recall @ 1: 0.5},
    question="And with a bicycle?",
    as_input=_with_history,
    observing={"as_input": _with_history},
    output="documents",
    read=0.5,
    streams=True,
)
def history_aware() -> Any:
    """A history-aware retriever searches for the question as a model rewrote it."""
    alone = "What does a bicycle cost on the ferry?"
    rewrite = ChatPromptTemplate.from_messages(
        [
            MessagesPlaceholder("chat_history"),
            ("human", "{input}"),
            ("human", "Write it to stand alone."),
        ]
    )
    retriever = create_history_aware_retriever(
        model(alone), shelf(by_query={alone: "bicycles fares"}), rewrite
    )
    return create_retrieval_chain(retriever, create_stuff_documents_chain(model(), _STUFF))


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=keyed("query"),
    output="documents",
    read=0.5,
)
def retrieval_qa() -> Any:
    """`RetrievalQA` with its sources."""
    return RetrievalQA.from_chain_type(
        model(), retriever=shelf("timetable cafe"), return_source_documents=True
    )


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    as_input=keyed("query"),
)
def retrieval_qa_map_reduce() -> Any:
    """`RetrievalQA` that asks a model of each document, then of the answers."""
    return RetrievalQA.from_chain_type(
        model(), retriever=shelf("timetable cafe dogs"), chain_type="map_reduce"
    )


def _asked_in_chat(question: str) -> Any:
    return {"question": question, "chat_history": [("When?", "At ten past four.")]}


@runnable(
    expects="bicycles fares",
    right={Recall: 1.0, Recall @ 1: 0.5},
    question="And with a bicycle?",
    as_input=_asked_in_chat,
    observing={"as_input": _asked_in_chat},
    output="documents",
    read=1.0,
)
def conversational_chain() -> Any:
    """`ConversationalRetrievalChain` condenses the question before it searches."""
    alone = "What does a bicycle cost?"
    return ConversationalRetrievalChain.from_llm(
        model(alone, ANSWER),
        retriever=shelf(by_query={alone: "bicycles fares"}),
        return_source_documents=True,
    )


# Retrievers of retrievers


@runnable(
    expects="timetable bicycles delays",
    right={Recall: 1.0, Recall @ 1: 1 / 3, Recall @ 2: 2 / 3, Recall @ first_calls(1): 1.0},
    output="documents",
)
def multi_query() -> Any:
    """The lists of a model's three queries are united: timetable, bicycles, cafe, delays."""
    by_query = {"one": "timetable bicycles", "two": "cafe timetable", "three": "delays"}
    return MultiQueryRetriever.from_llm(shelf(by_query=by_query), model("one\ntwo\nthree"))


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.0, Recall @ 2: 0.5, Recall @ 3: 1.0},
    output="documents",
    streams=True,
)
def ensemble() -> Any:
    """Two lists are fused by weighted reciprocal rank: cafe, timetable, bicycles, dogs.

    cafe .5/62 + .5/61, timetable .5/61, bicycles .5/62, dogs .5/63.
    """
    first, second = shelf("timetable cafe"), shelf("cafe bicycles dogs")
    return EnsembleRetriever(retrievers=[first, second], weights=[0.5, 0.5])


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 0.5, Recall @ 4: 1.0},
    output="documents",
)
def merger() -> Any:
    """Two lists are merged by turns: timetable, dogs, cafe, bicycles."""
    return MergerRetriever(retrievers=[shelf("timetable cafe"), shelf("dogs bicycles")])


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.5},
    output="documents",
    skips=SYNC_ONLY,
)
def rephrased() -> Any:
    """The question is rephrased by a model before the search."""
    by_query = {"winter ferry": "timetable cafe"}
    return RePhraseQueryRetriever.from_llm(shelf(by_query=by_query), model("winter ferry"))


# Compression and reranking

_NO_IDS = dict.fromkeys(
    ("strings", "function"), Stated("the output alone has documents without IDs")
)


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.0},
    output="documents",
    retrieved=1.0,
)
def filtered_by_a_model() -> Any:
    """A model judges each document's relevance, and timetable is dropped."""

    def says(messages: list[BaseMessage]) -> str:
        return "NO" if TEXTS["timetable"] in messages[-1].text else "YES"

    return ContextualCompressionRetriever(
        base_compressor=LLMChainFilter.from_llm(model(says)),
        base_retriever=shelf("timetable cafe bicycles"),
    )


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5, Recall @ 2: 1.0},
    designed=_NO_IDS,
    output="documents",
)
def extracted_by_a_model() -> Any:
    """A model extracts a part of each document, which loses its ID in LangChain."""

    def says(messages: list[BaseMessage]) -> str:
        text = messages[-1].text
        if TEXTS["timetable"] in text:
            return "the last boat to Skerry casts off at ten past four"
        return (
            "A bicycle is carried on deck for three crowns" if "bicycle is" in text else "NO_OUTPUT"
        )

    return ContextualCompressionRetriever(
        base_compressor=LLMChainExtractor.from_llm(model(says)),
        base_retriever=shelf("timetable cafe bicycles"),
    )


class _Encoder(BaseCrossEncoder):
    """A cross-encoder that scores a text by its place in a given order."""

    def __init__(self, order: str) -> None:
        self._order = [TEXTS[name] for name in order.split()]

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        """Return a score for each pair of a question and a text."""
        return [-float(self._order.index(text)) for _, text in text_pairs]


class _Minting(BaseDocumentCompressor):
    """A reranker that reverses the list into new documents, with IDs of its own in the metadata."""

    def compress_documents(
        self, documents: Any, query: str, callbacks: Callbacks | None = None
    ) -> Any:
        return [
            Document(each.page_content, metadata={"id": number, "relevance_score": 0.5})
            for number, each in enumerate(reversed(documents))
        ]


@runnable(
    expects="bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0},
    designed=_NO_IDS,
    output="documents",
    retrieved=1.0,
)
def reranker_that_drops_ids() -> Any:
    """A reranker makes new documents without `Document.id`, as FlashRank's does."""
    return ContextualCompressionRetriever(
        base_compressor=_Minting(), base_retriever=shelf("timetable cafe bicycles")
    )


class _Reorder(BaseDocumentTransformer):
    """A reorderer that puts the best documents at both ends, as `LongContextReorder` does."""

    def transform_documents(self, documents: Any, **options: Any) -> Any:
        placed: list[Document] = []
        for number, each in enumerate(reversed(list(documents))):
            placed = [*placed, each] if number % 2 else [each, *placed]
        return placed


def _reordered(names: str) -> Any:
    context = shelf(names) | _Reorder().transform_documents
    joined = RunnableLambda(lambda found: "\n".join(each.page_content for each in found))
    return {"context": context | joined, "question": RunnablePassthrough()} | PROMPT | model()


@runnable(
    expects="bicycles",
    right={Recall: 1.0, Recall @ 1: 0.0, Recall @ 2: 1.0},
    read=1.0,
    retrieved=1.0,
    in_notes=True,
    streams=True,
)
def long_context_reorder_of_four() -> Any:
    """Four documents, the default of a vector store, are reordered for the prompt.

    timetable, bicycles, cafe, dogs becomes bicycles, dogs, cafe, timetable, which is no ranking.
    """
    return _reordered("timetable bicycles cafe dogs")


@runnable(
    expects="bicycles",
    right={Recall: 1.0, Recall @ 1: 1.0},
    read=1.0,
    retrieved=1.0,
)
def reranked_like_a_reordering() -> Any:
    """A reranker returns by chance the order of a reordering for the prompt: still a ranking."""
    reranker = CrossEncoderReranker(model=_Encoder("bicycles dogs cafe timetable"), top_n=4)
    best = ContextualCompressionRetriever(
        base_compressor=reranker, base_retriever=shelf("timetable bicycles cafe dogs")
    )
    joined = RunnableLambda(lambda found: "\n".join(each.page_content for each in found))
    return {"context": best | joined, "question": RunnablePassthrough()} | PROMPT | model()


# Small to big


@runnable(
    expects="timetable bicycles",
    right={Recall: 1.0, Recall @ 1: 0.5},
    output="documents",
)
def summaries_of_documents() -> Any:
    """Summaries are searched, and the documents behind them returned (multi-vector)."""
    vectors = InMemoryVectorStore(StatedOrder("fares luggage", {}))
    whole = InMemoryStore()
    whole.mset([("1", document("timetable")), ("2", document("bicycles"))])
    vectors.add_documents(
        [
            Document(TEXTS["fares"], metadata={"doc_id": "1"}),
            Document(TEXTS["luggage"], metadata={"doc_id": "2"}),
        ]
    )
    return MultiVectorRetriever(vectorstore=vectors, docstore=whole, search_kwargs={"k": 2})


# Self-query


class _Filters(Visitor):
    """Translates a structured query for LangChain's in-memory store: one comparison."""

    allowed_comparators = [Comparator.EQ]  # noqa: RUF012 - declared so by LangChain
    allowed_operators: list[Any] = []  # noqa: RUF012 - declared so by LangChain

    def visit_operation(self, operation: Any) -> Any:
        """Refuse: no operation is allowed."""
        raise NotImplementedError

    def visit_comparison(self, comparison: Comparison) -> Any:
        """Return a filter function."""
        return lambda each: each.metadata.get(comparison.attribute) == comparison.value

    def visit_structured_query(self, structured_query: StructuredQuery) -> Any:
        """Return the query and the arguments of the search."""
        condition = structured_query.filter
        found = {} if condition is None else {"filter": condition.accept(self)}
        return structured_query.query, {**found, "k": structured_query.limit or 4}


@runnable(
    expects="timetable bicycles",
    right={Recall: 0.5, Recall @ 1: 0.0, Recall @ 2: 0.5},
    output="documents",
)
def self_query() -> Any:
    """A model writes the query and a metadata filter, which keeps documents of topic b."""
    written = StructuredQuery(
        query="cost",
        filter=Comparison(comparator=Comparator.EQ, attribute="topic", value="b"),
        limit=2,
    )
    vectors = InMemoryVectorStore(StatedOrder("cafe timetable bicycles", {}))
    vectors.add_documents(
        [document("cafe", topic="b"), document("timetable"), document("bicycles")]
    )
    return SelfQueryRetriever(
        query_constructor=RunnableLambda(lambda _: written),
        vectorstore=vectors,
        structured_query_translator=_Filters(),
    )
