"""Expected IDs that were retrieved under another ID: looked for once, over the whole report.

One sample proves little: `2023-01` may be a part of `2023`, or another document. What counts is
how the IDs of all samples fit together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

from fullrecall.context import Context
from fullrecall.diagnosis.corpus import Corpus
from fullrecall.diagnosis.id_forms import document_of, ends_with, form, forms_between, named_values
from fullrecall.rewrites import rewrites

Relation: TypeAlias = Literal["form", "path", "named", "source", "chunk", "document", "rewrite"]


class Alias(NamedTuple):
    """An ID that a context has in place of the expected one.

    `rank` is its place in the list, None where only the corpus has it. `where` names a field, or
    in what the forms differ. `indexed_only`: expected IDs of this level do match in other samples,
    so that it is the corpus that was given with IDs of another level: no cause of a miss.
    """

    relation: Relation
    found: str | None
    rank: int | None = None
    where: str = ""
    indexed_only: bool = False


class Lookup(NamedTuple):
    """One sample as IDs are looked up: those expected and not retrieved, and its contexts."""

    wanted: Sequence[str]
    contexts: Sequence[Context]


class IdEvidence:
    """Which expected IDs stand under another ID, by the position of the row.

    `lookups` has the rows that lack an expected ID, `retrieved` the IDs of all rows, `direct` how
    many expected IDs were retrieved as they are.
    """

    def __init__(
        self,
        lookups: Mapping[int, Lookup],
        retrieved: set[str],
        direct: int,
        corpus: Corpus | None,
    ) -> None:
        self._lookups = lookups
        self._levels_meet = direct > 0
        indexed = () if corpus is None else corpus.contexts
        self._corpus = frozenset(context.id for context in indexed if context.id is not None)
        known = retrieved | self._corpus
        wanted = {one for lookup in lookups.values() for one in lookup.wanted}
        self._sources = _sources(indexed, wanted)
        self._forms = _forms(known, wanted)
        self._paths = _paths(known, wanted)
        self._chunks: dict[str, set[str]] = {}
        for one in known:
            parent = document_of(one)
            if parent in wanted and parent is not None:
                self._chunks.setdefault(parent, set()).add(one)
        self._known = known
        self._named = self._fields()
        self._renamed = self._rewritten(retrieved, wanted - known, direct)
        self._options = {one: found for one in wanted if (found := tuple(self._others(one)))}
        self._written: dict[str, list[str]] = {}
        for reference, options in self._options.items():
            for relation, other in options:
                if relation in _SPELLINGS:
                    self._written.setdefault(other, []).append(reference)

    def alias(self, position: int, wanted: str) -> Alias | None:
        """Return the ID under which the row's list, or the corpus, has an expected one."""
        lookup = self._lookups.get(position)
        if lookup is None:
            return None
        named = self._named.get((position, wanted))
        if named is not None:
            return named
        options = self._options.get(wanted, ())
        if options:
            ranks = {context.id: rank for rank, context in enumerate(lookup.contexts, start=1)}
            for relation, found in options:
                if found in ranks:
                    return self._alias(relation, wanted, found, ranks[found])
        return None if wanted in self._corpus else self._in_corpus(wanted, options)

    def _in_corpus(self, wanted: str, options: Iterable[tuple[Relation, str]]) -> Alias | None:
        """Return the ID under which only the corpus has an expected one."""
        for relation, found in options:
            if found in self._corpus:
                alias = self._alias(relation, wanted, found, None)
                return alias._replace(
                    indexed_only=self._levels_meet and relation in ("chunk", "document")
                )
        if wanted in self._sources:
            return Alias("source", self._sources[wanted], indexed_only=self._levels_meet)
        return None

    def aliases(self) -> Iterator[tuple[int, str, Alias]]:
        """Yield every alias that was found, with the position of its row and the expected ID."""
        for position, lookup in self._lookups.items():
            for wanted in lookup.wanted:
                alias = self.alias(position, wanted)
                if alias is not None:
                    yield position, wanted, alias

    def _alias(self, relation: Relation, wanted: str, found: str, rank: int | None) -> Alias:
        where = ""
        if relation == "form":
            where = " and ".join(forms_between(wanted, found))
        elif relation == "rewrite" and self.rewrite is not None:
            where = self.rewrite.what
        return Alias(relation, found, rank, where)

    def _others(self, wanted: str) -> Iterator[tuple[Relation, str]]:
        """Yield the known IDs that may stand for an expected one, with how they are related."""
        if wanted in self._forms:
            yield "form", self._forms[wanted]
        if wanted in self._paths:
            yield "path", self._paths[wanted]
        for found in sorted(self._chunks.get(wanted, ())):
            yield "chunk", found
        document = document_of(wanted)
        if document is not None and document in self._known:
            yield "document", document
        for found in sorted(self._renamed.get(wanted, ())):
            yield self._level, found

    def _rewritten(
        self, retrieved: set[str], missing: set[str], direct: int
    ) -> Mapping[str, frozenset[str]]:
        """Return the IDs that stand for expected ones by what the IDs of all samples tell."""
        lists = [[context.id for context in lookup.contexts] for lookup in self._lookups.values()]
        known = self._forms.keys() | self._paths.keys() | self._chunks.keys()
        references = [
            [one for one in lookup.wanted if one not in known] for lookup in self._lookups.values()
        ]
        found = rewrites([*lists, sorted(retrieved)], [*references, ()], direct=direct)
        self.rewrite = found
        """What rewrites one side's IDs into the other's; None where nothing does."""
        same = {} if found is None else found.matched(missing, sorted(self._known))
        self._whole: dict[str, str] = {}
        for wanted, others in same.items() if self._level != "rewrite" else ():
            for one in others:
                part, whole = (wanted, one) if self._level == "document" else (one, wanted)
                self._whole[part] = whole
        return same

    @property
    def _level(self) -> Relation:
        """How IDs that are the same by the rewrite are related."""
        if self.rewrite is None or not self.rewrite.joins:
            return "rewrite"
        return "document" if self.rewrite.side == "reference" else "chunk"

    def written_as(self, given: str) -> Sequence[str]:
        """Return the expected IDs that an ID is, written differently."""
        return self._written.get(given, ())

    def document(self, given: str) -> str | None:
        """Return the ID of the document of which an ID names a part; None where it names none."""
        return document_of(given) or self._whole.get(given)

    def _fields(self) -> dict[tuple[int, str], Alias]:
        """Return the expected IDs that stand in another field of a retrieved context.

        A short number stands in many fields by chance: it counts where the field has the expected
        ID in half of the samples at least.
        """
        found: dict[tuple[int, str], Alias] = {}
        hits: Counter[str] = Counter()
        for position, lookup in self._lookups.items():
            wanted = set(lookup.wanted)
            # Most lists have nothing of it, which is seen at once.
            sources = map(_source, lookup.contexts)
            if wanted.isdisjoint(sources) and not any(map(_metadata, lookup.contexts)):
                continue
            for rank, context in enumerate(lookup.contexts, start=1):
                if context.source in wanted and context.source != context.id:
                    key = position, str(context.source)
                    found.setdefault(key, Alias("source", context.id, rank, "source"))
                if not context.metadata:
                    continue
                for path, value in named_values(context.metadata):
                    if value in wanted and (position, value) not in found:
                        found[position, value] = Alias("named", context.id, rank, path)
                        hits[path] += 1
        half = sum(bool(lookup.wanted) for lookup in self._lookups.values()) / 2
        return {
            (position, wanted): alias
            for (position, wanted), alias in found.items()
            if alias.relation == "source"
            or not (wanted.isdigit() and len(wanted) <= _SHORT)
            or hits[alias.where] >= half
        }


