"""An application: how it is built and asked, the references, and the right recall.

`APPLICATIONS` has them all by name. A module of applications adds its own with the decorators at
the end: `runnable` for a function that returns a chain, a graph or an agent, `function` for one
that returns a function of the question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

from langchain_core.runnables import RunnableConfig
from langchain_core.vectorstores import VectorStore

from fullrecall.measures import Measure, Recall
from langchain_apps.parts import QUESTION

Output: TypeAlias = Literal["text", "documents", "messages"]
"""What the application returns: text alone holds no documents, so doors that see only an output
cannot score it."""

Values: TypeAlias = Mapping[Measure | str, float]
"""Values by measure; those of an experiment by a name."""


def plain(question: str) -> Any:
    """Return the input of a chain that takes the question itself."""
    return question


def keyed(name: str) -> Callable[[str], Any]:
    """Return a function that makes the input of a chain from the question, under a key."""
    return lambda question: {name: question}


def messages(question: str) -> Any:
    """Return the input of an agent."""
    return {"messages": [{"role": "user", "content": question}]}


@dataclass(frozen=True)
class Stated:
    """The numbers that an entry point gives by design, with None for no number, and the reason."""

    reason: str
    values: Values | None = None


ANSWER_ONLY = (
    "observed function",
    "captured",
    "captured async",
    "langsmith",
    "langsmith async",
    "report",
    "stored",
    "spans",
)
"""The doors of a function that see its answer alone, not the documents that it returns."""


def of_the_answer(reason: str, values: Values | None = None) -> dict[str, Stated]:
    """Return the designed numbers of a function that returns an answer without documents."""
    return dict.fromkeys(ANSWER_ONLY, Stated(reason, values))


SYNC_ONLY = dict.fromkeys(
    ("observed async", "captured async", "captured events", "langsmith async"),
    "it cannot be awaited",
)
"""The doors of an application without asynchronous methods, skipped."""


@dataclass(frozen=True)
class Application:
    """A program of LangChain's and LangGraph's parts, and its right recall.

    - `build`: returns the thing that is asked, new each time.
    - `expects`: the reference IDs.
    - `right`: the right value of each measure. With `unscorable`, no door has to give it.
    - `as_input`: makes the input of a question, as its users do.
    - `output`: whether documents can be read from the output alone.
    - `retrieved`, `read`: the right recall of the other two lists of the record: retrieved before
      later steps, and in the model's prompt; None if the application has no such list.
    - `unscorable`: why no door can give a number.
    - `designed`: by door, the numbers that docs/langchain.md states for a case which the record
      cannot decide, or that an output alone gives.
    - `options`: those of `observed`, of captures and of the evaluator.
    - `observing`: further options of `observed` alone.
    - `config`: the config of every call.
    - `in_notes`: whether the case is one of the field notes.
    - `batches`: whether it can answer two questions at once: its script does not count calls.
    - `is_awaited`: whether the function has to be awaited.
    - `streams`: whether it is asked by streams too. Some are: a stream is the slowest door.
    - `skips`: doors through which it cannot be asked, with the reason.
    - `own_doors`: doors of this application alone; an experiment has no other ones.
    """

    name: str
    kind: Literal["runnable", "function", "experiment"]
    build: Callable[[], Any]
    expects: str
    right: Values
    question: str = QUESTION
    as_input: Callable[[str], Any] = plain
    output: Output = "text"
    retrieved: float | None = None
    read: float | None = None
    unscorable: str | None = None
    designed: Mapping[str, Stated] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    observing: Mapping[str, Any] = field(default_factory=dict)
    config: RunnableConfig = field(default_factory=RunnableConfig)
    in_notes: bool = False
    batches: bool = False
    streams: bool = False
    is_awaited: bool = False
    skips: Mapping[str, str] = field(default_factory=dict)
    own_doors: Mapping[str, Callable[[], Mapping[Any, float | None]]] = field(default_factory=dict)

    @property
    def references(self) -> list[str]:
        """Return the reference IDs."""
        return self.expects.split()

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Return the measures whose right value is stated."""
        return tuple(each for each in self.right if isinstance(each, Measure)) or (Recall,)

    def ask(self, thing: Any, question: str | None = None) -> Any:
        """Ask the thing the question, as its users do; return its output."""
        question = self.question if question is None else question
        if self.kind == "runnable":
            return _runnable(thing).invoke(self.as_input(question), self.config or None)
        return asyncio.run(thing(question)) if self.is_awaited else thing(question)

    async def aask(self, thing: Any) -> Any:
        """Await the output of the thing."""
        if self.kind == "runnable":
            return await _runnable(thing).ainvoke(self.as_input(self.question), self.config or None)
        return await thing(self.question)


def _runnable(thing: Any) -> Any:
    return thing.as_retriever() if isinstance(thing, VectorStore) else thing


APPLICATIONS: dict[str, Application] = {}


def _declare(kind: Literal["runnable", "function"], /, **fields: Any) -> Callable[[Any], Any]:
    def declared(build: Callable[[], Any]) -> Callable[[], Any]:
        name = build.__name__
        if name in APPLICATIONS:
            raise ValueError(f"two applications are named {name}")
        APPLICATIONS[name] = Application(name, kind, build, **fields)
        return build

    return declared


runnable = partial(_declare, "runnable")
function = partial(_declare, "function")
