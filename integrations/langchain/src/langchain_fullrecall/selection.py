"""Which of the calls of a run count as its retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from fullrecall.errors import ParameterError
from fullrecall.steps import Step
from fullrecall.steps.failures import failures_of
from fullrecall.steps.tree import Tree

Level: TypeAlias = Literal["outermost", "innermost"]
"""Which of nested retriever calls counts: the one that a chain made, whose documents are merged
or reranked already, or those that made no further one."""

Take: TypeAlias = Literal["union", "first", "last"]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which retriever calls count, of nested ones and of several.

    - `name`: only calls of this name, or of one of several.
    - `level`: of nested calls that are left, the "outermost" or the "innermost" ones.
    - `take`: of several calls that did not fail the "first", the "last", or the "union" of all,
      in which each context has its rank within its own call.

    Raises `ParameterError`, naming the parameter, for values out of range.
    """

    level: Level = "outermost"
    take: Take = "union"
    name: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        for parameter, allowed in (("level", get_args(Level)), ("take", get_args(Take))):
            value = getattr(self, parameter)
            if value not in allowed:
                listed = ", ".join(map(repr, allowed))
                raise ParameterError(f"{parameter} must be one of {listed}, got {value!r}")
        if self.name is not None:
            names = (self.name,) if isinstance(self.name, str) else tuple(self.name)
            if not names or not all(isinstance(each, str) and each for each in names):
                raise ParameterError(f"name must be a str or several, got {self.name!r}")
            object.__setattr__(self, "name", names)

    @property
    def label(self) -> str:
        """What tells a score by this selection from others: empty for all outermost calls."""
        named = [*(self.name or ())]
        named += [] if self.level == "outermost" else [self.level]
        named += [] if self.take == "union" else [self.take]
        return ",".join(named)


OUTERMOST = Selection()


def selected(selection: Selection, steps: Sequence[Step]) -> list[Step]:
    """Return the calls that are meant, failed ones included, each as if it were alone."""
    tree = Tree(steps)
    good = failures_of(tree).recovered
    gone = {below.id for step in good for below in tree.below(step)}
    calls = [s for s in _calls(steps) if s.id not in gone and (s.error or s.returned)]
    meant = [s for s in calls if selection.name is None or s.name in selection.name]
    meant_ids = {step.id for step in meant}
    if selection.level == "outermost":
        nested = {s.id for s in meant if any(over.id in meant_ids for over in tree.above(s))}
    else:
        nested = {over.id for step in meant for over in tree.above(step)}
    chosen = [replace(s, parent=None, given=()) for s in meant if s.id not in nested]
    succeeded = [step for step in chosen if step.error is None]
    if selection.take == "union" or not succeeded:
        return chosen
    return [succeeded[0 if selection.take == "first" else -1]]


def missing(selection: Selection, steps: Sequence[Step]) -> str:
    """Return why no call is meant: there was none, or none has the name."""
    names = dict.fromkeys(step.name for step in _calls(steps))
    if not names:
        return "no retriever was called"
    wanted = " or ".join(map(repr, selection.name or ()))
    return f"no retriever is named {wanted}: choose one of {', '.join(map(repr, names))}"


def as_selection(which: Level | Selection) -> Selection:
    """Return a selection, or the one of a level; raise `ParameterError` for anything else."""
    if isinstance(which, Selection):
        return which
    if which not in get_args(Level):
        raise ParameterError(
            f'which must be "outermost", "innermost" or a Selection, got {which!r}'
        )
    return Selection(level=which)


def _calls(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if step.kind in ("retriever", "tool")]
