"""An application: how it is built, the question, the references, and the right recall.

`APPLICATIONS` has them all by name; a module of applications adds its own with the decorators at
the end, one for each kind of thing that LlamaIndex can ask.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Literal, TypeAlias

QUESTION = "When was the lighthouse tower finished, and what are the admission costs?"

Kind: TypeAlias = Literal["retriever", "engine", "chat", "agent", "workflow", "function"]

Returns: TypeAlias = Literal["nodes", "response", "agent output", "text", "other"]
"""The kind of an application's result; only nodes, responses and agents' outputs carry nodes."""

_RETURNS: dict[Kind, Returns] = {
    "retriever": "nodes",
    "engine": "response",
    "chat": "response",
    "agent": "agent output",
    "workflow": "text",
    "function": "nodes",
}


@dataclass(frozen=True)
class Application:
    """A program of LlamaIndex's parts, and its right recall.

    - `build`: returns the retriever, engine, agent, workflow or function, new each time.
    - `expects`: the references' IDs, in words; a list in the list is an any-of group.
    - `recall`, `first`: the right recall, and the right recall at 1; None if no rank is right, as
      for several nodes that were merged into one.
    - `retrieved`: the right recall of the nodes that were retrieved before any later step; None if
      there is no later step.
    - `read`: the right recall of the contexts that the model's prompt has; None if not stated.
    - `stages`: the right recall of the list that a stage returned, by the stage's name.
    - `unscorable`: why no number can be told by any door. With a `recall`, that number is right
      too, if a door can tell it.
    - `hidden`: the doors that cannot tell a number, with the reason: unscored is right there.
      "plain" is every door that sees source nodes only.
    - `renews`: code gives nodes new IDs, or makes a node of an answer. A door without a record then
      compares those IDs and must say so, or gives no number.
    - `options`: those of `observed`, of blocks, and of the evaluator.
    - `skips`: doors through which this application cannot be asked, with the reason.
    """

    name: str
    kind: Kind
    build: Callable[[], Any]
    expects: str | list[Any]
    recall: float | None
    first: float | None = None
    question: str = QUESTION
    returns: Returns = "nodes"
    retrieved: float | None = None
    read: float | None = None
    stages: Mapping[str, float] = field(default_factory=dict)
    unscorable: str | None = None
    hidden: Mapping[str, str] = field(default_factory=dict)
    renews: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    skips: Mapping[str, str] = field(default_factory=dict)

    @property
    def references(self) -> list[Any]:
        """Return the expected IDs, as `expected_ids` takes them."""
        return self.expects.split() if isinstance(self.expects, str) else self.expects

    def ask(self, thing: Any) -> Any:
        """Ask the thing the question, as its users do; return its answer."""
        if self.kind == "retriever":
            return thing.retrieve(self.question)
        if self.kind == "engine":
            return thing.query(self.question)
        if self.kind == "chat":
            return thing.chat(self.question)
        if self.kind == "function" and not iscoroutinefunction(thing):
            answer = thing(self.question)
            return list(answer) if isinstance(answer, Iterator) else answer
        return asyncio.run(self.aask(thing))

    async def aask(self, thing: Any) -> Any:
        """Await the answer of the thing to the question."""
        if self.kind == "retriever":
            return await thing.aretrieve(self.question)
        if self.kind == "engine":
            return await thing.aquery(self.question)
        if self.kind == "chat":
            return await thing.achat(self.question)
        if self.kind == "agent":
            return await thing.run(user_msg=self.question)
        if self.kind == "workflow":
            return await thing.run(query=self.question)
        answer = thing(self.question)
        return await answer if iscoroutinefunction(thing) else answer


APPLICATIONS: dict[str, Application] = {}


def add(application: Application) -> None:
    """Add an application under its name, which must be free."""
    if application.name in APPLICATIONS:
        raise ValueError(f"two applications are named {application.name}")
    APPLICATIONS[application.name] = application


def _declare(kind: Kind, /, **fields: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def declared(build: Callable[[], Any]) -> Callable[[], Any]:
        values = {"returns": _RETURNS[kind], **fields}
        add(Application(build.__name__, kind, build, **values))
        return build

    return declared


retriever = partial(_declare, "retriever")
engine = partial(_declare, "engine")
chat = partial(_declare, "chat")
agent = partial(_declare, "agent")
workflow = partial(_declare, "workflow")
function = partial(_declare, "function")
