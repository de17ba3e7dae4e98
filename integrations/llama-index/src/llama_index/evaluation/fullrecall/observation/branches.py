"""What a call retrieved, as lists and the lists that they were made of."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from llama_index.core.schema import MetadataMode

from llama_index.evaluation.fullrecall.observation.snapshots import Nodes, Snapshot
from llama_index.evaluation.fullrecall.observation.steps import INNER, Kind, Role, Step
from llama_index.evaluation.fullrecall.observation.trace import Trace, joined

Items: TypeAlias = tuple[Snapshot, ...]

_NUMBER = re.compile(r"\ASource \d+:\n")
"""What `CitationQueryEngine` puts before each of its sources."""


@dataclass(frozen=True, eq=False)
class Branch:
    """A list of nodes, or the failure that stands in its place; `children` went into it.

    `reorders` says that its order is no ranking; `step` is the one that returned it.
    """

    name: str
    question: str | None
    items: Items | None
    step: Step
    error: str | None = None
    children: tuple[Branch, ...] = ()
    reorders: bool = False

    @property
    def ids(self) -> list[str]:
        """The IDs of the nodes in their order."""
        return [item.id for item in self.items or ()]

    @property
    def order(self) -> tuple[str, str, list[str]]:
        """What branches of one time are sorted by, whichever of them ran first."""
        return self.name, self.question or "", self.ids


def final_branches(trace: Trace) -> list[Branch]:
    """Return the lists that synthesizers and agents were given, and the calls that failed.

    Where neither an engine, a tool nor hand-written code asks a synthesizer, these are the
    sources that the engine names, else what the last postprocessors and retrievers returned.
    Texts that engines wrote, and then read as nodes, are left out; sources that were numbered or
    cut for an answer stand as they were retrieved.
    """
    readers = [step for step in trace.steps if _is_reader(trace, step)]
    read_in = {step if step.kind is Kind.TOOL else trace.scope(step) for step in readers}
    found = [branch for step in readers for branch in _in_tool(trace, step, _read(trace, step))]
    for scope, ends in trace.ends.items():
        if scope is not None and scope.kind in INNER:
            continue
        left = [end for end in ends if scope not in read_in or end.handed is None]
        if scope is not None and left and _names_its_sources(trace, scope):
            items = () if scope.handed is None else scope.handed.items
            found += _in_tool(trace, scope, _given(trace, scope, items, left))
        else:
            for end in left:
                found += _in_tool(trace, end, _of_step(trace, end))
    return _in_order(trace, found)


def retrieved_branches(trace: Trace) -> list[Branch]:
    """Return what was retrieved before any postprocessor: the retrievals that are no part of one.

    Those of an engine that a retriever asks are the engine's own, and count.
    """
    tops = top_retrievals(trace)
    failed = [
        step
        for step in trace.steps
        if step.kind is Kind.RETRIEVAL and step.error and not _is_part_of_retrieval(trace, step)
    ]
    found = [branch for step in [*tops, *failed] for branch in _of_step(trace, step)]
    return _in_order(trace, found)


def top_retrievals(trace: Trace) -> list[Step]:
    """Return the retrievals that ended and are no part of another one."""
    return [step for step in trace.retrievals if not _is_part_of_retrieval(trace, step)]


def retrieved_items(trace: Trace) -> Items:
    """Return all that was retrieved, in the order in which it was asked for."""
    return joined(genuine(trace, step) for step in top_retrievals(trace))


def final_items(branches: Sequence[Branch]) -> Items:
    """Return the final list: of one branch as it is, of several by rank, a node once."""
    answered = [branch for branch in branches if branch.items is not None]
    if len(answered) == 1:
        return answered[0].items or ()
    placed = [
        (rank, branch.order, item)
        for branch in answered
        for rank, item in enumerate(branch.items or ())
    ]
    placed.sort(key=lambda one: one[:2])
    return joined([[item for _, _, item in placed], ()])


def genuine(trace: Trace, step: Step) -> Items:
    """Return what a retrieval returned, without nodes that an engine inside it has written."""
    handed = () if step.handed is None else step.handed.items
    answers = [
        other.answer
        for other in trace.steps
        if other.kind is Kind.ENGINE and other.answer and trace.is_inside(other, step)
    ]
    if not answers:
        return handed
    inner = _ids(other.handed for other in trace.retrievals if trace.is_inside(other, step))
    return tuple(
        item
        for item in handed
        if item.id in inner or not any(answer in item.text for answer in answers)
    )


def _of_step(trace: Trace, step: Step) -> list[Branch]:
    """Return what a retriever or a postprocessor returned.

    That is one branch, or several: where it joins lists, or keeps some of several joined ones,
    it ranks nothing across them.
    """
    outside = [one for one in trace.taken.get(step, ()) if not trace.is_inside(one, step)]
    inside = [one for one in _parts(trace, step) if trace.is_inside(one, step)]
    children = _branches(trace, outside)
    if step.handed is None:
        parts = (*children, *_branches(trace, inside))
        return [Branch(step.name, step.question, None, step, step.error, parts)]
    items = genuine(trace, step)
    if step.given is not None and _was_changed(step.given, outside):
        unseen = Branch(
            f"before {step.name}", step.question, step.given.items, step, None, tuple(children)
        )
        children = [unseen]
    elif step.given is not None and _keeps(step.given.items, items):
        answered = [child for child in children if child.items is not None]
        if len(answered) > 1 and _is_joined(step.given.sequence, answered):
            return _apart(step, items, children)
        reorders = len(children) == 1 and children[0].reorders
        parts = (*children, *_branches(trace, inside))
        return [_branch(step, items, parts, reorders=reorders)]
    elif step.role is Role.JOINING:
        joins = _branches(trace, inside)
        answered = [child for child in joins if child.items is not None]
        if len(answered) > 1 and _is_joined([item.id for item in items], answered):
            return _apart(step, items, joins)
    return [_branch(step, items, (*children, *_branches(trace, inside)))]


def _branch(
    step: Step, items: Items, parts: tuple[Branch, ...], *, reorders: bool = False
) -> Branch:
    reorders = reorders or (step.role is Role.REORDERING and len(parts) == 1)
    return Branch(step.name, step.question, items, step, None, parts, reorders)


def _apart(step: Step, items: Items, children: Sequence[Branch]) -> list[Branch]:
    """Return what a step kept of each of several lists that it did not merge."""
    kept = []
    for child in children:
        if child.items is None:
            kept.append(child)
            continue
        own = set(child.ids)
        left = tuple({item.id: item for item in items if item.id in own}.values())
        kept.append(
            Branch(step.name, child.question, left, step, None, (child,), reorders=child.reorders)
        )
    return kept


def _branches(trace: Trace, steps: Iterable[Step]) -> list[Branch]:
    return _in_order(trace, [branch for step in steps for branch in _of_step(trace, step)])


def _parts(trace: Trace, step: Step) -> list[Step]:
    """Return the steps that a step is made of; its object's own call of itself is none."""
    found: list[Step] = []
    for part in trace.taken.get(step, ()):
        found += _parts(trace, part) if part in trace.own else [part]
    return found


