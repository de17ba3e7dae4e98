"""Find the failed steps, and the failures that a later success repaired."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from fullrecall.observe.step import Step
from fullrecall.observe.tree import Tree


@dataclass(frozen=True, slots=True)
class Failures:
    """The outermost failed steps that concern retrieval, in the order in which they began.

    - `lost`: the IDs of the failed steps, and of all steps below them. The documents of these steps
      are unused.
    - `counting`: the failed steps that no later success repaired.
    - `recovered`: the failed steps that a later success repaired.
    """

    lost: frozenset[Hashable]
    counting: tuple[Step, ...]
    recovered: tuple[Step, ...]


def failures_of(tree: Tree, other_tools: Collection[str] = ()) -> Failures:
    """Return the failures of a run, without those of `other_tools`, in time linear in its steps."""
    failed = [
        step
        for step in tree.steps
        if step.error and not any(over.error for over in tree.above(step))
    ]
    lost = frozenset(below.id for step in failed for below in tree.below(step))
    concerned = _steps_that_concern_retrieval(tree)
    successes = _Successes(tree)
    counting: list[Step] = []
    recovered: list[Step] = []
    for step in failed:
        is_excused = step.kind == "tool" and step.name in other_tools
        if step.id in concerned and not is_excused:
            (recovered if successes.make_good(step) else counting).append(step)
    return Failures(lost, tuple(counting), tuple(recovered))


def _steps_that_concern_retrieval(tree: Tree) -> set[Hashable]:
    """Return the IDs of steps that retrieve, are tools, or have documents, and of their callers."""
    concerned: set[Hashable] = set()
    for step in tree.steps:
        if step.kind in ("retriever", "reranker", "tool") or step.given or step.returned:
            over: Step | None = step
            # Stop at a known step, so that each step is visited once.
            while over is not None and over.id not in concerned:
                concerned.add(over.id)
                over = tree.parent(over)
    return concerned


class _Successes:
    """The time at which the last successful step began, for each caller, task, output and query."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._last: dict[Hashable, float] = {}
        for step in tree.steps:
            if step.error is None and step.ended is not None:
                parent = tree.parent(step)
                outputs = (("output", parent, own) for own in step.outputs)
                for key in (("caller", parent), *outputs, *self._work(step)):
                    self._last[key] = max(step.began, self._last.get(key, 0))

    def _work(self, step: Step) -> list[Hashable]:
        """Return the keys of a step's task and query; attempts at the same work share a key."""
        keys: list[Hashable] = []
        if step.task is not None:
            keys.append(("task", self._tree.parent(step), step.task))
        if step.callee is not None:
            keys.append(("query", step.callee, step.query))
        return keys

    def make_good(self, step: Step) -> bool:
        """Return whether a step that began after this failure repaired it.

        It did so in any of these cases:

        - The caller tries alternatives or attempts, and succeeded.
        - The caller returned the same object as a later call: `except: return other()`.
        - The same unit of work succeeded at a later attempt.
        - The same callee answered the same query.
        """
        parent = self._tree.parent(step)
        keys = self._work(step)
        if parent is not None and parent.error is None:
            if parent.tries:
                keys.append(("caller", parent))
            # Outputs are compared by identity: the caller must return the very object that the
            # later call returned. A new list, which a loop may build, does not show a recovery.
            keys += (("output", parent, own) for own in parent.outputs)
        ended = step.began if step.ended is None else step.ended
        return any(self._last.get(key, 0) > ended for key in keys)


def attempts_of(fallbacks: Step, beside: Iterable[Step]) -> list[Step]:
    """Return the attempts of a run with fallbacks, which LangChain reports beside the run.

    The attempts are the steps that began and ended during the run. They must have run one after
    another, all with the run's query. All but the last one must have failed, and the last one must
    have succeeded or failed as the run did. Otherwise some of the steps may have run in parallel
    with the run, and the result is an empty list.
    """
    ended = fallbacks.ended or 0
    inside = [s for s in beside if s.ended and fallbacks.began < s.began and s.ended < ended]
    inside.sort(key=lambda step: step.began)
    in_turn = all((first.ended or 0) < later.began for first, later in pairwise(inside))
    failed = [step.error is not None for step in inside]
    as_expected = [True] * (len(inside) - 1) + [fallbacks.error is not None]
    is_one_query = {step.query for step in inside} == {fallbacks.query}
    return inside if in_turn and is_one_query and failed == as_expected else []


def brief(error: BaseException | str, limit: int = 200) -> str:
    """Return an error as one line: the exception's class and message, without a traceback."""
    if isinstance(error, BaseException):
        error = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    # LangSmith stores an exception's repr, followed by the traceback without a space.
    line = " ".join(error.partition("Traceback (most recent call last)")[0].split())
    line = line.removesuffix("NoneType: None").rstrip()
    raised = _RAISED.fullmatch(line)
    if raised:
        line = f"{raised[1]}: {raised[3]}" if raised[3] else raised[1]
    return line if len(line) <= limit else line[: limit - 1] + "…"


_RAISED = re.compile(r"(\w+)\((?:(['\"])(.*)\2)?\)")
"""The repr of an exception."""
