"""Explain misses of IDs that were retrieved under another ID, and propose changes.

One sample proves little, since `2023-01` may be a part of `2023` or another document. So the
evidence comes from the IDs of all samples.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

from fullrecall._util.naming import parameter
from fullrecall.diagnosis.causes import Cause, Explained
from fullrecall.diagnosis.corpus import Corpus
from fullrecall.diagnosis.effects import Baseline, ChangeKind, Proposal
from fullrecall.diagnosis.ids.fields import id_fields, is_telling
from fullrecall.diagnosis.ids.matching import IdMatch, differences, matches_of
from fullrecall.samples.context import Context
from fullrecall.scorers import IdRecall
from fullrecall.stats.evaluation import Evaluation
from fullrecall.table.row import Row


class Alias(NamedTuple):
    """Another ID of the document that an expected ID names.

    `origin` is the reason why both IDs are known to name one document. It is the match of both IDs;
    or the name (as for `id_key`) of a context's field that has the expected ID; or None if the
    texts are equal.
    `explained` is the cause of misses that the alias explains. It is None if only the corpus has
    IDs of another level, such as chunks instead of documents, while retrieved and expected IDs have
    the same level.
    """

    origin: IdMatch | str | None
    explained: Explained | None


class IdEvidence(NamedTuple):
    """The expected IDs whose documents have another ID.

    `in_lists` has the aliases in retrieved lists, by row position and expected ID. `in_corpus` has
    the aliases in the corpus, by expected ID. `matches` has all matches of each expected ID.
    `is_foreign` is True if there are many expected IDs and the corpus has none of them. The corpus
    was then chunked or named differently.
    """

    in_lists: Mapping[tuple[int, str], Alias]
    in_corpus: Mapping[str, Alias]
    matches: Mapping[str, Sequence[IdMatch]]
    is_foreign: bool


def _alias(origin: IdMatch | str | None, other_id: str | None, rank: int | None = None) -> Alias:
    """Return `other_id` as the alias of an expected ID, with the cause that it explains.

    `origin` is as in `Alias`. `rank` is the rank of the context with `other_id` in the retrieved
    list, None for a context of the corpus.
    """
    context = f"the context at rank {rank}" if rank else "a context of the corpus"
    cause = Cause.ID_MISMATCH
    if origin is None:
        detail = f"{context} has exactly its text, and the ID {other_id!r}"
    elif isinstance(origin, str):
        cause = Cause.WRONG_ID_LEVEL if origin == "source" else Cause.ID_MISMATCH
        field = "as its source" if origin == "source" else f"at {parameter('id_key', origin)}"
        detail = f"{context} has it {field}, and {other_id!r} as its ID"
    else:
        cause = Cause.ID_MISMATCH if origin.part is None else Cause.WRONG_ID_LEVEL
        how = {
            None: f": the same but for {differences([origin])}",
            "retrieved": ", which is a part of it",
            "reference": ", of which it is a part",
        }[origin.part]
        detail = f"{context} is {other_id!r}{how}"
    return Alias(origin, Explained(cause, detail, rank))


def id_evidence(report: Evaluation, corpus: Corpus) -> IdEvidence:
    """Return the evidence on expected IDs that were not retrieved, from all IDs of a report."""
    lists: list[Sequence[str | None]] = []
    references: list[Sequence[Sequence[str]]] = []
    missing_ids: dict[int, list[str]] = {}
    contexts: dict[int, Sequence[Context]] = {}
    levels_meet = False
    for position, row in enumerate(report.rows):
        lists.append(row.sample.retrieved_context_ids or ())
        references.append([each.any_of for each in row.sample.reference_context_ids or ()])
        retrieved = set(lists[-1])
        missing = [group for group in references[-1] if retrieved.isdisjoint(group)]
        levels_meet = levels_meet or len(missing) < len(references[-1])
        if missing:
            missing_ids[position] = list(chain.from_iterable(missing))
            contexts[position] = row.sample.contexts or ()
    matches = matches_of(lists, references, corpus.by_id)
    in_lists = _in_fields(missing_ids, contexts)
    for position, own_ids in missing_ids.items():
        ranks = {context.id: rank for rank, context in enumerate(contexts[position], start=1)}
        for own_id in own_ids:
            match = next((m for m in matches.get(own_id, ()) if m.retrieved in ranks), None)
            if match is not None and (position, own_id) not in in_lists:
                rank = ranks[match.retrieved]
                in_lists[position, own_id] = _alias(match, match.retrieved, rank)
    for key, alias in _of_texts(missing_ids, report, corpus).items():
        in_lists.setdefault(key, alias)
    unindexed_ids = set().union(*missing_ids.values()) - corpus.by_id.keys()
    in_corpus = _in_corpus(unindexed_ids, corpus, matches, levels_meet=levels_meet)
    expected = set(chain.from_iterable(chain.from_iterable(references)))
    is_foreign = len(expected) >= _MANY and expected.isdisjoint(corpus.by_id)
    return IdEvidence(in_lists, in_corpus, matches, is_foreign)


_MANY = 10
"""If this many IDs are expected and the corpus has none of them, it names documents differently."""


def _of_texts(
    missing: Mapping[int, Sequence[str]], report: Evaluation, corpus: Corpus
) -> dict[tuple[int, str], Alias]:
    """Return the aliases of expected IDs whose texts were retrieved under other IDs.

    Of the retrieved texts that the corpus has, more than half must have another ID than in the
    corpus; this shows that the index was rebuilt. Otherwise the result is empty, since the contexts
    with another ID may be mere copies of the expected ones.
    """
    aliases: dict[tuple[int, str], Alias] = {}
    renamed = known = 0
    for position, row in enumerate(report.rows if corpus.has_texts else ()):
        for rank, context in enumerate(row.sample.contexts or (), start=1):
            expected = corpus.of_text(context.text)
            if expected is not None:
                known += 1
                renamed += expected != context.id
                if expected != context.id and expected in missing.get(position, ()):
                    aliases.setdefault((position, expected), _alias(None, context.id, rank))
    return aliases if renamed * 2 > known else {}


def _in_corpus(
    expected_ids: set[str],
    corpus: Corpus,
    matches: Mapping[str, Sequence[IdMatch]],
    *,
    levels_meet: bool,
) -> dict[str, Alias]:
    """Return an alias in the corpus for each expected ID that has one.

    `levels_meet` is True if some references were retrieved under their own IDs. Then references and
    retrieved contexts both have document IDs, or both have chunk IDs. So an alias of the other
    level, such as the document ID of an expected chunk, does not explain a miss.
    """
    aliases: dict[str, Alias] = {}
    for context in corpus.contexts:
        if context.source in expected_ids and context.source != context.id:
            aliases.setdefault(str(context.source), _alias("source", context.id))
    for expected_id in expected_ids:
        match = next((m for m in matches.get(expected_id, ()) if m.retrieved in corpus.by_id), None)
        if match is not None:
            aliases[expected_id] = _alias(match, match.retrieved)
    for expected_id, alias in aliases.items():
        if levels_meet and not (isinstance(alias.origin, IdMatch) and alias.origin.part is None):
            aliases[expected_id] = alias._replace(explained=None)
    return aliases


def _in_fields(
    missing: Mapping[int, Sequence[str]], contexts: Mapping[int, Sequence[Context]]
) -> dict[tuple[int, str], Alias]:
    """Return the aliases of expected IDs that are in another field of a retrieved context.

    A short number is in many fields by chance, so it counts only if the field has the expected ID
    in at least half of the samples.
    """
    aliases: dict[tuple[int, str], Alias] = {}
    hits: Counter[IdMatch | str | None] = Counter()
    for position, own_ids in missing.items():
        for rank, context in enumerate(contexts[position], start=1):
            if not context.metadata and context.source not in own_ids:
                continue  # Most contexts have no other field that may have an expected ID.
            for path, value in id_fields(context):
                key = position, value
                if value in own_ids and value != context.id and key not in aliases:
                    aliases[key] = _alias(path, context.id, rank)
                    hits[path] += 1
    return {
        (position, expected_id): alias
        for (position, expected_id), alias in aliases.items()
        if alias.origin == "source"
        or is_telling(expected_id)
        or hits[alias.origin] >= len(missing) / 2
    }


IdNames: TypeAlias = Callable[[Row, Context], Iterable[str]]
"""Returns the IDs that a context of a row has after a change."""


def id_proposals(baseline: Baseline, ids: IdEvidence, corpus: Corpus) -> Iterator[Proposal]:
    """Yield proposals to write IDs in one way, read another field, or compare document IDs."""
    written: dict[str, list[str]] = defaultdict(list)
    document_of: dict[str, str] = {}  # has only the IDs of matches
    for match in chain.from_iterable(ids.matches.values()):
        if match.part is None:
            written[match.retrieved].append(match.reference)
        elif match.part == "reference":
            document_of[match.reference] = match.retrieved
        else:
            document_of[match.retrieved] = match.reference

    def in_one_form(_: Row, context: Context) -> Iterable[str]:
        return () if context.id is None else (context.id, *written.get(context.id, ()))

    def of_documents(row: Row, context: Context) -> Iterable[str]:
        document = document_of.get(context.id or "", context.id)
        references = row.sample.reference_context_ids or ()
        names = (name for reference in references for name in reference.any_of)
        return [name for name in names if document_of.get(name, name) == document]

    origins = [alias.origin for alias in ids.in_lists.values()]
    matches = [origin for origin in origins if isinstance(origin, IdMatch)]
    if None in origins:
        action = "give texts the IDs that the corpus has for them: they have new ones"
        names: IdNames = lambda _, context: filter(None, [corpus.of_text(context.text)])  # noqa: E731
        yield from _renaming(baseline, ChangeKind.NORMALIZE_IDS, action, names)
    same = [match for match in matches if match.part is None]
    if same:
        action = f"write IDs in one way: they differ in {differences(same)}"
        yield from _renaming(baseline, ChangeKind.NORMALIZE_IDS, action, in_one_form)
    for path in dict.fromkeys(origin for origin in origins if isinstance(origin, str)):
        action = f"read IDs from {path!r} (id_key)"
        yield from _renaming(baseline, ChangeKind.ID_LEVEL, action, _in_field(path))
    if len(matches) > len(same):
        action = "compare IDs of documents: leave out what numbers their chunks"
        yield from _renaming(baseline, ChangeKind.ID_LEVEL, action, of_documents)


def _in_field(path: str) -> IdNames:
    return lambda _, context: filter(None, [dict(id_fields(context)).get(path)])


def _renaming(
    baseline: Baseline, kind: ChangeKind, action: str, names: IdNames
) -> Iterator[Proposal]:
    """Yield the proposal to give contexts the IDs that `names` returns, with the new recall by ID.

    Yields none if no score is by ID.
    """
    lists = [
        None
        if contexts is None
        else [
            Context(context.text, id=name) for context in contexts for name in names(row, context)
        ]
        for row, contexts in zip(baseline.rows, baseline.lists, strict=True)
    ]
    after = {
        score_index: values
        for score_index, values in baseline.over(lists).items()
        if baseline.methods[score_index].kind == IdRecall.kind
    }
    if after:
        yield Proposal(kind, action, after)
