"""Changes of how IDs are compared, with the recall that they would bring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from fullrecall.context import Context
from fullrecall.diagnosis.change import ChangeKind
from fullrecall.diagnosis.effects import Baseline, Proposal
from fullrecall.diagnosis.id_evidence import IdEvidence
from fullrecall.id_levels import id_fields
from fullrecall.rewrites import differences
from fullrecall.scorers import IdRecall

Names: TypeAlias = Callable[[int, Context], Iterable[str]]
"""The IDs that a context of the row at a position has after the change."""


def id_proposals(baseline: Baseline, ids: IdEvidence) -> Iterator[Proposal]:
    """Yield the proposals: IDs written in one way, IDs of another field, IDs of documents."""

    def in_one_form(_: int, context: Context) -> Iterable[str]:
        return () if context.id is None else (context.id, *ids.written.get(context.id, ()))

    def of_documents(position: int, context: Context) -> Iterable[str]:
        document = ids.documents.get(context.id or "", context.id)
        references = baseline.rows[position].sample.reference_context_ids or ()
        names = (name for reference in references for name in reference.any_of)
        return [name for name in names if ids.documents.get(name, name) == document]

    aliases = ids.in_lists.values()
    matches = [alias.match for alias in aliases if alias.match is not None]
    written = [match for match in matches if match.part is None]
    if written:
        action = f"write IDs in one way: ignore {differences(written)}"
        yield from _renaming(baseline, ChangeKind.NORMALIZE_IDS, action, in_one_form)
    for path in dict.fromkeys(alias.where for alias in aliases if alias.match is None):
        action = f"read IDs from {path!r} (id_key)"
        yield from _renaming(baseline, ChangeKind.ID_LEVEL, action, _in_field(path))
    if len(matches) > len(written):
        action = "compare IDs of documents: leave out what numbers their chunks"
        yield from _renaming(baseline, ChangeKind.ID_LEVEL, action, of_documents)


def _in_field(path: str) -> Names:
    def names(_: int, context: Context) -> Iterable[str]:
        value = dict(id_fields(context)).get(path)
        return () if value is None else (value,)

    return names


def _renaming(
    baseline: Baseline, kind: ChangeKind, action: str, names: Names
) -> Iterator[Proposal]:
    """Yield what recall by ID would be with contexts of these names, if any score is by ID."""
    lists = [
        None
        if contexts is None
        else [
            Context(context.text, id=name)
            for context in contexts
            for name in names(position, context)
        ]
        for position, contexts in enumerate(baseline.lists)
    ]
    after = {
        score_index: values
        for score_index, values in baseline.over(lists).items()
        if baseline.methods[score_index].kind == IdRecall.kind
    }
    if after:
        yield Proposal(kind, action, after)
