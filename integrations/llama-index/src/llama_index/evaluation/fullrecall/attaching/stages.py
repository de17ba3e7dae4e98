"""The stages of a call: each retriever and postprocessor, and whom it handed its nodes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from llama_index.core.schema import NodeWithScore

from llama_index.evaluation.fullrecall.attaching.lists import genuine, joined, top_retrievals
from llama_index.evaluation.fullrecall.attaching.spans import Kind, Span
from llama_index.evaluation.fullrecall.attaching.trace import Trace

RETRIEVED = "retrieved"
"""The stage of everything that was retrieved, before any postprocessor."""


class NodeStage(NamedTuple):
    """A `Stage` whose contexts are nodes still."""

    name: str
    nodes: tuple[NodeWithScore, ...]
    into: str | None


@dataclass(eq=False)
class _Group:
    """The steps of one object: a retriever that is asked four questions is one stage."""

    name: str
    spans: list[Span] = field(default_factory=list)
    nodes: tuple[NodeWithScore, ...] = ()
    into: _Group | None = None


def node_stages(trace: Trace) -> list[NodeStage]:
    """Return the stages of a call, each after those that handed their nodes to it.

    "retrieved" joins the retrievals that are no part of another one. The others are named by
    class, and numbered from the second of a class on. "before X" is what the postprocessor X was
    given, where that is not what was last seen.
    """
    groups = _groups(trace)
    of_span = {span: group for group in groups for span in group.spans}
    tops = top_retrievals(trace)
    for group in groups:
        group.nodes = joined(genuine(trace, span) for span in _outermost(trace, group))
        group.into = _next(trace, group.spans, of_span)
    if tops:
        everything = _Group(RETRIEVED, tops, joined(genuine(trace, span) for span in tops))
        everything.into = _next(trace, tops, of_span)
        of_tops = list(dict.fromkeys(of_span[span] for span in tops))
        for group in of_tops:
            group.into = everything
        if len(of_tops) == 1:  # it is everything itself
            groups.remove(of_tops[0])
            for group in groups:
                group.into = everything if group.into is of_tops[0] else group.into
        groups.append(everything)
    for group in list(groups):
        groups += _unseen_before(trace, group, groups)
    return [
        NodeStage(group.name, group.nodes, None if group.into is None else group.into.name)
        for group in _in_order(groups)
    ]


def feeding(stages: list[NodeStage], name: str) -> list[NodeStage]:
    """Return the stages whose nodes went into the stage `name`, as stages before a final list."""
    inside = {name}
    kept: list[NodeStage] = []
    for stage in reversed(stages):
        if stage.into in inside:
            inside.add(stage.name)
            kept.append(stage._replace(into=None if stage.into == name else stage.into))
    return kept[::-1]


def _unseen_before(trace: Trace, group: _Group, groups: list[_Group]) -> list[_Group]:
    """Return what a postprocessor was given, where the steps before it handed on something else.

    An async method of a postprocessor's own, or plain code, has changed the list: what that lost
    is not the postprocessor's doing.
    """
    outermost = _outermost(trace, group)
    if not any(_was_changed(trace, span) for span in outermost):
        return []
    given = joined(span.given.items for span in outermost if span.given is not None)
    unseen = _Group(f"before {group.name}", nodes=given, into=group)
    for other in groups:
        other.into = unseen if other.into is group else other.into
    return [unseen]


def _was_changed(trace: Trace, span: Span) -> bool:
    if span.given is None:
        return False
    taken = [
        step.handed.items
        for step, taker in trace.taker.items()
        if taker is span and step.handed is not None and not trace.is_inside(step, span)
    ]
    before = [item.node.node_id for item in joined(taken)]
    given = [item.node.node_id for item in joined([span.given.items])]
    if len(taken) > 1:  # in which order they were put together is the engine's business
        return set(before) != set(given)
    return bool(taken) and before != given


def _groups(trace: Trace) -> list[_Group]:
    groups: dict[tuple[str, int], _Group] = {}
    numbers: dict[str, int] = {}
    for span in trace.steps:
        if span in trace.echoes or span.handed is None:
            continue
        if span.kind not in (Kind.RETRIEVAL, Kind.POSTPROCESSING):
            continue
        key = (span.name, span.owner)
        if key not in groups:
            number = numbers[span.name] = numbers.get(span.name, 0) + 1
            groups[key] = _Group(span.name if number == 1 else f"{span.name} {number}")
        groups[key].spans.append(span)
    return list(groups.values())


def _outermost(trace: Trace, group: _Group) -> list[Span]:
    """Return the steps that are no part of another one of the same object."""
    own = set(group.spans)
    return [span for span in group.spans if own.isdisjoint(trace.scopes(span))]


def _next(trace: Trace, spans: list[Span], of_span: dict[Span, _Group]) -> _Group | None:
    """Return whom all these steps handed their nodes to, None for several and for nobody."""
    takers = [trace.taker.get(span) for span in spans]
    groups = {None if taker is None else of_span.get(taker) for taker in takers}
    groups -= {of_span[spans[0]]}
    return groups.pop() if len(groups) == 1 else None


def _in_order(groups: list[_Group]) -> Iterator[_Group]:
    """Yield each group after those that go into it."""
    waiting = list(groups)
    while waiting:
        fed = {group.into for group in waiting}
        ready = [group for group in waiting if group not in fed]
        if not ready:  # a circle, which steps that end one after the other cannot make
            return
        yield from ready
        waiting = [group for group in waiting if group not in ready]
