"""Calls, tokens and seconds of real agents equal those counted by hand.

`FULLRECALL_RUNS=200` draws 200 agents of each kind.
"""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from langchain_core.vectorstores import InMemoryVectorStore
from langsmith import evaluate as langsmith_evaluate
from tests.agent_costs import Clock, check_costs, drawn, text_of

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import Leak, Recall, calls
from langchain_fullrecall import RecallStringEvaluator, observed

pytest.importorskip("langgraph", reason="langgraph is not installed: no agent to test")

pytestmark = [
    pytest.mark.filterwarnings("ignore:create_react_agent has been moved"),
    pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta"),
]

KINDS = pytest.mark.parametrize("kind", ["create_agent", "create_react_agent"])


class Script(GenericFakeChatModel):
    """A chat model that follows a script and takes tools."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Return the model itself, since the script knows the tools."""
        return self


def document(name: str) -> Document:
    """Return a new copy of a document."""
    return Document(text_of(name), id=name)


def agent_of(kind: str, turns: list[list[str]], clock: Clock) -> Any:
    """Return an agent that makes these searches."""

    @tool(response_format="content_and_artifact")
    def search(query: str) -> tuple[str, list[Document]]:
        """Search the documents."""
        clock.began.append(time.monotonic())
        if query == "broken":
            raise ConnectionError("the index is gone")
        found = [document(name) for name in query.rstrip(".")]
        now = time.monotonic()
        for each in found:
            clock.ended.setdefault(str(each.id), now)
        return "\n\n".join(each.page_content for each in found), found

    search.handle_tool_error = True
    number = iter(range(1000))
    script = [
        AIMessage(
            "",
            tool_calls=[
                {"name": "search", "args": {"query": query}, "id": f"call {next(number)}"}
                for query in turn
            ],
        )
        for turn in turns
    ]
    model = Script(messages=iter([*script, AIMessage("An answer.")]))
    if kind == "create_agent":
        agents = pytest.importorskip("langchain.agents", reason="langchain 1 is not installed")
        return agents.create_agent(model, [search], middleware=[_forgiving()])
    from langgraph.prebuilt import ToolNode, create_react_agent

    return create_react_agent(model, ToolNode([search], handle_tool_errors=True))


def _forgiving() -> Any:
    """Return a middleware that turns a tool's error into a message, so that the agent goes on."""
    from langchain.agents.middleware import wrap_tool_call
    from langchain_core.messages import ToolMessage

    @wrap_tool_call
    def forgive(request: Any, handler: Any) -> Any:
        try:
            return handler(request)
        except ConnectionError as error:
            return ToolMessage(str(error), tool_call_id=request.tool_call["id"], status="error")

    return forgive


@KINDS
def test_costs_equal_those_counted_by_hand(kind: str, runs: int) -> None:
    """Each document's cost is the calls and tokens until it was first read, for every agent."""
    rng = random.Random(29)
    for _ in range(max(1, runs // 5) if runs < 100 else runs):
        turns, clock = drawn(rng), Clock()
        agent = agent_of(kind, turns, clock)
        before = time.monotonic()
        found = observed(agent, failed_calls="score").retrieve(Sample(user_input="q"))
        check_costs(turns, found, clock, time.monotonic() - before)


@pytest.fixture
def filtered(store: InMemoryVectorStore) -> Any:
    """Return a chain with a filter after the retriever."""

    def allowed(documents: list[Document]) -> list[Document]:
        return [each for each in documents if each.metadata["source"] != "it"]

    def joined(documents: list[Document]) -> str:
        return "\n\n".join(each.page_content for each in documents)

    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    context = store.as_retriever(search_kwargs={"k": 4}) | RunnableLambda(allowed) | joined
    model = FakeListChatModel(responses=["An answer."])
    return {"context": context, "question": RunnablePassthrough()} | prompt | model


def test_the_list_leaks_and_the_prompt_does_not(filtered: Any) -> None:
    """One forbidden document was retrieved, but the filter after the retriever dropped it."""
    samples = [Sample(id="q", user_input="capital", forbidden_ids=["d2"])]
    leaks = {
        view: evaluate(samples, IdRecall(), retriever=observed(filtered), view=view, progress=False)
        .summary(Leak @ 4)[0][Leak @ 4]
        .mean
        for view in ("retrieved", "contexts", "read")
    }
    assert leaks == {"retrieved": 1.0, "contexts": 0.0, "read": 0.0}


def test_feedback_of_a_budget_and_of_a_leak(
    store: InMemoryVectorStore, client: Any, example: Any
) -> None:
    """Feedback has a budget's measure and a leak, and an example's outputs may forbid contexts."""
    chain = RunnableLambda(lambda inputs: inputs["question"]) | store.as_retriever(
        search_kwargs={"k": 4}
    )
    evaluator = RecallStringEvaluator(IdRecall(), Recall @ calls(1), Leak @ 4)
    row = example("capital", reference_context_ids=["d0"], forbidden_ids=["d2"])
    (outcome,) = langsmith_evaluate(
        chain.invoke, data=[row], evaluators=[evaluator], client=client, upload_results=False
    )
    scores = {each.key: each.score for each in outcome["evaluation_results"]["results"]}
    assert scores == {"id_recall@1calls": 1.0, "id_recall.leak@4": 1.0}
