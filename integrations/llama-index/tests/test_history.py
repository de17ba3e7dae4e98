"""Everything that takes a history gets a sample's conversation before its question."""

from __future__ import annotations

from typing import Any

import pytest
from known_engines import Brings
from known_steps import Answering
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import CondenseQuestionChatEngine, ContextChatEngine
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

from fullrecall import Sample, evaluate
from fullrecall.scorers import IdRecall
from llama_index.evaluation.fullrecall import observed

pytestmark = pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")

EARLIER = [
    {"role": "user", "content": "What is on the island?"},
    {"role": "assistant", "content": "A lighthouse."},
]
SAMPLE = Sample(
    user_input="How high is it?", reference_context_ids=["a"], metadata={"history": EARLIER}
)


def told(messages: Any) -> list[Any]:
    """Return the nodes that a conversation of two messages finds."""
    texts = [
        each.content if isinstance(each, ChatMessage) else each["content"] for each in messages
    ]
    return Brings("a" if texts[:2] == [each["content"] for each in EARLIER] else "b").retrieve("q")


def ids(thing: Any, sample: Sample = SAMPLE) -> list[str | None]:
    """Return the IDs that an engine or function retrieves for a sample."""
    return [each.id for each in observed(thing).retrieve(sample).contexts or ()]


async def asynchronous(question: str, history: list[Any]) -> list[Any]:
    """Return the nodes of a conversation."""
    assert question
    return told(history)


class Alone(Workflow):
    """A workflow that takes the question only."""

    @step
    async def only(self, ev: StartEvent) -> StopEvent:
        """Retrieve by the conversation."""
        return StopEvent(result=told(ev.get("chat_history", ())))


class Told(StartEvent):
    """A start event with a question and the conversation before it."""

    question: str
    history: list[Any]


class Telling(Workflow):
    """A workflow that takes a history."""

    @step
    async def only(self, ev: Told) -> StopEvent:
        """Retrieve by the conversation."""
        return StopEvent(result=told(ev.history))


@pytest.mark.parametrize(
    "thing",
    [lambda question, history: told(history), asynchronous, Telling()],
    ids=["function", "asynchronous function", "workflow"],
)
def test_a_history_is_that_of_the_sample(thing: Any) -> None:
    """An engine or function with a history gets the sample's, or an empty one."""
    assert ids(thing) == ["a"]
    assert ids(thing, Sample(user_input="q")) == ["b"]


def test_without_a_history_the_question_alone_is_asked() -> None:
    """A function of the question, and a workflow without a history, get the question alone."""
    assert ids(lambda question: Brings(question[:3]).retrieve("q")) == ["How"]
    assert ids(Alone()) == ["b"]


@pytest.mark.parametrize("kind", [ContextChatEngine, CondenseQuestionChatEngine])
def test_a_chat_engine_answers_within_the_conversation(kind: Any) -> None:
    """A chat engine's model gets the messages, and the engine's own history stays unchanged."""
    prompts: list[str] = []

    def reply(prompt: str) -> str:
        prompts.append(prompt)
        return "x"

    finds = Brings("a", "b")
    memory = ChatMemoryBuffer.from_defaults(token_limit=999)
    parts: Any = {"llm": Answering(reply=reply), "memory": memory}
    if kind is ContextChatEngine:
        engine: Any = kind.from_defaults(retriever=finds, **parts)
    else:
        query_engine = RetrieverQueryEngine.from_args(finds, llm=Answering(reply=reply))
        engine = kind.from_defaults(query_engine, **parts)
    assert ids(engine) == ["a", "b"]
    assert "A lighthouse." in prompts[0]
    prompts.clear()
    report = evaluate([SAMPLE], IdRecall(), retriever=observed(engine), progress=False)
    assert report[0].results[0].score == 1.0
    assert "A lighthouse." in prompts[0]
    assert engine.chat_history == []


def test_an_agent_answers_within_the_conversation() -> None:
    """An agent's model gets the messages before the question."""
    sent: list[str] = []

    def reply(messages: Any, **_: Any) -> Any:
        sent.extend(str(each.content) for each in messages)
        return ChatMessage(role="assistant", content="done")

    model = MockFunctionCallingLLM(response_generator=reply, is_chat_model=True)
    observed(FunctionAgent(tools=[], llm=model)).retrieve(SAMPLE)
    assert [each for each in sent if each][-3:] == [
        "What is on the island?",
        "A lighthouse.",
        "How high is it?",
    ]