_SPELLINGS = ("form", "path", "rewrite")
_SHORT = 4
_source, _metadata = attrgetter("source"), attrgetter("metadata")


def _forms(known: set[str], wanted: set[str]) -> dict[str, str]:
    """Return for each expected ID the only known one that differs from it in its form alone."""
    missing = wanted - known
    of: dict[str, list[str]] = {form(one): [] for one in missing}
    for one in known:
        if (found := of.get(form(one))) is not None:
            found.append(one)
    return {one: of[form(one)][0] for one in missing if len(of[form(one)]) == 1}


def _paths(known: set[str], wanted: set[str]) -> dict[str, str]:
    """Return for each expected ID the only known path that ends with it, or that it ends with."""
    of: dict[str, list[str]] = {}
    for one in wanted - known:
        of.setdefault(form(one).rpartition("/")[2], []).append(one)
    found: dict[str, list[str]] = {}
    for one in known:
        for other in of.get(form(one).rpartition("/")[2], ()):
            ours, theirs = form(one), form(other)
            if ends_with(ours, theirs) or ends_with(theirs, ours):
                found.setdefault(other, []).append(one)
    return {one: of_it[0] for one, of_it in found.items() if len(of_it) == 1}


def _sources(corpus: Iterable[Context], wanted: set[str]) -> dict[str, str | None]:
    """Return the expected IDs that the corpus has as the source of chunks, with one of these."""
    found: dict[str, str | None] = {}
    for context in corpus:
        if context.source in wanted and context.source != context.id:
            found.setdefault(str(context.source), context.id)
    return found
