"""Expected IDs that were retrieved under another ID: looked for once, over the whole report.

One sample proves little: `2023-01` may be a part of `2023`, or another document. What counts is
how the IDs of all samples fit together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from fullrecall.context import Context
from fullrecall.diagnosis.corpus import Corpus
from fullrecall.id_forms import document_of
from fullrecall.id_levels import id_fields
from fullrecall.report.report import Report
from fullrecall.rewrites import Match, differences, rewrites
from fullrecall.table.row import Row

Relation: TypeAlias = Literal["rewrite", "field", "source", "chunk", "document"]

_SHORT = 4


class Alias(NamedTuple):
    """An ID that a context has in place of the expected one.

    `rank` is its place in the list, None where only the corpus has it. `where` names a field, or
    in what the IDs differ. `indexed_only`: expected IDs of this level do match in other samples,
    so that it is the corpus that was given with IDs of another level: no cause of a miss.
    """

    relation: Relation
    other_id: str | None
    rank: int | None = None
    where: str = ""
    indexed_only: bool = False


class IdEvidence:
    """Which expected IDs stand under another ID, by the position of the row.

    `missing` has the expected IDs that each row lacks, where it lacks any, `contexts` what these
    rows retrieved, `retrieved_ids` the IDs of all rows, `direct` how many expected IDs were
    retrieved as they are.
    """

    def __init__(
        self,
        missing: Mapping[int, Sequence[str]],
        contexts: Mapping[int, Sequence[Context]],
        retrieved_ids: set[str],
        direct: int,
        corpus: Corpus | None,
    ) -> None:
        self._missing = missing
        self._contexts = contexts
        self._levels_meet = direct > 0
        indexed = () if corpus is None else corpus.contexts
        self._corpus = {context.id: context for context in indexed if context.id is not None}
        expected_ids = {own_id for own_ids in missing.values() for own_id in own_ids}
        self._sources: dict[str, str | None] = {}
        for context in indexed:
            if context.source in expected_ids and context.source != context.id:
                self._sources.setdefault(str(context.source), context.id)
        self._fields = _fields(missing, contexts)
        rewrite = rewrites(
            [*([context.id for context in of] for of in contexts.values()), sorted(retrieved_ids)],
            [*([(own_id,) for own_id in own_ids] for own_ids in missing.values()), ()],
            indexed=self._corpus,
            direct=direct,
        )
        self._matches = {} if rewrite is None else rewrite.matches
        self.written: dict[str, list[str]] = {}
        """The expected IDs that an ID is, written differently."""
        self._whole: dict[str, str] = {}
        for match in (each for matches in self._matches.values() for each in matches):
            relation = _relation(match)
            if relation == "rewrite":
                self.written.setdefault(match.retrieved, []).append(match.reference)
            elif relation == "chunk":
                self._whole[match.retrieved] = match.reference
            else:
                self._whole[match.reference] = match.retrieved

    def alias(self, position: int, expected_id: str) -> Alias | None:
        """Return the ID under which the row's list, or the corpus, has an expected one."""
        if position not in self._missing:
            return None
        in_field = self._fields.get((position, expected_id))
        if in_field is not None:
            return in_field
        match, rank = self.match(position, expected_id)
        if match is not None:
            return Alias(_relation(match), match.retrieved, rank, differences([match]))
        return None if expected_id in self._corpus else self._in_corpus(expected_id)

    def _in_corpus(self, expected_id: str) -> Alias | None:
        """Return the ID under which only the corpus has an expected one."""
        for match in self._matches.get(expected_id, ()):
            if match.retrieved in self._corpus:
                relation = _relation(match)
                other_level = self._levels_meet and relation != "rewrite"
                where = differences([match])
                return Alias(relation, match.retrieved, None, where, other_level)
        if expected_id in self._sources:
            return Alias("source", self._sources[expected_id], indexed_only=self._levels_meet)
        return None

    def match(self, position: int, expected_id: str) -> tuple[Match | None, int | None]:
        """Return what stands for an expected ID in the row's list, with its rank."""
        matches = self._matches.get(expected_id)
        if matches:
            contexts = self._contexts[position]
            ranks = {context.id: rank for rank, context in enumerate(contexts, start=1)}
            for match in matches:
                if match.retrieved in ranks:
                    return match, ranks[match.retrieved]
        return None, None

    def document(self, own_id: str) -> str:
        """Return the ID of the document of which an ID names a part; the ID where it names none."""
        return document_of(self._whole.get(own_id, own_id))

    def in_lists(self) -> Iterator[Alias | Match]:
        """Yield what stands for expected IDs in the lists of their own rows."""
        for position, own_ids in self._missing.items():
            for expected_id in own_ids:
                in_field = self._fields.get((position, expected_id))
                match, _ = self.match(position, expected_id)
                if in_field is not None:
                    yield in_field
                elif match is not None:
                    yield match


def _relation(match: Match) -> Relation:
    """Return how the ID that stands for an expected one is related to it."""
    if match.part is None:
        return "rewrite"
    return "document" if match.part == "reference" else "chunk"


def _fields(
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


def id_evidence(report: Report, corpus: Corpus | None) -> IdEvidence:
    """Return what the IDs of the whole report tell of expected IDs that were not retrieved."""
    missing: dict[int, list[str]] = {}
    contexts: dict[int, Sequence[Context]] = {}
    retrieved_ids: set[str] = set()
    direct = 0
    for position, row in enumerate(report.rows):
        ids = {own_id for own_id in row.sample.retrieved_context_ids or () if own_id is not None}
        retrieved_ids |= ids
        lacking: list[str] = []
        for reference in row.sample.reference_context_ids or ():
            if ids.isdisjoint(reference.any_of):
                lacking += reference.any_of
            else:
                direct += 1
        if lacking:
            missing[position], contexts[position] = lacking, retrieved(row)
    return IdEvidence(missing, contexts, retrieved_ids, direct, corpus)


def retrieved(row: Row) -> Sequence[Context]:
    """Return what was retrieved for a sample as contexts, one without ID and text left empty."""
    sample = row.sample
    if sample.retrieved_contexts is not None:
        return sample.retrieved_contexts
    return tuple(Context("", id=own_id) for own_id in sample.retrieved_context_ids or ())
