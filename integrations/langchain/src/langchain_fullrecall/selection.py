"""Which of the calls of a run count as its retrieval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from fullrecall.errors import ParameterError
from langchain_fullrecall.pipeline import Step, steps_of
from langchain_fullrecall.tree import Node

Level: TypeAlias = Literal["outermost", "innermost"]
"""Which of nested retriever calls counts: the one that a chain made, whose documents are merged
or reranked already, or those that made no further one."""

Take: TypeAlias = Literal["union", "first", "last"]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which retriever calls count, of nested ones and of several.

    - `name`, `tag`: only calls of this name, with this tag; or of one of several.
    - `where`: only calls for which it returns true; it is passed an object with the call's
      `name`, `query`, `tags` and `metadata`.
    - `level`: of nested calls that are left, the "outermost" or the "innermost" ones.
    - `take`: of several calls that did not fail the "first", the "last", or the "union" of all,
      in which each context has its rank within its own call.

    Raises `ParameterError`, naming the parameter, for values out of range.
    """

    level: Level = "outermost"
    take: Take = "union"
    name: str | Sequence[str] | None = None
    tag: str | Sequence[str] | None = None
    where: Callable[[Node], bool] | None = None

    def __post_init__(self) -> None:
        for parameter, allowed in (("level", get_args(Level)), ("take", get_args(Take))):
            value = getattr(self, parameter)
            if value not in allowed:
                listed = ", ".join(map(repr, allowed))
                raise ParameterError(f"{parameter} must be one of {listed}, got {value!r}")
        for parameter in ("name", "tag"):
            wanted = getattr(self, parameter)
            if wanted is None:
                continue
            names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
            if not names or not all(isinstance(one, str) and one for one in names):
                raise ParameterError(f"{parameter} must be a str or several, got {wanted!r}")
            object.__setattr__(self, parameter, names)
        if self.where is not None and not callable(self.where):
            raise ParameterError(f"where must be a function of a call, got {self.where!r}")

    @property
    def filters(self) -> bool:
        """Whether it names the calls that it wants."""
        return any(wanted is not None for wanted in (self.name, self.tag, self.where))

    @property
    def label(self) -> str:
        """What tells a score by this selection from others: empty for all outermost calls."""
        named = [*(self.name or ()), *(self.tag or ())]
        if self.where is not None:
            named.append(getattr(self.where, "__name__", "where"))
        named += [] if self.level == "outermost" else [self.level]
        named += [] if self.take == "union" else [self.take]
        return ",".join(named)

    def steps(self, roots: Sequence[Node]) -> list[Step]:
        """Return the calls that are meant, failed ones included."""
        if not self.filters and self.level == "outermost":
            chosen = [step for root in roots for step in steps_of(root)]
        else:
            chosen = [step for root in roots for top in steps_of(root) for step in self._of(top)]
        worked = [step for step in chosen if not step.node.failed]
        if self.take == "union" or not worked:
            return chosen
        return [worked[0 if self.take == "first" else -1]]

    def missing(self, roots: Sequence[Node]) -> str:
        """Return why no call is meant: there was none, or none fits."""
        every = [step for root in roots for top in steps_of(root) for step in _walk(top)]
        if not every:
            return "no retriever was called"
        wanted = ", ".join(
            f"{parameter}={getattr(self, parameter)!r}"
            for parameter in ("name", "tag", "where")
            if getattr(self, parameter) is not None
        )
        there = ", ".join(map(repr, dict.fromkeys(step.node.name for step in every)))
        return f"no retriever call fits {wanted}: there were {there}"

    def _of(self, step: Step) -> list[Step]:
        meant = self._means(step.node)
        if meant and self.level == "outermost":
            return [step]
        below = [found for child in step.taken for found in self._of(child)]
        return below or ([step] if meant else [])

    def _means(self, node: Node) -> bool:
        if node.kind not in ("retriever", "tool"):
            return False
        return (
            (self.name is None or node.name in self.name)
            and (self.tag is None or any(tag in self.tag for tag in node.tags))
            and (self.where is None or bool(self.where(node)))
        )


OUTERMOST = Selection()


def as_selection(which: Level | Selection) -> Selection:
    """Return a selection, or the one of a level; raise `ParameterError` for anything else."""
    if isinstance(which, Selection):
        return which
    if which not in get_args(Level):
        raise ParameterError(
            f'which must be "outermost", "innermost" or a Selection, got {which!r}'
        )
    return Selection(level=which)


def _walk(step: Step) -> list[Step]:
    return [step, *(found for child in step.taken for found in _walk(child))]
