"""References with what was found in addition: into the claim's any-of group, or on their own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from fullrecall.context import Context
from fullrecall.corpus import origin_of
from fullrecall.sample import Reference, Sample
from fullrecall.testset.assessment import Judged
from fullrecall.testset.pool import Pool, Targets


def extended(
    parsed_samples: Sequence[Sample],
    pool: Pool,
    accepted: Sequence[Judged],
    looked_at: Sequence[Judged],
    says: Callable[[Judged], bool | None],
) -> list[Sample]:
    """Return samples with the accepted pairs; metadata has what was judged and what was added."""
    by_question: defaultdict[int, list[Judged]] = defaultdict(list)
    for candidate in accepted:
        by_question[candidate.pair.question].append(candidate)
    judged: defaultdict[int, list[str]] = defaultdict(list)
    for candidate in looked_at:
        judged[candidate.pair.question] += candidate.pair.names
    by_source = _are_sources(parsed_samples, pool)
    samples = []
    for number, sample in enumerate(parsed_samples):
        origin = {
            **origin_of(sample),
            "judged": list(dict.fromkeys(judged[number])),
        }
        fields = sample.to_dict()
        if added := by_question[number]:
            fields |= _references(sample, pool.targets[number], added, by_source=by_source)
            origin["added"] = [
                {"id": candidate.pair.context.id, "confirmed": says(candidate) is not None}
                for candidate in added
            ]
        fields["metadata"] = {**sample.metadata, "testset": origin}
        samples.append(Sample(**fields))
    return samples


def _references(
    sample: Sample, targets: Targets, added: Sequence[Judged], *, by_source: bool
) -> dict[str, Any]:
    """Return the fields of the references with what was added."""
    groups = [list(group) for group in sample.reference_contexts or ()]
    ids = [(list(r.any_of), r.grade) for r in sample.reference_context_ids or ()]
    if targets.are_claims and len(groups) == targets.count and 0 < len(ids) != targets.count:
        # Claims of one document share its ID; apart, each takes what supports it alone.
        ids = [(_ids_of(group, by_source=by_source), 1.0) for group in groups]
    twins: dict[int, tuple[list[Context], list[str]]] = {}
    for candidate in added:
        alike = [candidate.pair.context, *candidate.pair.also]
        names = _ids_of(alike, by_source=by_source)
        joined = targets.joined_by(candidate.pair, candidate.verdict.claims)
        for target in sorted(joined):
            if len(groups) == targets.count:
                groups[target] += alike
            if len(ids) == targets.count:
                ids[target][0].extend(name for name in names if name not in ids[target][0])
        if joined:
            continue
        if candidate.pair.twin in twins:  # nearly equal texts are one target
            contexts, others = twins[candidate.pair.twin]
            contexts += alike
            others += names
            continue
        if candidate.pair.twin is not None:
            twins[candidate.pair.twin] = (alike, names)
        groups += [alike] if groups or not ids else []
        ids += [(names, 1.0)] if names and (ids or not sample.reference_contexts) else []
    return {
        "reference_contexts": groups or None,
        "reference_context_ids": [Reference(tuple(n), grade) for n, grade in ids if n] or None,
    }


def _ids_of(contexts: Sequence[Context], *, by_source: bool) -> list[str]:
    names = [context.source if by_source else context.id or context.source for context in contexts]
    return list(dict.fromkeys(name for name in names if name))


def _are_sources(samples: Sequence[Sample], pool: Pool) -> bool:
    """Whether the references' IDs are documents, of which the retrievers return chunks."""
    named = {n for s in samples for r in s.reference_context_ids or () for n in r.any_of}
    contexts = [pair.context for pairs in pool.pairs for pair in pairs]
    ids: Any = {context.id for context in contexts}
    return not named & ids and bool(named & {context.source for context in contexts})
