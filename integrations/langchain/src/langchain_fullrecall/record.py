"""From what was seen of a run, and what it returned, to the record of its retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fullrecall import Context, Retrieval
from fullrecall.errors import InputError
from fullrecall.retrieval import Call, FailedCalls
from langchain_fullrecall.documents import DocumentReader
from langchain_fullrecall.outputs import Output
from langchain_fullrecall.pipeline import call_of, steps_of
from langchain_fullrecall.selection import OUTERMOST, Selection
from langchain_fullrecall.tree import Node


@dataclass(frozen=True)
class Reading:
    """How runs are read: the options that the evaluator, `observed` and captures share."""

    reader: DocumentReader
    selection: Selection = OUTERMOST
    failed_calls: FailedCalls = "unscored"
    documents_key: str | None = None


class Seen(NamedTuple):
    """A retrieval, or why none was observed."""

    retrieval: Retrieval
    unseen: str | None = None


def retrieval_of(roots: Sequence[Node], output: Output, reading: Reading, unseen: str) -> Seen:
    """Return what runs and their output say was retrieved.

    The final list is the output's, where the application returned one, else that of the calls
    that are selected; the calls are the record either way. Texts in an output, and documents
    without an ID, have the ID of the call that returned the same text. A selection other than
    that of all outermost calls asks for the calls alone. `unseen` is said where there is nothing.

    Raises `InputError` for documents that cannot be read.
    """
    calls = _calls(roots, reading)
    prompts = prompts_of(roots) or None
    fixed = reading.selection != OUTERMOST and reading.documents_key is None
    if fixed and not calls and (reading.selection.filters or roots):
        return Seen(Retrieval(response=output.response), reading.selection.missing(roots))
    final = None if fixed and calls else output.contexts
    if output.texts is not None and not fixed and any(call.contexts for call in calls):
        # Texts alone say less than the calls that returned them, or what they were made of.
        final = _traced(output.texts, calls)
    elif final is not None:
        final = _identified(final, calls)
    answered = [call for call in calls if call.contexts is not None]
    if len(answered) == 1 and final == list(answered[0].contexts or ()):
        final = None  # the call knows whether its order is a ranking
    if output.error is not None and final is None:
        return Seen(Retrieval(calls=calls, error=output.error, response=output.response))
    if not calls and final is None:
        why = next((f"the run failed: {root.error}" for root in roots if root.failed), None)
        told = unseen
        if output.problem and (reading.documents_key is not None or output.texts):
            told = why or output.problem
        return Seen(Retrieval(response=output.response), told)
    if output.is_empty and any(call.contexts for call in calls):
        # Did the chain drop all documents, or is this its answer? Either guess scores a lie.
        return Seen(
            Retrieval(calls=calls, response=output.response),
            "the output is an empty list, while its retriever returned documents: pass "
            'documents_key="output" if the output is what was retrieved',
        )
    failed = bool(calls) and all(call.contexts is None for call in calls)
    found = Retrieval.of_calls(
        calls,
        # A chain that goes on without documents where its retriever failed retrieved nothing
        # that could be measured: an error is not an empty result.
        contexts=None if failed and not final else final,
        response=output.response,
        prompts=prompts,
        failed_calls=reading.failed_calls,
    )
    if found.contexts is None and found.error is None:
        return Seen(found, unseen)
    return Seen(_collapsed(found, reading.reader))


def prompts_of(roots: Sequence[Node]) -> list[str]:
    """Return what models were sent, those aside that a retriever asks."""
    prompts: list[str] = []

    def follow(node: Node) -> None:
        if node.kind == "retriever":
            return
        prompts.extend(node.prompts)
        for child in node.children:
            follow(child)

    for root in roots:
        follow(root)
    return prompts


def _calls(roots: Sequence[Node], reading: Reading) -> list[Call]:
    calls = [call_of(step, reading.reader) for step in reading.selection.steps(roots)]
    failed = [
        call for call in (_failed_tool(node) for root in roots for node in root.walk()) if call
    ]
    brought = {call.source for call in calls}
    # Of a tool that failed nothing says that it would have retrieved, unless it did so elsewhere
    # or nothing else did.
    return calls + [call for call in failed if not brought or call.source in brought]


def _failed_tool(node: Node) -> Call | None:
    if node.kind != "tool" or not node.failed or steps_of(node):
        return None
    return Call(node.name, node.query, error=node.error)


def _identified(contexts: Sequence[Context], calls: Sequence[Call]) -> list[Context]:
    """Return contexts, those without an ID with that of the only traced context of that text."""
    if all(context.id is not None for context in contexts):
        return list(contexts)
    known = _by_text(calls)
    return [
        Context(**{**context.to_dict(), "id": known[context.text].id})
        if context.id is None and known.get(context.text)
        else context
        for context in contexts
    ]


def _traced(texts: Sequence[str], calls: Sequence[Call]) -> list[Context] | None:
    """Return the traced contexts of these texts, in their order; None where one is not traced."""
    known = _by_text(calls)
    found = [known.get(text) for text in texts]
    return [one for one in found if one is not None] if texts and None not in found else None


def _by_text(calls: Sequence[Call]) -> dict[str | None, Context]:
    """Return each text that was retrieved with its context, where only one has that text."""
    found: dict[str | None, Context | None] = {}
    for call in (each for root in calls for each in root.walk()):
        for context in call.contexts or ():
            if context.id is not None:
                same = found.setdefault(context.text, context)
                if same is not None and same.id != context.id:
                    found[context.text] = None
    return {text: context for text, context in found.items() if context is not None}


def _collapsed(found: Retrieval, reader: DocumentReader) -> Retrieval:
    """Return a union of collapsed lists collapsed: an ID counts once, at the best of its ranks."""
    if not reader.collapse or found.contexts is None or found.ranks is None:
        return found
    first: dict[object, int] = {}
    for place, context in enumerate(found.contexts):
        first.setdefault(place if context.id is None else context.id, place)
    places = sorted(first.values())
    if len(places) == len(found.contexts):
        return found
    return Retrieval(
        [found.contexts[place] for place in places],
        calls=found.calls,
        ranks=[found.ranks[place] for place in places],
        response=found.response,
        read=None if found.read is None else [found.read[place] for place in places],
        error=found.error,
    )


def reason(error: Exception) -> str:
    """Return why something cannot be read: input errors speak for themselves, others are named."""
    from langchain_fullrecall.recorder import brief

    return str(error) if isinstance(error, InputError) else brief(error)
