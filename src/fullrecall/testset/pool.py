"""What several retrievers return for each question, and which of it the references already name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, NamedTuple

from fullrecall.context import Context
from fullrecall.judges.evidence import Folded, verbatim
from fullrecall.sample import Sample
from fullrecall.testset import duplicates
from fullrecall.testset.completeness import Kind

_HOLDS = 0.9
"""A chunk holds a quote if it covers this share of its characters."""


class Ranked(NamedTuple):
    """What one retriever returned for one question, by rank, or why there is nothing.

    Where several calls were united, contexts of two calls may have the same rank.
    """

    contexts: tuple[tuple[int, Context], ...]
    problem: str = ""

    @classmethod
    def of(cls, sample: Sample, k: int) -> Ranked:
        """Return what a sample was given, down to rank `k`."""
        retrieval = sample.retrieval
        if retrieval is None or retrieval.contexts is None or retrieval.error is not None:
            return cls((), (retrieval and retrieval.error) or "no retrieval was observed")
        ranks = retrieval.ranks or range(1, len(retrieval.contexts) + 1)
        ranked_contexts = zip(ranks, retrieval.contexts, strict=True)
        return cls(tuple((rank, context) for rank, context in ranked_contexts if rank <= k))


class Targets:
    """What one sample's references name, target by target.

    Where every claim has a group of reference contexts, or of IDs, of its own, targets are the
    claims; else the groups are, and what is found in addition is a target of its own.
    """

    def __init__(self, sample: Sample) -> None:
        self.claims = [claim.text for claim in sample.reference_claims or ()]
        spans = [list(group) for group in sample.reference_contexts or ()]
        ids = [list(reference.any_of) for reference in sample.reference_context_ids or ()]
        placed = bool(spans) and all(any(c.start is not None for c in group) for group in spans)
        # A chunk of the right document need not hold the quote: where there are places, they count.
        self._spans = spans if placed or not ids else []
        self._ids = [] if self._spans else ids
        self.count = len(self._spans) or len(self._ids)
        self.are_claims = bool(self.claims) and self.count == len(self.claims)
        if not self.are_claims:
            self.claims = []

    def joined_by(self, pair: Pair) -> frozenset[int]:
        """Return the targets whose any-of group a relevant pair joins; none: it is its own.

        Of claims those that it was judged to support, or the only one.
        """
        if not self.are_claims:
            return pair.twin_of
        return pair.claims or frozenset(range(self.count if self.count == 1 else 0))

    def named_by(self, context: Context) -> frozenset[int]:
        """Return the targets that this context satisfies by the references as they are."""
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
    """Whether a context is what is wanted: by its place, its words, or its ID."""
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
class Pair:
    """One question and one context that a retriever returned for it, equal texts being one.

    `item` identifies it. `ranks` has the 1-based rank of each retriever, None where it did not
    return it in the frame. `named` are the targets for which the references name it already.
    `twin` is the same for texts that are nearly equal: each is judged, and those that are relevant
    are one target. `twin_of` are the targets that a twin of it is named for. `relevant` is the
    judge's verdict, with the 0-based `claims` that it supports by itself; None without one, and
    `problem` says why.
    """

    question: int
    item: str
    context: Context
    ranks: tuple[int | None, ...]
    named: frozenset[int] = frozenset()
    also: tuple[Context, ...] = ()
    twin: int | None = None
    twin_of: frozenset[int] = frozenset()
    relevant: bool | None = None
    claims: frozenset[int] = frozenset()
    problem: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it is to be judged: the references do not name it, and it has a text."""
        return not self.named and bool(self.context.text)

    @property
    def kind(self) -> Kind:
        """What the judge said."""
        return "no verdict" if self.relevant is None else "yes" if self.relevant else "no"

    @property
    def nearness(self) -> float:
        """How near the top the retrievers have it: the sum of 1 / (10 + rank)."""
        return sum(1 / (10 + rank) for rank in self.ranks if rank is not None)


@dataclass(frozen=True)
class Pool:
    """All pairs of a frame, question by question.

    `problems` are questions that a retriever failed on: of them the frame has what the others
    returned.
    """

    pairs: Sequence[Sequence[Pair]]
    targets: Sequence[Targets]
    problems: Mapping[int, str]

    @classmethod
    def of(cls, samples: Sequence[Sample], lists: Sequence[Sequence[Ranked]]) -> Pool:
        """Return the union of what the retrievers returned, equal texts as one."""
        contexts = [c for listed in lists for ranked in listed for _, c in ranked.contexts]
        texts = list(dict.fromkeys(_key(c) for c in contexts if c.text is not None))
        twins = {
            texts[member]: number
            for number, group in enumerate(duplicates.groups(texts))
            for member in group
        }
        targets = [Targets(sample) for sample in samples]
        problems = {
            number: ranked.problem
            for listed in reversed(lists)
            for number, ranked in enumerate(listed)
            if ranked.problem
        }
        pairs = [
            _pairs(number, sample, [listed[number] for listed in lists], targets[number], twins)
            for number, sample in enumerate(samples)
        ]
        return cls(pairs, targets, problems)


def _pairs(
    number: int,
    sample: Sample,
    ranked: Sequence[Ranked],
    targets: Targets,
    twins: Mapping[Any, int],
) -> list[Pair]:
    ranks: dict[Any, list[int | None]] = {}
    contexts: dict[Any, dict[str, Context]] = {}
    for retriever, ranked_list in enumerate(ranked):
        for rank, context in ranked_list.contexts:
            own_ranks = ranks.setdefault(_key(context), [None] * len(ranked))
            own_ranks[retriever] = own_ranks[retriever] or rank
            name = context.id or context.text or ""
            contexts.setdefault(_key(context), {}).setdefault(name, context)
    pairs = []
    named_twins: defaultdict[int | None, frozenset[int]] = defaultdict(frozenset)
    for key, rank_by_list in ranks.items():
        first, *also = contexts[key].values()
        named = frozenset[int]().union(*(targets.named_by(c) for c in (first, *also)))
        # From what people see, not from positions: labels outlive another order of the samples.
        text = f"{sample.id}\n{sample.user_input}\n{first.label}"
        item = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        twin = twins.get(key)
        pairs.append(Pair(number, item, first, tuple(rank_by_list), named, tuple(also), twin))
        named_twins[twin] |= named
    return [
        pair if pair.twin is None else replace(pair, twin_of=named_twins[pair.twin])
        for pair in pairs
    ]


def _key(context: Context) -> Any:
    return ("id", context.id) if context.text is None else " ".join(context.text.split())
