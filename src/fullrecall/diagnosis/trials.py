"""Proposed changes carried out: every question is put to a retriever that makes the change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from fullrecall.context import Context
from fullrecall.diagnosis.change import ChangeKind
from fullrecall.diagnosis.effects import Baseline, Proposal, Values
from fullrecall.errors import ParameterError
from fullrecall.identifiers import shown
from fullrecall.run.retrievers import RetrieverLike, as_retriever

Prove: TypeAlias = bool | Mapping[ChangeKind | str, RetrieverLike]
"""Whether changes are tried; by kind, the retrievers that make those that need another one."""


class Trials:
    """Tries proposals of one report; a retriever is asked once for each question and depth.

    `retriever` is the one that was diagnosed, `exact` the search without an approximate index or a
    filter, and `changed` has by the kind of a change a retriever that makes it.
    """

    def __init__(
        self,
        baseline: Baseline,
        retriever: RetrieverLike | None,
        exact: RetrieverLike | None,
        changed: Mapping[ChangeKind, RetrieverLike],
    ) -> None:
        self._baseline = baseline
        self._retriever = retriever
        self._changed = changed if exact is None else {ChangeKind.SEARCH_EXACTLY: exact, **changed}
        self._returned: dict[tuple[int, int], list[Sequence[Context] | None]] = {}

    def values(self, proposal: Proposal) -> dict[int, Values]:
        """Return recall of every row after the change, by score index; empty if it cannot be tried.

        A row without a question, and one at which the retriever fails, has none.
        """
        if proposal.before is not None:
            return {}  # of what a model reads, a retriever tells nothing
        retriever, transform = self._changed.get(proposal.kind), None
        if retriever is None and (proposal.k or proposal.transform):
            retriever, transform = self._retriever, proposal.transform
        if retriever is None:
            return {}
        lists = self._lists(retriever, proposal.depth or self._baseline.depth)
        if transform is not None:
            lists = [
                None if contexts is None else transform(position, contexts)
                for position, contexts in enumerate(lists)
            ]
        return {
            score_index: [
                None if contexts is None else value
                for value, contexts in zip(values, lists, strict=True)
            ]
            for score_index, values in self._baseline.over(lists).items()
            if score_index in proposal.after
        }

    def _lists(self, retriever: RetrieverLike, depth: int) -> list[Sequence[Context] | None]:
        key = id(retriever), depth
        if key not in self._returned:
            from fullrecall.run.asker import Asker

            asker = Asker(as_retriever(retriever, k=depth))
            samples = asker.asked(row.sample for row in self._baseline.rows)
            self._returned[key] = [
                None
                if (record := sample.retrieval) is None or record.error is not None
                else (record.contexts or ())[:depth]
                for sample in samples
            ]
        return self._returned[key]


def by_kind(prove: Prove) -> dict[ChangeKind, RetrieverLike]:
    """Return the retrievers that make a change; raise `ParameterError` for what is not a kind."""
    if isinstance(prove, bool):
        return {}
    if not isinstance(prove, Mapping):
        raise ParameterError(
            f"prove must be True, or retrievers by the kind of change that they make, such as "
            f'{{"skip_stages": search}}, got {shown(prove)}'
        )
    for name, retriever in prove.items():
        if name not in set(ChangeKind):
            raise ParameterError(
                f"prove: not a kind of change, got {shown(name)}: choose one of "
                f"{', '.join(ChangeKind)}"
            )
        try:
            as_retriever(retriever)
        except ParameterError as error:
            raise ParameterError(f"prove[{str(name)!r}]: {error}") from None
    return {ChangeKind(name): retriever for name, retriever in prove.items()}
