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
from fullrecall.testset.verification import Check, same_verdicts

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
        outcomes = yield [_read(model, samples[at], passages[at], near[at]) for at in batch]
        silent = 0
        for at, outcome in zip(batch, outcomes, strict=True):
            rejections = outcome.value
            if rejections is None:
                rejections = [Rejection(Defect.UNCHECKED, outcome.problem)]
            silent += any(rejection.defect is Defect.UNCHECKED for rejection in rejections)
            findings += [(at, rejection) for rejection in rejections]
        if silent == len(batch):
            break
    return findings


def _read(
    model: ChatModel, sample: Sample, passages: Sequence[Passage], near: Sequence[str]
) -> Flow[list[Rejection]]:
    """Return what is wrong with a sample; `near` are earlier questions that may ask the same."""
    groups, claims = sample.reference_contexts or (), sample.reference_claims or ()
    backed = [
        Backed(claim.text, Quote(first.source or "", first.start or 0, first.end or 0, first.text))
        for claim, (first, *_) in zip(claims, groups, strict=False)
        if first.text and len(groups) == len(claims)
    ]
    draft = Draft(sample.user_input or "", "one_fact", sample.reference or "", tuple(backed))
    (checked,) = yield from Check([draft], passages).flow(model)
    rejections = [] if checked.rejection is None else [checked.rejection]
    if near and not any(rejection.defect is Defect.UNCHECKED for rejection in rejections):
        request = instructions.same(draft.question, near)
        verdicts = yield from same_verdicts(model, request, len(near))
        twice = [other for n, other in enumerate(near, start=1) if verdicts.get(n)]
        rejections += [Rejection(Defect.DUPLICATE, other) for other in twice[:1]]
    return rejections


def _near(samples: Sequence[Sample]) -> list[list[str]]:
    """Return for each question the earlier ones that may ask the same, by words or references."""
    import numpy as np

    questions = [sample.user_input or "" for sample in samples]
    vectors = hashed(questions)
    names = [
        {name for reference in sample.reference_context_ids or () for name in reference.any_of}
        for sample in samples
    ]
    near = []
    for at in range(len(samples)):
        alike = vectors[:at] @ vectors[at]
        close = [
            questions[other]
            for other in np.argsort(-alike).tolist()
            if alike[other] >= _ALIKE or names[at] & names[other]
        ]
        near.append(close[:_MOST_ALIKE])
    return near
