"""One event of a run: a call of a retriever, a reranker, a tool, a model, a chain or an agent."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

StepKind: TypeAlias = Literal["retriever", "reranker", "tool", "llm", "chain", "agent"]
"""The kind of a step, as OpenInference names it."""

Path: TypeAlias = tuple[Hashable, ...]
"""The place of a list in a value: the keys of the mappings above it, and `ITEM` for a list's item.
"""

ITEM = None
"""The path part for any item of a list: positions are left out, so all items have one path."""

ROWS: Path = ("<rows>",)
"""The path of a call's output read as rows, such as IDs; they count if all are known documents."""

HITS: Path = ("<hits>",)
"""The path of the search hits in a tool's result; see `tools.hits_in`."""

ARTIFACT: Path = ("artifact",)
"""The path of documents that a tool returned beside its text.

It is also the path of documents that a function of `tool_documents` found in a tool's result.
"""


class DocumentCopy(NamedTuple):
    """A copy of one document at the time of one event.

    - `token`: the identity of the object, which the log keeps alive, or 0 if it has none.
    - `id`, `text`: the ID and the text of the document; None and "" if it has none.
    - `detail`: the data that the adapter needs to make a `Context`: a score, metadata.
    """

    token: int
    id: str | None
    text: str
    detail: Any = None


copied = DocumentCopy._make
"""Makes a `DocumentCopy` of a tuple of its four fields, faster than the class itself does."""


class DocumentList(NamedTuple):
    """One list of documents at some place in a step's input or output.

    `certain` is False for bare texts and rows, which may not be documents. Those of known documents
    are used. Other bare texts are used only if they are the whole output of a call in which no step
    retrieved a document. `hits` is True if each document was found in an item of its own, for
    example beside a score.
    """

    path: Path
    documents: tuple[DocumentCopy, ...]
    certain: bool = True
    hits: bool = False


@dataclass(slots=True, eq=False)
class Step:
    """One event as an adapter records it; `began` and `ended` are counters that order events.

    - `id`, `parent`: the IDs of the event and of its caller. A step with an unknown parent was
      called by the root, if there is a root.
    - `kind`, `name`: its kind, and its name in messages and stages.
    - `given`, `returned`: every list of documents in its input and its output, copied at the event.
    - `texts`: all text in its output, in pieces.
    - `prompt`: for a model, the text of each message that it was sent; None for anything else.
    - `asked`: for a model, the users' messages in its prompt, stripped.
    - `query`: the query that it was called with.
    - `result`: a tool's result, for the user's function that reads it.
    - `error`: why the step failed; a tool that reports a failure instead of raising failed too.
    - `outputs`: the `id()` of the returned object. If an inner method of the call returned another
      object, that object's `id()` is there too. The objects are kept alive. Empty for plain values.
    - `callee`: the called object or tool, by identity or name, if the framework reports it.
    - `task`: the unit of work that this step is an attempt of, if the framework names it.
    - `closed`: whether its input comes from this run alone, not from an earlier run's saved state.
    - `tries`: whether its calls are alternatives or attempts, so a later success repairs a failure.
    - `answers`: whether it is known to answer from its input alone.
    - `stores`: whether it cuts texts for a new store, which returns them under new IDs.
    - `group`, `branch`: steps with the same caller and group count as parallel, even if their
      recorded times differ; they are ordered by `branch`, such as "map:key:x" or "000000001".
    - `reorders`: whether it orders documents for the model's attention, and not by rank.
    - `labels`: the framework's tags and metadata, by which adapters select steps.
    - `seconds`: when it ended, in seconds since the call began; None if that is unknown.
    """

    id: Hashable
    parent: Hashable | None
    kind: StepKind
    name: str
    given: tuple[DocumentList, ...] = ()
    returned: tuple[DocumentList, ...] = ()
    texts: tuple[str, ...] = ()
    prompt: tuple[str, ...] | None = None
    asked: tuple[str, ...] = ()
    query: str | None = None
    result: Any = None
    error: str | None = None
    outputs: tuple[int, ...] = ()
    callee: Hashable | None = None
    task: Hashable | None = None
    closed: bool = False
    tries: bool = False
    answers: bool = False
    stores: bool = False
    group: Hashable | None = None
    branch: str = ""
    reorders: bool = False
    began: float = 0
    ended: float | None = None
    seconds: float | None = None
    labels: Any = None

    @property
    def retrieves(self) -> bool:
        """Whether the step is a retriever or a reranker: it returns only documents."""
        return self.kind in ("retriever", "reranker")

    @property
    def is_empty(self) -> bool:
        """Whether the step is a chain that has ended without documents, texts, error or task.

        A chain with `tries`, `answers` or `stores` is never empty. Embedding steps are empty.
        """
        contents = (self.given, self.returned, self.texts, self.prompt, self.error, self.task)
        plays_a_part = self.kind != "chain" or self.tries or self.answers or self.stores
        return not (plays_a_part or any(contents) or self.ended is None)
