"""What a call retrieved, and what of it reached the model that answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from llama_index.core.schema import MetadataMode, NodeWithScore

from llama_index.evaluation.fullrecall.attaching.spans import Kind, Nodes, Span
from llama_index.evaluation.fullrecall.attaching.trace import Trace

_NUMBER = re.compile(r"\ASource \d+:\n")
"""What `CitationQueryEngine` puts before each of its sources."""


def joined(lists: Iterable[Sequence[NodeWithScore]]) -> tuple[NodeWithScore, ...]:
    """Return lists one after the other; a node that several have stands where it came first.

    One list alone stays as it is.
    """
    several = list(lists)
    if len(several) == 1:
        return tuple(several[0])
    first: dict[str, NodeWithScore] = {}
    for items in several:
        for item in items:
            first.setdefault(item.node.node_id, item)
    return tuple(first.values())


def top_retrievals(trace: Trace) -> list[Span]:
    """Return the retrievals that are no part of another one.

    Those of an engine that a retriever asks are the engine's own, and count.
    """
    tops = [span for span in trace.retrievals if not _is_part_of_retrieval(trace, span)]
    return sorted(tops, key=trace.order)


def genuine(trace: Trace, span: Span) -> tuple[NodeWithScore, ...]:
    """Return what a retrieval handed on, without nodes that an engine inside it has written."""
    handed = () if span.handed is None else span.handed.items
    answers = [
        step.answer
        for step in trace.steps
        if step.kind is Kind.ENGINE and step.answer and trace.is_inside(step, span)
    ]
    if not answers:
        return handed
    inner = _ids(step.handed for step in trace.retrievals if trace.is_inside(step, span))
    return tuple(
        item
        for item in handed
        if item.node.node_id in inner or not any(answer in item.get_content() for answer in answers)
    )


def retrieved_nodes(trace: Trace) -> tuple[NodeWithScore, ...]:
    """Return what all retrievals brought that are no part of another one."""
    return joined(genuine(trace, span) for span in top_retrievals(trace))


def final_nodes(trace: Trace) -> tuple[NodeWithScore, ...] | None:
    """Return what reached synthesizers and agents, None where nothing was seen to.

    Where an engine, a tool or hand-written code asks no synthesizer, this is what the engine
    names as its sources, else what the last postprocessors and retrievers handed on. Texts that
    engines wrote, and then read as nodes, are left out; sources that were numbered or cut for an
    answer stand as they were retrieved.
    """
    readers = [span for span in trace.steps if _is_reader(trace, span)]
    read_in = {span if span.kind is Kind.TOOL else trace.scope(span) for span in readers}
    parts = {span: _read(trace, span) for span in readers}
    for scope, ends in trace.ends.items():
        if scope not in read_in and (scope is None or scope.kind not in _INNER):
            if scope is not None and _names_its_sources(trace, scope):
                parts[scope] = () if scope.handed is None else scope.handed.items
            else:
                parts |= {span: genuine(trace, span) for span in ends}
    return joined(parts[span] for span in sorted(parts, key=trace.order)) if parts else None


_INNER = (Kind.RETRIEVAL, Kind.POSTPROCESSING)
"""The steps whose parts hand on to them."""


def _is_part_of_retrieval(trace: Trace, span: Span) -> bool:
    scope = trace.scope(span)
    while scope is not None and scope.kind is Kind.POSTPROCESSING:
        scope = trace.scope(scope)
    return scope is not None and scope.kind is Kind.RETRIEVAL


def _is_reader(trace: Trace, span: Span) -> bool:
    """Return whether a step took nodes to answer from: a synthesizer, or an agent by a tool."""
    if span.kind is Kind.TOOL:
        if span.handed is None:
            return False
        # An empty list that no retriever is behind may be anything.
        retrieves = any(trace.is_inside(step, span) for step in trace.retrievals)
        return retrieves or bool(span.handed.items)
    if span.kind is not Kind.SYNTHESIS or span.given is None:
        return False
    scope = trace.scope(span)
    if scope is not None and scope.kind in (*_INNER, Kind.SYNTHESIS):
        return False
    again = _ids(echo.handed for echo in trace.echoes)
    return not span.given.items or not span.given.ids <= again


def _names_its_sources(trace: Trace, engine: Span) -> bool:
    """Return whether an engine has returned some of the nodes that were retrieved for it."""
    if engine.kind is not Kind.ENGINE or engine.handed is None or not engine.handed.items:
        return False
    brought = _ids(step.handed for step in trace.retrievals if trace.is_inside(step, engine))
    return engine.handed.ids <= brought


def _read(trace: Trace, span: Span) -> tuple[NodeWithScore, ...]:
    if span.kind is Kind.TOOL:
        return () if span.handed is None else span.handed.items
    given = () if span.given is None else span.given.items
    scope = trace.scope(span)
    if scope is not None and scope.cites:
        return _cited(given, joined(genuine(trace, end) for end in trace.ends.get(scope, ())))
    if not _has_engines_inside(trace, scope):
        return given
    # An engine that asks engines reads their answers, as nodes that no retriever ever brought.
    brought = {
        item.node.node_id for step in trace.retrievals for item in genuine(trace, step)
    } | _added(trace)
    return tuple(item for item in given if item.node.node_id in brought)


def _has_engines_inside(trace: Trace, scope: Span | None) -> bool:
    return any(
        step.kind is Kind.ENGINE
        and trace.is_inside(step, scope)
        and (scope is None or step.owner != scope.owner)
        for step in trace.steps
    )


def _added(trace: Trace) -> set[str]:
    """Return the IDs of nodes that postprocessors brought, such as the next ones in a document."""
    return {
        name
        for step in trace.steps
        if step.kind is Kind.POSTPROCESSING and step.handed is not None
        for name in step.handed.ids - (step.given.ids if step.given is not None else set())
    }


def _cited(
    sources: Sequence[NodeWithScore], originals: Sequence[NodeWithScore]
) -> tuple[NodeWithScore, ...]:
    """Return the nodes that numbered sources were cut from, in the order of the sources.

    Sources of one node stand next to each other. All nodes, where a source is found in none.
    """
    texts = [_NUMBER.sub("", item.get_content()).strip() for item in sources]
    left = list(originals)
    cited: list[NodeWithScore] = []
    while texts:
        runs = [max(_run(text, texts) for text in _contents(item)) for item in left]
        longest = max(runs, default=0)
        if not longest:
            return tuple(originals)
        cited.append(left.pop(runs.index(longest)))
        texts = texts[longest:]
    return tuple(cited)


def _contents(item: NodeWithScore) -> list[str]:
    return [item.node.get_content(metadata_mode=mode) for mode in MetadataMode]


def _run(content: str, texts: Sequence[str]) -> int:
    """Return how many of the first texts stand in `content` one after the other.

    They may overlap, as chunks do, but none begins where the one before it does.
    """
    place = -1
    for count, text in enumerate(texts):
        place = content.find(text, place + 1)
        if place < 0:
            return count
    return len(texts)


def _ids(several: Iterable[Nodes | None]) -> set[str]:
    return {name for nodes in several if nodes is not None for name in nodes.ids}
