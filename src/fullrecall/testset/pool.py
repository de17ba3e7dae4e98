"""Pool the contexts that several retrievers return, and find those that references name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from typing import Any

from fullrecall.judge.evidence import Folded, verbatim
from fullrecall.samples.context import Context
from fullrecall.samples.sample import Sample
from fullrecall.scorers.scorer import UNOBSERVED
from fullrecall.testset import duplicates
from fullrecall.testset.completeness import PairVerdict
from fullrecall.testset.content import has_spans

_HOLDS = 0.9
"""The least share of a quote's characters that a chunk must cover to hold it."""


class Targets:
    """The targets of one sample, as its references name them.

    If every claim has its own group of reference contexts, or of IDs, the targets are the claims.
    Otherwise the groups are the targets, and each other relevant context is a new target.
    """

    def __init__(self, sample: Sample) -> None:
        self.claims = [claim.text for claim in sample.reference_claims or ()]
        spans = [list(group) for group in sample.reference_contexts or ()]
        ids = [list(reference.any_of) for reference in sample.reference_context_ids or ()]
        # Prefer reference contexts with offsets to IDs, since a chunk of the right document may
        # lack the quote.
        self._spans = spans if has_spans(sample) or not ids else []
        self._ids = [] if self._spans else ids
        self.count = len(self._spans) or len(self._ids)
        self.are_claims = bool(self.claims) and self.count == len(self.claims)
        if not self.are_claims:
            self.claims = []

    def joined_by(self, pair: PooledPair) -> frozenset[int]:
        """Return the targets that get a relevant pair's context as a new alternative.

        If the targets are claims, these are the claims that the pair supports, or the only claim.
        Otherwise, they are the targets with a nearly equal text; an empty set means a new target.
        """
        if not self.are_claims:
            return pair.twin_of
        return pair.claims or frozenset(range(self.count if self.count == 1 else 0))

    def named_by(self, context: Context) -> frozenset[int]:
        """Return the targets that a context satisfies according to the existing references."""
        matches = {
            number
            for number, names in enumerate(self._ids)
            if {context.id, context.source} & set(names)
        }
        folded = Folded(context.text) if context.text and self._spans else None
        for number, group in enumerate(self._spans):
            if any(_holds(context, folded, reference) for reference in group):
                matches.add(number)
        return frozenset(matches)


def _holds(context: Context, folded: Folded | None, reference: Context) -> bool:
    """Return whether a context contains a reference.

    If both have offsets, the context must cover 90 % of the reference's range. Otherwise it must
    have the reference's words or, if one of the two has no text, its ID.
    """
    if reference.source is not None and reference.start is not None and context.start is not None:
        if context.source != reference.source:
            return False
        length = (reference.end or 0) - reference.start
        shared = min(context.end or 0, reference.end or 0) - max(context.start, reference.start)
        return length > 0 and shared >= _HOLDS * length
    if reference.text is not None and folded is not None:
        return next(verbatim(reference.text, folded), None) is not None
    return reference.id is not None and reference.id == context.id


@dataclass(frozen=True)
class PooledPair:
    """A question and a context that a retriever returned for it; equal texts are one context.

    `item` identifies the pair. `nearness` is the sum of 1 / (10 + rank) over the retrievers.
    `named` are the targets for which the references already name the context. `also` are the other
    contexts with the same text. Nearly equal texts have the same `twin`: each is judged, and the
    relevant ones form one target. `twin_of` are the targets for which the references name a nearly
    equal text. `relevant` is the judge's verdict on the context; None without a verdict, and
    `problem` then has the reason. `claims` are the 0-based numbers of the claims that the context
    supports by itself.
    """

    question: int
    item: str
    context: Context
    nearness: float
    named: frozenset[int] = frozenset()
    also: tuple[Context, ...] = ()
    twin: int | None = None
    twin_of: frozenset[int] = frozenset()
    relevant: bool | None = None
    claims: frozenset[int] = frozenset()
    problem: str = ""

    @property
    def is_open(self) -> bool:
        """Whether a verdict is needed: the context has a text, and no reference names it."""
        return not self.named and bool(self.context.text)

    @property
    def kind(self) -> PairVerdict:
        """The kind of the pair by the judge's verdict."""
        return "no verdict" if self.relevant is None else "yes" if self.relevant else "no"


