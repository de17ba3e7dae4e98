"""A model reads anybody's questions beside their references, as `generate` checks its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from fullrecall.judges.judge import Flow
from fullrecall.models.chat import ChatModel
from fullrecall.sample import Sample
from fullrecall.testset import instructions
from fullrecall.testset.draft import Backed, Defect, Draft, Quote, Rejection
from fullrecall.testset.execution import Plan
from fullrecall.testset.seeds import Passage
from fullrecall.testset.vectors import hashed
from fullrecall.testset.verification import Check, reply, same_verdicts

Finding: TypeAlias = tuple[int, Rejection]
"""A sample's number, and what is wrong with it."""

_FIRST = 5
"""Samples of the first batch: a model that decides on none of them is asked no more."""

_ALIKE = 0.3
_MOST_ALIKE = 4


def plan(
    model: ChatModel, samples: Sequence[Sample], passages: Sequence[Sequence[Passage]]
) -> Plan[Any, list[Finding]]:
    """Read each sample that has a question and a text; return what is wrong with which."""
    near = _near(samples)
    numbers = [at for at, sample in enumerate(samples) if sample.user_input and passages[at]]
    findings: list[Finding] = []
    for batch in (numbers[:_FIRST], numbers[_FIRST:]):
        flows = [_read(model, samples, at, passages[at], near[at]) for at in batch]
        outcomes = yield flows
        silent = 0
        for at, outcome in zip(batch, outcomes, strict=True):
            rejections = outcome.value
            if rejections is None:
                rejections = [Rejection(Defect.UNCHECKED, outcome.problem)]
            silent += any(refused.defect is Defect.UNCHECKED for refused in rejections)
            findings += [(at, rejection) for rejection in rejections]
        if batch and silent == len(batch):
            break
    return findings


def _read(
    model: ChatModel,
    samples: Sequence[Sample],
    at: int,
    passages: Sequence[Passage],
    near: Sequence[int],
) -> Flow[list[Rejection]]:
    sample = samples[at]
    draft = Draft(sample.user_input or "", "one_fact", sample.reference or "", _backed(sample))
    check = Check.of([draft], passages)
    text, problem = yield from reply(model, check.request, lambda text: check.missing(text) == 0)
    if problem:
        return [Rejection(Defect.UNCHECKED, problem)]
    (read,) = check.verdicts(text)
    rejections = [] if read.rejection is None else [read.rejection]
    if near:
        others = [samples[other].user_input or "" for other in near]
        request = instructions.same(draft.question, others)
        text, _ = yield from reply(
            model, request, lambda text: len(same_verdicts(text)) == len(others)
        )
        verdicts = same_verdicts(text)
        twice = [other for n, other in enumerate(others, start=1) if verdicts.get(n)]
        rejections += [Rejection(Defect.DUPLICATE, twice[0])] if twice else []
    return rejections


def _backed(sample: Sample) -> tuple[Backed, ...]:
    """Return the claims with their quotes, where the references have one for each."""
    groups, claims = sample.reference_contexts or (), sample.reference_claims or ()
    if len(groups) != len(claims):
        return ()
    return tuple(
        Backed(claim.text, Quote(first.source or "", first.start or 0, first.end or 0, first.text))
        for claim, (first, *_) in zip(claims, groups, strict=True)
        if first.text
    )


def _near(samples: Sequence[Sample]) -> list[list[int]]:
    """Return for each question the earlier ones that may ask the same, by their words."""
    import numpy as np

    if not samples:
        return []
    vectors = hashed([sample.user_input or "" for sample in samples])
    names = [_names(sample) for sample in samples]
    clusters: list[list[int]] = []
    for at in range(len(samples)):
        alike = vectors[:at] @ vectors[at]
        shared = [bool(names[at] & names[other]) for other in range(at)]
        near = [n for n in np.argsort(-alike).tolist() if alike[n] >= _ALIKE or shared[n]]
        clusters.append(near[:_MOST_ALIKE])
    return clusters


def _names(sample: Sample) -> frozenset[str]:
    return frozenset(n for r in sample.reference_context_ids or () for n in r.any_of)
