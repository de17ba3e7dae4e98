"""From the runs of one call to its record: which calls there were, and what went into what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fullrecall import Context
from fullrecall.errors import InputError
from fullrecall.reordering import is_reordering
from fullrecall.retrieval import Call
from langchain_fullrecall.documents import DocumentReader
from langchain_fullrecall.tree import CHILD, FALLBACKS, Node


@dataclass(eq=False, slots=True)
class Step:
    """A run that returned documents, or failed to; `taken` are the steps whose documents it took.

    `number` and `is_query` say as which child of a retriever, or as which of its queries, it ran.
    """

    node: Node
    taken: list[Step] = field(default_factory=list)
    number: int | None = None
    is_query: bool = False
    recovered: bool = False


def steps_of(root: Node) -> list[Step]:
    """Return the outermost steps of a run: those whose documents no later one took.

    A step is a retriever, a tool that returned documents, a step of a sequence that turned
    documents into documents, and what observers saw inside of a retriever.
    """
    return _follow(root, after=False)


def _follow(node: Node, *, after: bool) -> list[Step]:
    opened: list[Step] = []
    for child in node.ordered():
        # Fallbacks have the number of what they are fallbacks of: none took another's documents.
        serial = child.kind == "step" or child.step_of(node) is not None
        serial = serial and node.name != FALLBACKS
        found = _follow(
            child, after=serial and any(step.node.contexts is not None for step in opened)
        )
        for step in found:
            if child.number(CHILD) is not None and step.number is None:
                step.number = child.number(CHILD)
            step.is_query = step.is_query or node.maps or "MultiQuery" in node.name
        if serial and len(found) == 1 and found[0].node is child and not child.failed:
            found[0].taken = [*opened, *found[0].taken]
            opened = found
        else:
            opened += found
    _note_recovered(node, opened)
    if not _is_step(node, opened, after=after):
        return opened
    return [Step(node, opened)]


def _is_step(node: Node, opened: Sequence[Step], *, after: bool) -> bool:
    if node.kind in ("retriever", "step"):
        return True
    if node.contexts is None or (node.name == FALLBACKS and opened):
        return False
    if node.kind == "tool":
        return True
    worked = [step for step in opened if not step.node.failed]
    passes_on = len(worked) == 1 and worked[0].node.contexts == node.contexts
    return node.kind == "chain" and (after or bool(opened)) and not passes_on


def _note_recovered(node: Node, opened: Sequence[Step]) -> None:
    """Mark what failed and was made good: by a fallback, or by the same call, made again."""
    worked = {(s.node.name, s.node.query) for s in opened if not s.node.failed}
    fell_back = node.name == FALLBACKS and node.ended and not node.failed
    for step in opened:
        if step.node.failed and (fell_back or (step.node.name, step.node.query) in worked):
            step.recovered = True


def call_of(step: Step, reader: DocumentReader) -> Call:
    """Return a step, with all whose documents it took, as calls of the record.

    Raises `InputError`, naming the retriever, for what cannot be read as documents.
    """
    return _call(step, reader, step.node.name)


def _call(step: Step, reader: DocumentReader, source: str) -> Call:
    node = step.node
    names = _names(step)
    contexts = None if node.failed else _read(node, reader)
    children = tuple(
        _call(child, reader, name) for child, name in zip(step.taken, names, strict=True)
    )
    before = children[0].contexts if len(children) == 1 else None
    return Call(
        source,
        node.query if node.kind != "step" else None,
        contexts,
        node.error,
        children,
        step.recovered,
        is_reordering(node.name, before, contexts),
    )


def _names(step: Step) -> list[str]:
    """Return the names of the steps that one took: the same in every run of the application.

    - those of a multi-query retriever, or of `.map()`: "… query 1", "… query 2";
    - those of an ensemble or a merger: "EnsembleRetriever[0]", "EnsembleRetriever[1]";
    - any others by the name of their run, which is that of the class unless it was given one.
    """
    counts = Counter(child.node.name for child in step.taken)
    queries: Counter[str] = Counter()
    names = []
    for child in step.taken:
        name = child.node.name
        if child.is_query and child.node.kind == "retriever":
            queries[name] += not child.recovered
            name = f"{name} query {queries[name] + child.recovered}"
        elif counts[name] > 1 and child.number is not None:
            name = f"{step.node.name}[{child.number - 1}]"
        names.append(name)
    return names


def _read(node: Node, reader: DocumentReader) -> tuple[Context, ...] | None:
    if node.problem is not None:
        raise InputError(f"{node.kind} {node.name!r}: {node.problem}", field="retrieved_contexts")
    if node.contexts is None:
        return None
    if node.chunk_key is not None and reader.id_key is None:
        # The ID of a chunk is never that of its document: the key of the docstore is the nearest.
        reader = replace(reader, id_key=node.chunk_key)
    try:
        return tuple(reader.contexts(node.contexts))
    except InputError as error:
        message = f"{node.kind} {node.name!r}: {error}"
        raise InputError(message, field="retrieved_contexts") from None