def _was_changed(given: Nodes, taken: Sequence[Step]) -> bool:
    """Return whether a postprocessor was given something else than the steps before returned.

    An async method of a postprocessor's own, or plain code, has changed the list: what that lost
    is not the postprocessor's doing.
    """
    lists = [step.handed for step in taken if step.handed is not None]
    if len(lists) > 1:  # in which order they were put together is the engine's business
        return _ids(lists) != given.ids
    return bool(lists) and list(dict.fromkeys(lists[0].sequence)) != list(
        dict.fromkeys(given.sequence)
    )


def _keeps(before: Items, after: Items) -> bool:
    """Return whether a list is another one with some left out: no order, and no score, is new."""
    rest = iter((item.id, item.score) for item in before)
    return all((item.id, item.score) in rest for item in after)


def _is_joined(ids: Sequence[str], branches: Sequence[Branch]) -> bool:
    """Return whether a list is several, one after the other, in whatever order."""
    places = {own: place for place, own in reversed(list(enumerate(ids)))}
    lists = [branch.ids for branch in branches]
    if any(own not in places for one in lists for own in one):
        return False
    lists.sort(key=lambda one: min(map(places.__getitem__, one), default=-1))
    following = [own for one in lists for own in one]
    return list(dict.fromkeys(ids)) == list(dict.fromkeys(following))


def _read(trace: Trace, step: Step) -> list[Branch]:
    """Return what a synthesizer or a tool was given to answer from."""
    nodes = step.handed if step.kind is Kind.TOOL else step.given
    given = () if nodes is None else nodes.items
    scope = trace.scope(step)
    sources = trace.sources.get(step, [])
    items = given
    if scope is not None and scope.role is Role.CITING:
        sources = [end for end in trace.ends.get(scope, []) if end.handed is not None]
        items = _cited(given, joined(genuine(trace, end) for end in sources))
    elif step.kind is Kind.SYNTHESIS:
        items = _without_answers(trace, step, given)
        if given and not items:
            return []
    return _given(trace, step, items, sources)


def _given(trace: Trace, step: Step, items: Items, ends: Sequence[Step]) -> list[Branch]:
    """Return the branches of a list that a step has from the steps `ends`."""
    children = _branches(trace, ends)
    answered = [child for child in children if child.items is not None]
    if len(answered) == 1 and _same(items, answered[0].items or ()):
        return children
    if len(answered) > 1 and _is_joined([item.id for item in items], answered):
        return children
    return [Branch(step.name, step.question, items, step, None, tuple(children))]


def _same(items: Items, others: Items) -> bool:
    return len(items) == len(others) and all(
        one is other or (one.id == other.id and one.text == other.text)
        for one, other in zip(items, others, strict=True)
    )


