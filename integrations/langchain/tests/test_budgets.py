"""Calls, tokens and seconds of real agents equal those counted by hand.

`FULLRECALL_RUNS=200` draws 200 agents of each kind.
"""

from __future__ import annotations

import random
import time
from typing import Any, NamedTuple

import pytest
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from langchain_core.vectorstores import InMemoryVectorStore
from langsmith import evaluate as langsmith_evaluate

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import Leak, Recall, calls, seconds, tokens
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


_LENGTHS = {name: 4 * (20 + 7 * nth) for nth, name in enumerate("abcdefghij")}
"""The characters of each document: whole tokens, and no two sums of them alike by chance."""


class Turn(NamedTuple):
    """One parallel search of an agent: queries, each with its returned IDs or an error."""

    queries: tuple[str, ...]


class Paid(NamedTuple):
    """The cost of a document: the call that returned it, and the tokens read until then."""

    call: int
    tokens: float


def drawn(rng: random.Random) -> list[Turn]:
    """Return the turns of an agent: parallel, repeated, empty and failing searches."""
    known = ["".join(rng.sample("abcdefghij", rng.randint(0, 4))) for _ in range(4)]
    queries = [f"{ids}." for ids in known] + ["broken"]
    return [
        Turn(tuple(rng.choice(queries) for _ in range(rng.randint(1, 3))))
        for _ in range(rng.randint(1, 4))
    ]


def counted(turns: list[Turn]) -> dict[str, Paid]:
    """Return each document's cost, counted by hand: its first call, and all tokens read before."""
    paid: dict[str, Paid] = {}
    number, read = 0, 0.0
    for turn in turns:
        for query in turn.queries:
            number += 1
            for name in "" if query == "broken" else query.rstrip("."):
                read += _LENGTHS[name] / 4
                paid.setdefault(name, Paid(number, read))
    return paid


def document(name: str) -> Document:
    """Return a new copy of a document."""
    return Document(f"{name} " * (_LENGTHS[name] // 2), id=name)


class Clock:
    """A clock of the tool, with the begin and end of each search."""

    def __init__(self) -> None:
        self.began: list[float] = []
        self.ended: dict[str, float] = {}


def agent_of(kind: str, turns: list[Turn], clock: Clock) -> Any:
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
                for query in turn.queries
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
        after = time.monotonic()
        expected = counted(turns)
        if not expected:
            assert not found.contexts, turns
            continue
        assert found.error is None, (turns, found.error)
        sample = Sample(reference_context_ids=sorted(expected), retrieval=found)
        result = IdRecall().score(sample)
        total = sum(len(turn.queries) for turn in turns)
        for number in range(1, total + 1):
            share = sum(paid.call <= number for paid in expected.values()) / len(expected)
            assert result[Recall @ calls(number)] == pytest.approx(share), (turns, number)
        for paid in expected.values():
            share = sum(each.tokens <= paid.tokens for each in expected.values()) / len(expected)
            assert result[Recall @ tokens(int(paid.tokens))] == pytest.approx(share), turns
        for context, ended in zip(found.contexts or (), found.seconds or (), strict=True):
            assert ended is not None
            assert clock.ended[str(context.id)] - clock.began[0] <= ended <= after - before
        assert result[Recall @ seconds(after - before)] == 1.0
        (part,) = evaluate([sample], IdRecall(), progress=False).table.parts
        assert part.costs.calls_made[0] == total


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
