"""Steps as the tree of their calls."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property

from fullrecall.observe.step import Step


class Tree:
    """The steps of one record, in the order in which they began, each with its caller.

    The caller of a step is its parent, if the parent is known and began before the step. Otherwise,
    the caller is the root (the step for the whole call, whose ID is `root`), if it is known and
    began before the step. A step without a caller is an outermost step.
    """

    def __init__(self, steps: Iterable[Step], root: Hashable | None = None) -> None:
        self.steps = sorted(steps, key=lambda step: step.began)
        self._at = {step.id: step for step in self.steps}
        self.root = self._at.get(root)
        self._children: dict[Hashable | None, list[Step]] = {}
        self._parents: dict[Hashable, Step | None] = {}
        for step in self.steps:
            parent = self._caller(step)
            self._parents[step.id] = parent
            self._children.setdefault(None if parent is None else parent.id, []).append(step)

    def parent(self, step: Step) -> Step | None:
        """Return the caller of a step; None for an outermost step."""
        return self._parents[step.id]

    def above(self, step: Step) -> Iterator[Step]:
        """Yield the caller of a step, its caller, and so on."""
        over = self._parents[step.id]
        while over is not None:
            yield over
            over = self._parents[over.id]

    def below(self, step: Step) -> Iterator[Step]:
        """Yield a step and all steps that it called, directly or not."""
        stack = [step]
        while stack:
            current = stack.pop()
            yield current
            stack.extend(self._children.get(current.id, ()))

    def calls_others(self, step: Step) -> bool:
        """Return whether a step called another step."""
        return step.id in self._children

    @cached_property
    def positions(self) -> dict[Hashable, int]:
        """The index of each step, by its ID: callers first, then their calls, in order.

        Steps are in the order in which they began. Parallel steps are ordered by branches, names,
        queries and contents, so that the timing of threads has no effect.
        """
        positions: dict[Hashable, int] = {}
        stack = _in_order(self._children.get(None, ()))[::-1]
        while stack:
            step = stack.pop()
            positions[step.id] = len(positions)
            stack.extend(reversed(_in_order(self._children.get(step.id, ()))))
        return positions

    def _caller(self, step: Step) -> Step | None:
        parent = self._at.get(step.parent)
        # A caller begins before the steps that it calls. This check excludes circles of parents.
        if parent is not None and parent.began < step.began:
            return parent
        return self.root if self.root is not None and step.began > self.root.began else None


def _in_order(siblings: Sequence[Step]) -> list[Step]:
    """Return the steps of one caller in an order that does not depend on threads."""
    clusters: list[list[Step]] = []
    ended = 0.0
    for step in siblings:
        beside = clusters[-1] if clusters else []
        # Threads begin in any order, so parallel steps are ordered by `_contents`.
        together = bool(beside) and (
            step.began < ended or (step.group is not None and step.group == beside[-1].group)
        )
        if together:
            beside.append(step)
        else:
            clusters.append([step])
        ended = max(ended, step.began if step.ended is None else step.ended)
    ordered = (sorted(each, key=_contents) if len(each) > 1 else each for each in clusters)
    return [step for cluster in ordered for step in cluster]


def _contents(step: Step) -> tuple[object, ...]:
    documents = tuple(
        (copy.id or "", copy.text) for listed in step.returned for copy in listed.documents
    )
    return step.branch, step.name, step.query or "", documents, step.texts
