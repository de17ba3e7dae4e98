"""Changes of how IDs are compared, with the recall that they would bring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fullrecall.context import Context
from fullrecall.diagnosis.change import ChangeKind
from fullrecall.diagnosis.effects import Baseline, Proposal
from fullrecall.diagnosis.id_evidence import IdEvidence
from fullrecall.diagnosis.id_forms import named_values
from fullrecall.diagnosis.rescoring import ByIds, Rescored

Names: TypeAlias = Callable[[int, Context], Iterable[str]]
"""The IDs that a context of the row at a position has after the change."""


def id_proposals(
    baseline: Baseline, rescored: Mapping[int, Rescored], ids: IdEvidence
) -> Iterator[Proposal]:
    """Yield the proposals: IDs in one form, IDs of another field, IDs of documents."""
    by_ids = {place: by for place, by in rescored.items() if isinstance(by, ByIds)}
    if not by_ids:
        return
    forms: dict[str, None] = {}
    fields: dict[str, None] = {}
    by_level = False
    for _, _, alias in ids.aliases():
        if alias.rank is None:
            continue
        if alias.relation in ("form", "path", "rewrite"):
            names = [alias.where] if alias.relation == "rewrite" else alias.where.split(" and ")
            forms |= dict.fromkeys(names if alias.where else ["leading path"])
        elif alias.relation in ("named", "source"):
            fields[alias.where] = None
        else:
            by_level = True
    renaming = _Renaming(baseline, by_ids, ids)
    if forms:
        action = f"write IDs in one way: ignore {', '.join(forms)}"
        yield renaming.proposal(ChangeKind.NORMALIZE_IDS, action, renaming.of_the_same)
    for where in fields:
        action = f"read IDs from {where} (id_key)"
        yield renaming.proposal(ChangeKind.ID_LEVEL, action, _in_field(where))
    if by_level:
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

        return Proposal(
            kind,
            action,
            {
                place: [
                    before
                    if before is None or contexts is None
                    else by.of_ids(row, {one for c in contexts for one in names(position, c)})
                    for position, (row, before, contexts) in enumerate(
                        zip(
                            self.baseline.rows,
                            self.baseline.values[place],
                            self.baseline.lists,
                            strict=True,
                        )
                    )
                ]
                for place, by in self.by_ids.items()
            },
            transform=transform,
        )

    def of_the_same(self, _: int, context: Context) -> Iterable[str]:
        """Return a context's ID, and the references that are the same written differently."""
        if context.id is None:
            return ()
        return context.id, *self.ids.written_as(context.id)

    def of_documents(self, position: int, context: Context) -> Iterable[str]:
        """Return the row's references that are of the document of a context."""
        if context.id is None:
            return ()
        document = _document(context.id, self.ids)
        return [one for one in self._wanted(position) if _document(one, self.ids) == document]

    def _wanted(self, position: int) -> Iterator[str]:
        row = self.baseline.rows[position]
        for place in self.by_ids:
            for target in row.results[place].targets:
                yield from target.any_of


def _in_field(where: str) -> Names:
    def names(_: int, context: Context) -> Iterable[str]:
        if where == "source":
            value = context.source
        else:
            value = dict(named_values(context.metadata)).get(where)
        return () if value is None else (value,)

    return names


def _document(given: str, ids: IdEvidence) -> str:
    return ids.document(given) or given
