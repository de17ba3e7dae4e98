"""Proposed changes carried out: every question is put to a retriever that makes the change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from fullrecall.context import Context, ContextLike, as_context
from fullrecall.diagnosis.change import ChangeKind
from fullrecall.diagnosis.effects import Baseline, Proposal, Values
from fullrecall.diagnosis.rescoring import Rescored
from fullrecall.errors import ParameterError
from fullrecall.identifiers import shown

Retriever: TypeAlias = Callable[[str, int], Sequence[ContextLike]]
"""Takes a question and how many contexts to bring, and returns them, best first."""

Prove: TypeAlias = bool | Mapping[ChangeKind | str, Retriever]
"""Whether changes are tried; by kind, the retrievers that make those that need another one."""


class Trials:
    """Tries proposals of one report; a retriever is asked once for each question and depth.

    `retriever` is the one that was diagnosed, `exact` the search without an approximate index or a
    filter, and `changed` has by the kind of a change a retriever that makes it.
    """

    def __init__(
        self,
        baseline: Baseline,
        rescored: Mapping[int, Rescored],
        retriever: Retriever | None,
        exact: Retriever | None,
        changed: Mapping[ChangeKind, Retriever],
    ) -> None:
        self._baseline = baseline
        self._rescored = rescored
        self._retriever = retriever
        self._exact = exact
        self._changed = changed
        self._returned: dict[tuple[int, int], list[Sequence[Context] | None]] = {}

    def values(self, proposal: Proposal) -> dict[int, Values]:
        """Return recall of every row with the change made, by place; empty if it cannot be tried.

        A row without a question, and one at which the retriever raises, has none.
        """
        baseline, kind = self._baseline, proposal.kind
        changed, transform = self._changed.get(kind), proposal.transform
        retriever: Retriever | None
        if proposal.before is not None:
            return {}  # of what a model reads, a retriever tells nothing
        if changed is not None:
            retriever, transform = changed, None
        elif kind is ChangeKind.SEARCH_EXACTLY:
            retriever = self._exact
        else:
            retriever = self._retriever if proposal.k or transform else None
        if retriever is None:
            return {}
        depth = proposal.asked or baseline.depth
        lists = self._lists(retriever, depth)
        if transform is not None:
            lists = [
                None if contexts is None else transform(position, contexts)
                for position, contexts in enumerate(lists)
            ]
        return {
            place: [
                None if before is None or contexts is None else rescored.recall(row, contexts)
                for row, before, contexts in zip(
                    baseline.rows, baseline.values[place], lists, strict=True
                )
            ]
            for place, rescored in self._rescored.items()
            if place in proposal.after
        }

    def _lists(self, retriever: Retriever, depth: int) -> list[Sequence[Context] | None]:
        key = id(retriever), depth
        if key not in self._returned:
            questions = [row.sample.user_input for row in self._baseline.rows]
            self._returned[key] = [
                None if question is None else _asked(retriever, question, depth)
                for question in questions
            ]
        return self._returned[key]


def by_kind(prove: Prove) -> dict[ChangeKind, Retriever]:
    """Return the retrievers that make a change; raise `ParameterError` for what is not a kind."""
    if isinstance(prove, bool):
        return {}
    if not isinstance(prove, Mapping):
        raise ParameterError(
            f"prove must be True, or retrievers by the kind of change that they make, such as "
            f'{{"skip_stages": search}}, got {shown(prove)}'
        )
    kinds = {}
    for name, retriever in prove.items():
        if name not in set(ChangeKind):
            raise ParameterError(
                f"prove: not a kind of change, got {shown(name)}: choose one of "
                f"{', '.join(ChangeKind)}"
            )
        if not callable(retriever):
            raise ParameterError(
                f"prove[{str(name)!r}] must be a function of a question and k, got "
                f"{shown(retriever)}"
            )
        kinds[ChangeKind(name)] = retriever
    return kinds


def _asked(retriever: Retriever, question: str, depth: int) -> Sequence[Context] | None:
    try:
        return [as_context(each) for each in retriever(question, depth)][:depth]
    except Exception:  # noqa: BLE001 - whatever a user's retriever raises
        return None
