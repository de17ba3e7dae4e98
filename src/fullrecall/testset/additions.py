"""Add the accepted contexts to the references, and measure the share still unjudged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from typing import Any

from fullrecall.samples.context import Context
from fullrecall.samples.corpus import origin_of
from fullrecall.samples.sample import Reference, Sample
from fullrecall.testset.pool import Pool, PooledPair, Targets


def extended(
    parsed_samples: Sequence[Sample],
    pool: Pool,
    accepted: Sequence[PooledPair],
    looked_at: Sequence[PooledPair],
    confirmed: Container[str],
) -> list[Sample]:
    """Return samples with the accepted pairs; metadata lists the judged and the added contexts.

    `confirmed` are the items that people labeled.
    """
    named = {n for s in parsed_samples for r in s.reference_context_ids or () for n in r.any_of}
    contexts = [pair.context for pairs in pool.pairs for pair in pairs]
    ids: Any = {context.id for context in contexts}
    # True if the references' IDs are documents, and the retrievers return chunks of them.
    by_source = not named & ids and bool(named & {context.source for context in contexts})
    added_to, judged_of = _by_question(accepted), _by_question(looked_at)
    samples = []
    # Samples without additions are rebuilt too: `unjudged` reads their judged contexts.
    for number, (sample, targets) in enumerate(zip(parsed_samples, pool.targets, strict=True)):
        added, judged = added_to.get(number, []), judged_of.get(number, [])
        seen = [c.id or c.text or "" for pair in judged for c in (pair.context, *pair.also)]
        origin = {**origin_of(sample), "judged": list(dict.fromkeys(seen))}
        fields = sample.to_dict()
        if added:
            fields |= _references(sample, targets, added, by_source=by_source)
            origin["added"] = [
                {"id": pair.context.id, "confirmed": pair.item in confirmed} for pair in added
            ]
        fields["metadata"] = {**sample.metadata, "testset": origin}
        samples.append(Sample(**fields))
    return samples


def _by_question(pairs: Iterable[PooledPair]) -> dict[int, list[PooledPair]]:
    by_question: defaultdict[int, list[PooledPair]] = defaultdict(list)
    for pair in pairs:
        by_question[pair.question].append(pair)
    return by_question


def _references(
    sample: Sample, targets: Targets, added: Sequence[PooledPair], *, by_source: bool
) -> dict[str, Any]:
    """Return the reference fields of a sample, with the added contexts."""
    groups = [list(group) for group in sample.reference_contexts or ()]
    ids = [(list(r.any_of), r.grade) for r in sample.reference_context_ids or ()]
    if targets.are_claims and len(groups) == targets.count and 0 < len(ids) != targets.count:
        # The claims of one document share its ID; here each gets the contexts that support it.
        ids = [(_ids_of(group, by_source=by_source), 1.0) for group in groups]
    # Nearly equal texts are one target. Otherwise an index without copies looks worse than one with
    # them (a fifth of Cranfield copied three times: recall@10 fell from .308 to .276; as one target
    # it rose from .311 to .393).
    own_targets: defaultdict[Any, list[Context]] = defaultdict(list)
    for pair in added:
        alike = [pair.context, *pair.also]
        joined = targets.joined_by(pair)
        for target in sorted(joined):
            if len(groups) == targets.count:
                groups[target] += alike
            if len(ids) == targets.count:
                ids[target][0].extend(
                    name
                    for name in _ids_of(alike, by_source=by_source)
                    if name not in ids[target][0]
                )
        if not joined:
            own_targets[pair.item if pair.twin is None else pair.twin] += alike
    has_groups, has_ids = bool(groups) or not ids, bool(ids) or not sample.reference_contexts
    for contexts in own_targets.values():
        groups += [contexts] if has_groups else []
        ids += [(_ids_of(contexts, by_source=by_source), 1.0)] if has_ids else []
    return {
        "reference_contexts": groups or None,
        "reference_context_ids": [Reference(tuple(n), grade) for n, grade in ids if n] or None,
    }


def _ids_of(contexts: Sequence[Context], *, by_source: bool) -> list[str]:
    names = [context.source if by_source else context.id or context.source for context in contexts]
    return list(dict.fromkeys(name for name in names if name))


def unjudged(samples: Iterable[Sample], k: int) -> float | None:
    """Return the share of unjudged contexts among the first `k` of completed samples.

    Above 0.1, true recall may be higher; above 0.2, do not compare it: run `complete` with this
    retriever. The contexts that `complete` judged are in the samples' metadata; contexts that the
    references name count as judged. Samples that were never completed, or have no retrieval, are
    left out. None if no sample is left.
    """
    holes: list[bool] = []
    for sample in samples:
        judged = origin_of(sample).get("judged")
        if isinstance(judged, list) and sample.retrieved_contexts is not None:
            targets = Targets(sample)
            for context in sample.retrieved_contexts[:k]:
                is_known = context.id in judged or context.text in judged
                holes.append(not is_known and not targets.named_by(context))
    return sum(holes) / len(holes) if holes else None
