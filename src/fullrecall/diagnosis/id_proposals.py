"""Changes of how IDs are compared, with the recall that they would bring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fullrecall.context import Context
from fullrecall.diagnosis.change import ChangeKind
from fullrecall.diagnosis.effects import Baseline, Proposal
from fullrecall.diagnosis.id_evidence import Alias, IdEvidence
from fullrecall.diagnosis.rescoring import ByIds, Rescored
from fullrecall.id_levels import id_fields
from fullrecall.rewrites import differences

Names: TypeAlias = Callable[[int, Context], Iterable[str]]
"""The IDs that a context of the row at a position has after the change."""


def id_proposals(
    baseline: Baseline, rescored: Mapping[int, Rescored], ids: IdEvidence
) -> Iterator[Proposal]:
    """Yield the proposals: IDs written in one way, IDs of another field, IDs of documents."""
    by_ids = {score_index: by for score_index, by in rescored.items() if isinstance(by, ByIds)}
    if not by_ids:
        return
    evidence = list(ids.in_lists())
    matches = [each for each in evidence if not isinstance(each, Alias)]
    written = [match for match in matches if not match.rule.joins]
    renaming = _Renaming(baseline, by_ids, ids)
    if written:
        action = f"write IDs in one way: ignore {differences(written)}"
        yield renaming.proposal(ChangeKind.NORMALIZE_IDS, action, renaming.of_the_same)
    for path in dict.fromkeys(each.where for each in evidence if isinstance(each, Alias)):
        action = f"read IDs from {path!r} (id_key)"
        yield renaming.proposal(ChangeKind.ID_LEVEL, action, _in_field(path))
    if len(matches) > len(written):
        action = "compare IDs of documents: leave out what numbers their chunks"
        yield renaming.proposal(ChangeKind.ID_LEVEL, action, renaming.of_documents)


@dataclass(frozen=True)
class _Renaming:
    """Gives contexts other IDs."""

    baseline: Baseline
    by_ids: Mapping[int, ByIds]
    ids: IdEvidence

    def proposal(self, kind: ChangeKind, action: str, names: Names) -> Proposal:
        """Return what recall would be with contexts of these names."""

        def transform(position: int, contexts: Sequence[Context]) -> Sequence[Context]:
            return [
                Context(context.text, id=name)
                for context in contexts
                for name in names(position, context)
            ]

        def values(score_index: int, by: ByIds) -> Iterator[float | None]:
            rows = zip(
                self.baseline.rows,
                self.baseline.values[score_index],
                self.baseline.lists,
                strict=True,
            )
            for position, (row, before, contexts) in enumerate(rows):
                if before is None or contexts is None:
                    yield before
                else:
                    yield by.of_ids(row, {n for c in contexts for n in names(position, c)})

        after = {
            score_index: list(values(score_index, by)) for score_index, by in self.by_ids.items()
        }
        return Proposal(kind, action, after, transform=transform)

    def of_the_same(self, _: int, context: Context) -> Iterable[str]:
        """Return a context's ID, and the references that are the same written differently."""
        if context.id is None:
            return ()
        return context.id, *self.ids.written.get(context.id, ())

    def of_documents(self, position: int, context: Context) -> Iterable[str]:
        """Return the row's references that are of the document of a context."""
        if context.id is None:
            return ()
        document = self.ids.document(context.id)
        return [
            reference
            for reference in self._references(position)
            if self.ids.document(reference) == document
        ]

    def _references(self, position: int) -> Iterator[str]:
        row = self.baseline.rows[position]
        for score_index in self.by_ids:
            for target in row.results[score_index].targets:
                yield from target.any_of


def _in_field(path: str) -> Names:
    def names(_: int, context: Context) -> Iterable[str]:
        value = dict(id_fields(context)).get(path)
        return () if value is None else (value,)

    return names
