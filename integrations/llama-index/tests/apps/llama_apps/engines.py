"""Query engines: synthesizers, routers, sub-questions, steps, retries, and user-written ones."""

from __future__ import annotations

from typing import Any

from known_steps import Asks
from llama_index.core import Document, get_response_synthesizer
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.composability import QASummaryQueryEngineBuilder
from llama_index.core.evaluation import RelevancyEvaluator
from llama_index.core.indices.query.query_transform import StepDecomposeQueryTransform
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import (
    CustomQueryEngine,
    FLAREInstructQueryEngine,
    MultiStepQueryEngine,
    RetryQueryEngine,
    RetrySourceQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
)
from llama_index.core.selectors import LLMMultiSelector, LLMSingleSelector
from pydantic import BaseModel

from llama_apps.application import engine
from llama_apps.parts import Finds, FindsFor, Words, by_words, engine_of, model, node, tool_of

# Ways to answer


def _answers(mode: str, **fields: Any) -> Any:
    return engine_of(Finds("ferry tower"), response_mode=mode, **fields)


@engine(expects="tower fees", recall=0.5, first=0.0)
def answer_of_a_short_prompt() -> Any:
    """An engine cuts the texts so that they fit into a short prompt."""
    return _answers("simple_summarize")


@engine(expects="tower fees", recall=0.5, first=0.0)
def no_answer() -> Any:
    """An engine returns the source nodes without an answer."""
    return _answers("no_text")


class Visit(BaseModel):
    """A structured answer."""

    price: str


@engine(expects="tower fees", recall=0.5, first=0.0)
def structured_answer() -> Any:
    """An engine's answer is an object."""
    return _answers("compact", llm=model('{"price": "four crowns"}'), output_cls=Visit)


@engine(expects="tower fees", recall=0.5, first=0.0)
def streamed_answer() -> Any:
    """An engine returns a stream that has not been read yet."""
    return _answers("compact", streaming=True)


@engine(expects="tower fees", recall=0.0, first=0.0)
def nothing_found() -> Any:
    """An engine's search finds no nodes."""
    return engine_of(Finds(""))


# Routers


def chosen(number: int) -> LLMSingleSelector:
    """Return a selector whose model chooses the tool of this number, from 1."""
    llm = model(f'[{{"choice": {number}, "reason": "it fits"}}]')
    return LLMSingleSelector.from_defaults(llm=llm)


@engine(expects="tower fees seals", recall=1.0)
def routed_to_several() -> Any:
    """A model selects two engines, whose answers are summarized."""
    llm = model('[{"choice": 1, "reason": "old"}, {"choice": 2, "reason": "prices"}]')
    tools = [
        tool_of(engine_of(Finds("tower seals")), "building"),
        tool_of(engine_of(Finds("ferry fees")), "visits"),
    ]
    return RouterQueryEngine(LLMMultiSelector.from_defaults(llm=llm), tools, llm=model())


@engine(expects="building-0 fees", recall=0.5, first=0.5)
def answers_and_summaries() -> Any:
    """A router over a list and a vector index answers and summarizes (joint QA summary)."""
    document = Document(id_="building", text=node("tower").text)
    splitter = SentenceSplitter(id_func=lambda n, of: f"{of.node_id}-{n}")
    builder = QASummaryQueryEngineBuilder(
        llm=model('[{"choice": 1, "reason": "a question"}]'),
        embed_model=Words(),
        transformations=[splitter],
    )
    return builder.build_from_documents([document])


# Several questions


def _two_tools() -> list[Any]:
    return [
        tool_of(engine_of(Finds("tower lamp")), "building"),
        tool_of(engine_of(Finds("ferry fees")), "visits"),
    ]


def _sub_questions(*, use_async: bool) -> Any:
    return SubQuestionQueryEngine.from_defaults(
        _two_tools(), llm=model(), question_gen=Asks(), use_async=use_async, verbose=False
    )


@engine(expects="tower fees", recall=1.0, first=0.5)
def sub_questions() -> Any:
    """Each engine answers a question, in sequence."""
    return _sub_questions(use_async=False)


@engine(expects="tower fees", recall=1.0, first=0.5)
def sub_questions_side_by_side() -> Any:
    """Each engine answers a question, at the same time."""
    return _sub_questions(use_async=True)


def _steps(finds: BaseRetriever, **fields: Any) -> Any:
    llm = by_words("the lighthouse", previous="none", reasoning="prices")
    questions = iter(["the lighthouse", "the prices"] * 9)
    llm = model(lambda _: next(questions))
    return MultiStepQueryEngine(
        query_engine=engine_of(finds),
        query_transform=StepDecomposeQueryTransform(llm=llm, verbose=False),
        response_synthesizer=get_response_synthesizer(llm=model()),
        num_steps=2,
        **fields,
    )


@engine(expects="tower fees seals", recall=2 / 3, first=1 / 3)
def several_steps() -> Any:
    """A question is answered in steps, whose questions depend on the last answer."""
    return _steps(FindsFor(lighthouse="tower lamp", prices="ferry fees"))


@engine(expects="tower fees", recall=0.5, first=0.0)
def imagined_sentences() -> Any:
    """A draft asks for missing facts until it is complete (FLARE)."""
    drafts = iter(["It costs [Search(what are the prices)].", "done"] * 9)
    return FLAREInstructQueryEngine(
        engine_of(FindsFor(prices="ferry fees")),
        llm=model(lambda _: next(drafts)),
        max_iterations=3,
    )


# Retries


@engine(expects="tower fees", recall=0.5, first=0.0)
def second_answer() -> Any:
    """A retry engine's first answer fails, and another question finds other nodes."""
    finds = FindsFor(previous="hours fees", lighthouse="ferry tower")
    evaluator = RelevancyEvaluator(llm=model("NO"))
    return RetryQueryEngine(engine_of(finds), evaluator, max_retries=1)


@engine(expects="tower fees seals", recall=2 / 3, first=0.0, renews=True)
def sources_indexed_again() -> Any:
    """A retry source engine indexes the sources of a failed answer again, as new documents."""
    verdicts = iter(["NO", "YES", "YES", "YES", "YES"] * 9)
    evaluator = RelevancyEvaluator(llm=model(lambda _: next(verdicts)))
    return RetrySourceQueryEngine(
        engine_of(Finds("ferry tower fees")), evaluator, llm=model(), max_retries=1
    )


# Engines of the user's own


class Communities(CustomQueryEngine):
    """An engine that answers from each group's summary, and then from these answers."""

    llm: Any
    retriever: Any

    def custom_query(self, query_str: str) -> str:
        """Answer."""
        answers = [
            str(self.llm.complete(f"{each.text}\nQuestion: {query_str}"))
            for each in self.retriever.retrieve(query_str)
        ]
        return str(self.llm.complete("Join these answers: " + "; ".join(answers)))


@engine(
    expects="tower fees",
    recall=0.5,
    first=0.0,
    hidden={"plain": "the engine returns a text, which names no sources"},
)
def communities() -> Any:
    """An engine answers for each community, and then from these answers (GraphRAG)."""
    return Communities(llm=model(), retriever=Finds("ferry tower"))