def _in_tool(trace: Trace, step: Step, branches: Sequence[Branch]) -> list[Branch]:
    """Return branches as what the tool returned that an agent called for them."""
    tools = [scope for scope in (step, *trace.scopes(step)) if scope.kind is Kind.TOOL]
    if not tools:
        return list(branches)
    tool = tools[-1]
    return [
        branch
        if branch.step is tool
        else replace(branch, name=tool.name, question=tool.question, step=tool, children=(branch,))
        for branch in branches
    ]


def _in_order(trace: Trace, branches: Sequence[Branch]) -> list[Branch]:
    """Return branches in an order that no thread and no task decides.

    One that began after a model was asked about what came of another one comes after it; those
    that may have run side by side are sorted by what they are.
    """
    times = [prompt.at for prompt in trace.sent]
    ordered: list[Branch] = []
    together: list[Branch] = []
    end = 0
    for branch in sorted(branches, key=lambda one: one.step.began):
        scopes = set(trace.scopes(branch.step))
        for other in together:
            scopes &= set(trace.scopes(other.step))
        between = trace.sent[bisect_right(times, end) : bisect_right(times, branch.step.began)]
        if together and any(scopes.issuperset(trace.around(prompt)) for prompt in between):
            ordered += sorted(together, key=lambda one: one.order)
            together = []
        together.append(branch)
        end = max(end, branch.step.ended or branch.step.began)
    return ordered + sorted(together, key=lambda one: one.order)


def _is_part_of_retrieval(trace: Trace, step: Step) -> bool:
    scope = trace.scope(step)
    while scope is not None and scope.kind is Kind.POSTPROCESSING:
        scope = trace.scope(scope)
    return scope is not None and scope.kind is Kind.RETRIEVAL


def _is_reader(trace: Trace, step: Step) -> bool:
    """Return whether a step took nodes to answer from: a synthesizer, or an agent by a tool."""
    if step.kind is Kind.TOOL:
        if step.handed is None:
            return False
        # An empty list that no retriever is behind may be anything.
        retrieves = any(trace.is_inside(one, step) for one in trace.retrievals)
        return retrieves or bool(step.handed.items)
    if step.kind is not Kind.SYNTHESIS or step.given is None:
        return False
    scope = trace.scope(step)
    if scope is not None and scope.kind in (*INNER, Kind.SYNTHESIS):
        return False
    again = _ids(echo.handed for echo in trace.echoes)
    return not step.given.items or not step.given.ids <= again


def _names_its_sources(trace: Trace, engine: Step) -> bool:
    """Return whether an engine has returned some of the nodes that were retrieved for it."""
    if engine.kind is not Kind.ENGINE or engine.handed is None or not engine.handed.items:
        return False
    found = _ids(step.handed for step in trace.retrievals if trace.is_inside(step, engine))
    return engine.handed.ids <= found


def _without_answers(trace: Trace, step: Step, given: Items) -> Items:
    """Return nodes without those in which an engine gives its answers to be read again."""
    scope = trace.scope(step)
    own = [
        other
        for other in trace.steps
        if other.kind in (Kind.ENGINE, Kind.SYNTHESIS)
        and other not in trace.own
        and trace.is_inside(other, scope)
        and (other.ended or step.began) < step.began
    ]
    if not own:
        return given
    found = _ids(Nodes(genuine(trace, one)) for one in trace.retrievals) | _added(trace)
    answers = [other.answer for other in own if other.answer]
    engines = any(other.kind is Kind.ENGINE for other in own)
    return tuple(
        item
        for item in given
        if item.id in found or not (engines or any(answer in item.text for answer in answers))
    )


def _added(trace: Trace) -> set[str]:
    """Return the IDs of nodes that postprocessors added, such as the next ones in a document."""
    return {
        own
        for step in trace.steps
        if step.kind is Kind.POSTPROCESSING and step.handed is not None
        for own in step.handed.ids - (step.given.ids if step.given is not None else set())
    }


def _cited(sources: Items, originals: Items) -> Items:
    """Return the nodes that numbered sources were cut from, in the order of the sources.

    Sources of one node stand next to each other. All nodes, where a source is found in none.
    """
    texts = [_NUMBER.sub("", item.text).strip() for item in sources]
    left = list(originals)
    contents = [_contents(item) for item in left]
    cited: list[Snapshot] = []
    while texts:
        runs = [max(_run(text, texts) for text in several) for several in contents]
        longest = max(runs, default=0)
        if not longest:
            return tuple(originals)
        place = runs.index(longest)
        cited.append(left.pop(place))
        contents.pop(place)
        texts = texts[longest:]
    return tuple(cited)


def _contents(item: Snapshot) -> list[str]:
    node = item.item().node
    return [node.get_content(metadata_mode=mode) for mode in MetadataMode]


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
    return {own for nodes in several if nodes is not None for own in nodes.ids}