@dataclass(frozen=True)
class Pool:
    """All pooled pairs, question by question.

    `problems` has the questions for which a retriever failed; the pool then has the contexts of the
    other retrievers.
    """

    pairs: Sequence[Sequence[PooledPair]]
    targets: Sequence[Targets]
    problems: Mapping[int, str]

    @classmethod
    def of(
        cls, samples: Sequence[Sample], retrieved: Sequence[Sequence[Sample]], depth: int
    ) -> Pool:
        """Return the union of the retrievers' contexts within `depth` ranks.

        Contexts of one question with equal texts are one pair.
        """
        problems = {
            number: problem
            for answered in reversed(retrieved)
            for number, sample in enumerate(answered)
            if (problem := _problem(sample))
        }
        lists = [[_ranked(sample, depth) for sample in answered] for answered in retrieved]
        contexts = [context for listed in lists for ranked in listed for _, context in ranked]
        texts = list(dict.fromkeys(_key(c) for c in contexts if c.text is not None))
        twins = {
            texts[member]: number
            for number, group in enumerate(duplicates.groups(texts))
            for member in group
        }
        targets = [Targets(sample) for sample in samples]
        pairs = [
            _pairs(number, sample, [listed[number] for listed in lists], targets[number], twins)
            for number, sample in enumerate(samples)
        ]
        return cls(pairs, targets, problems)


def _problem(sample: Sample) -> str | None:
    """Return the reason why a retriever's contexts do not count; None if they count."""
    return sample.retrieval_error or (None if sample.has_retrieval else UNOBSERVED)


def _ranked(sample: Sample, depth: int) -> list[tuple[int, Context]]:
    """Return a retriever's contexts within `depth` ranks, with their ranks.

    Returns [] if the retrieval failed or was not observed. If the contexts of several calls were
    merged, two contexts may have the same rank.
    """
    contexts = () if _problem(sample) else sample.retrieved_contexts or ()
    ranked_contexts = zip(sample.ranks or count(1), contexts, strict=False)
    return [(rank, context) for rank, context in ranked_contexts if rank <= depth]


def _pairs(
    number: int,
    sample: Sample,
    ranked: Sequence[Sequence[tuple[int, Context]]],
    targets: Targets,
    twins: Mapping[Any, int],
) -> list[PooledPair]:
    ranks: dict[Any, dict[int, int]] = {}
    contexts: dict[Any, dict[str, Context]] = {}
    for retriever, ranked_list in enumerate(ranked):
        for rank, context in ranked_list:
            ranks.setdefault(_key(context), {}).setdefault(retriever, rank)
            name = context.id or context.text or ""
            contexts.setdefault(_key(context), {}).setdefault(name, context)
    pairs = []
    named_twins: defaultdict[int | None, frozenset[int]] = defaultdict(frozenset)
    for key, own_ranks in ranks.items():
        first, *also = contexts[key].values()
        named = frozenset[int]().union(*(targets.named_by(c) for c in (first, *also)))
        # Hash the shown text, not positions, so that labels stay valid if the samples are
        # reordered.
        text = f"{sample.id}\n{sample.user_input}\n{first.label}"
        item = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        twin = twins.get(key)
        nearness = sum(1 / (10 + rank) for rank in own_ranks.values())
        pairs.append(PooledPair(number, item, first, nearness, named, tuple(also), twin))
        named_twins[twin] |= named
    return [
        pair if pair.twin is None else replace(pair, twin_of=named_twins[pair.twin])
        for pair in pairs
    ]


def _key(context: Context) -> Any:
    return ("id", context.id) if context.text is None else " ".join(context.text.split())
