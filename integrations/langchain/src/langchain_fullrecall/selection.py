"""Select the calls of a run that count as its retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from fullrecall.observe import Step
from fullrecall.observe.failures import failures_of
from fullrecall.observe.tree import Tree

Level: TypeAlias = Literal["outermost", "innermost"]
"""The nested retriever calls that count: the outer one, whose documents are merged or reranked
already, or the calls without further calls inside."""


def selected(level: Level, names: Sequence[str], steps: Sequence[Step]) -> list[Step]:
    """Return the selected calls, failed ones included, without parents or inputs.

    Without names, calls of any name are selected.
    """
    tree = Tree(steps)
    good = failures_of(tree).recovered
    gone = {below.id for step in good for below in tree.below(step)}
    calls = [s for s in _calls(steps) if s.id not in gone and (s.error or s.returned)]
    meant = [step for step in calls if not names or step.name in names]
    meant_ids = {step.id for step in meant}
    if level == "outermost":
        nested = {s.id for s in meant if any(over.id in meant_ids for over in tree.above(s))}
    else:
        nested = {over.id for step in meant for over in tree.above(step)}
    return [replace(s, parent=None, given=()) for s in meant if s.id not in nested]


def missing(names: Sequence[str], steps: Sequence[Step]) -> str:
    """Return why no call is selected: no retriever was called, or none has the name."""
    called_names = dict.fromkeys(step.name for step in _calls(steps))
    if not called_names:
        return "no retriever was called"
    chosen = " or ".join(map(repr, names))
    return f"no retriever is named {chosen}: choose one of {', '.join(map(repr, called_names))}"


def _calls(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if step.kind in ("retriever", "tool")]
