"""A model reads anybody's questions beside their references, as `generate` checks its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from fullrecall.judges.judge import Flow
from fullrecall.models.chat import ChatModel
from fullrecall.sample import Sample
from fullrecall.testset.draft import Backed, Defect, Draft, Rejection
from fullrecall.testset.execution import Plan
from fullrecall.testset.seeds import Passage
from fullrecall.testset.verification import Check

Finding: TypeAlias = tuple[int, Rejection]
"""A sample's number, and what is wrong with it."""

_FIRST = 5
"""Samples of the first batch: a model that decides on none of them is asked no more."""


def plan(
    model: ChatModel, samples: Sequence[Sample], passages: Sequence[Sequence[Passage]]
) -> Plan[Any, list[Finding]]:
    """Read each sample that has a question and a text; return what is wrong with which."""
    numbers = [at for at, sample in enumerate(samples) if sample.user_input and passages[at]]
    findings: list[Finding] = []
    for batch in (numbers[:_FIRST], numbers[_FIRST:]):
        outcomes = yield [_read(model, samples[at], passages[at]) for at in batch]
        rejections = [
            Rejection(Defect.UNCHECKED, outcome.problem) if outcome.problem else outcome.value
            for outcome in outcomes
        ]
        findings += [(at, own) for at, own in zip(batch, rejections, strict=True) if own]
        if all(own is not None and own.defect is Defect.UNCHECKED for own in rejections):
            break
    return findings


def _read(model: ChatModel, sample: Sample, passages: Sequence[Passage]) -> Flow[Rejection | None]:
    """Return what is wrong with a sample."""
    groups, claims = sample.reference_contexts or (), sample.reference_claims or ()
    backed = [
        Backed(claim.text, Passage(first.source or "", first.start or 0, first.text))
        for claim, (first, *_) in zip(claims, groups, strict=False)
        if first.text and len(groups) == len(claims)
    ]
    draft = Draft(sample.user_input or "", "one_fact", sample.reference or "", tuple(backed))
    (checked,) = yield from Check([draft], passages).flow(model)
    return checked.rejection
