"""Expected IDs that were retrieved under another ID: looked for once, over the whole report.

One sample proves little: `2023-01` may be a part of `2023`, or another document. What counts is
how the IDs of all samples fit together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from fullrecall.context import Context
from fullrecall.diagnosis.corpus import Corpus
from fullrecall.id_levels import id_fields
from fullrecall.report.report import Report
from fullrecall.rewrites import Match, differences, rewrites
from fullrecall.table.row import Row

Relation: TypeAlias = Literal["rewrite", "field", "source", "chunk", "document"]

_SHORT = 4


class Alias(NamedTuple):
    """An ID that a context has in place of the expected one.

    `rank` is its place in the list, None where only the corpus has it. `where` names a field, or
    in what the IDs differ; `match` says how, where it is no field. `indexed_only`: expected IDs of
    this level do match in other samples, so that it is the corpus that was given with IDs of
    another level: no cause of a miss.
    """

    relation: Relation
    other_id: str | None
    rank: int | None = None
    where: str = ""
    match: Match | None = None
    indexed_only: bool = False

    @classmethod
    def of(cls, match: Match, rank: int | None = None) -> Alias:
        """Return the alias that a match is."""
        relation: Relation = "rewrite"
        if match.part is not None:
            relation = "document" if match.part == "reference" else "chunk"
        return cls(relation, match.retrieved, rank, differences([match]), match)


@dataclass(frozen=True)
class IdEvidence:
    """Which expected IDs stand under another ID.

    `in_lists` has them by the position of the row and the expected ID, `in_corpus` by the expected
    ID where only the corpus has it, `matches` the IDs that stand for each expected one anywhere.
    """

    in_lists: Mapping[tuple[int, str], Alias]
    in_corpus: Mapping[str, Alias]
    matches: Mapping[str, Sequence[Match]]

    def alias(self, position: int, expected_id: str) -> Alias | None:
        """Return the ID under which the row's list, or the corpus, has an expected one."""
        return self.in_lists.get((position, expected_id)) or self.in_corpus.get(expected_id)

    @cached_property
    def written(self) -> Mapping[str, Sequence[str]]:
        """The expected IDs that an ID is, written differently."""
        written: dict[str, list[str]] = defaultdict(list)
        for match in self._all_matches:
            if match.part is None:
                written[match.retrieved].append(match.reference)
        return written

    @cached_property
    def documents(self) -> Mapping[str, str]:
        """The IDs of documents by those of their parts, as far as other IDs show it."""
        document_of: dict[str, str] = {}
        for match in self._all_matches:
            if match.part == "reference":
                document_of[match.reference] = match.retrieved
            elif match.part == "retrieved":
                document_of[match.retrieved] = match.reference
        return document_of

    @property
    def _all_matches(self) -> Iterable[Match]:
        return (match for matches in self.matches.values() for match in matches)


def id_evidence(report: Report, corpus: Corpus | None) -> IdEvidence:
    """Return what the IDs of the whole report tell of expected IDs that were not retrieved."""
    missing_ids: dict[int, list[str]] = {}
    contexts: dict[int, Sequence[Context]] = {}
    retrieved_ids: set[str] = set()
    direct = 0  # references that were retrieved as they are
    for position, row in enumerate(report.rows):
        ids = {own_id for own_id in row.sample.retrieved_context_ids or () if own_id is not None}
        retrieved_ids |= ids
        missing: list[str] = []
        for reference in row.sample.reference_context_ids or ():
            if ids.isdisjoint(reference.any_of):
                missing += reference.any_of
            else:
                direct += 1
        if missing:
            missing_ids[position], contexts[position] = missing, retrieved(row)
    indexed = () if corpus is None else corpus.contexts
    # A dict for its order: of several IDs that fit, the same is named each time.
    indexed_ids = {context.id: None for context in indexed if context.id is not None}
    rewrite = rewrites(
        [
            *([context.id for context in list_] for list_ in contexts.values()),
            sorted(retrieved_ids),
        ],
        [*([(own_id,) for own_id in own_ids] for own_ids in missing_ids.values()), ()],
        indexed=indexed_ids,
        direct=direct,
    )
    matches = {} if rewrite is None else rewrite.matches
    in_lists = _in_fields(missing_ids, contexts)
    for position, own_ids in missing_ids.items():
        ranks = {context.id: rank for rank, context in enumerate(contexts[position], start=1)}
        for own_id in own_ids:
            match = next((m for m in matches.get(own_id, ()) if m.retrieved in ranks), None)
            if match is not None and (position, own_id) not in in_lists:
                in_lists[position, own_id] = Alias.of(match, ranks[match.retrieved])
    expected_ids = {own_id for own_ids in missing_ids.values() for own_id in own_ids}
    unindexed_ids = expected_ids - indexed_ids.keys()
    return IdEvidence(in_lists, _in_corpus(unindexed_ids, indexed, matches, direct), matches)


def _in_corpus(
    expected_ids: set[str],
    indexed: Sequence[Context],
    matches: Mapping[str, Sequence[Match]],
    direct: int,
) -> dict[str, Alias]:
    """Return the IDs under which the corpus has expected ones; the first of several."""
    # Where references were retrieved as they are, lists and references have one level, and a corpus
    # of chunks beside them explains no miss.
    levels_meet = direct > 0
    indexed_ids = {context.id for context in indexed}
    aliases: dict[str, Alias] = {}
    for context in indexed:
        if context.source in expected_ids and context.source != context.id:
            alias = Alias("source", context.id, indexed_only=levels_meet)
            aliases.setdefault(str(context.source), alias)
    for expected_id in expected_ids:
        match = next((m for m in matches.get(expected_id, ()) if m.retrieved in indexed_ids), None)
        if match is not None:
            alias = Alias.of(match)
            other_level = levels_meet and alias.relation != "rewrite"
            aliases[expected_id] = alias._replace(indexed_only=other_level)
    return aliases


def _in_fields(
    missing: Mapping[int, Sequence[str]], contexts: Mapping[int, Sequence[Context]]
) -> dict[tuple[int, str], Alias]:
    """Return the expected IDs that stand in another field of a retrieved context.

    A short number stands in many fields by chance: it counts where the field has the expected
    ID in half of the samples at least.
    """
    aliases: dict[tuple[int, str], Alias] = {}
    hits: Counter[str] = Counter()
    for position, own_ids in missing.items():
        for rank, context in enumerate(contexts[position], start=1):
            if not context.metadata and context.source not in own_ids:
                continue  # most have nothing of it
            for path, value in id_fields(context):
                key = position, value
                if value in own_ids and value != context.id and key not in aliases:
                    relation: Relation = "source" if path == "source" else "field"
                    aliases[key] = Alias(relation, context.id, rank, path)
                    hits[path] += 1
    return {
        (position, expected_id): alias
        for (position, expected_id), alias in aliases.items()
        if alias.relation == "source"
        or not (expected_id.isdigit() and len(expected_id) <= _SHORT)
        or hits[alias.where] >= len(missing) / 2
    }


def retrieved(row: Row) -> Sequence[Context]:
    """Return what was retrieved for a sample as contexts, one without ID and text left empty."""
    sample = row.sample
    if sample.retrieved_contexts is not None:
        return sample.retrieved_contexts
    return tuple(Context("", id=own_id) for own_id in sample.retrieved_context_ids or ())
