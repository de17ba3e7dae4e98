"""A claim of several facts is judged fact by fact, by every judge of this package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

from fullrecall.judge.judge import Flow, Verdict, VerdictLabel
from fullrecall.judge.language import language


def fact_by_fact(
    claims: Sequence[str], judged: Callable[[Sequence[str]], Flow[Sequence[Verdict]]]
) -> Flow[list[Verdict]]:
    """Return one verdict per claim; `judged` asks about facts, each once."""
    facts_of = [list(dict.fromkeys(facts)) for facts in map(language().facts, claims)]
    facts = list(dict.fromkeys(chain.from_iterable(facts_of)))
    verdict_of = dict(zip(facts, (yield from judged(facts)), strict=True))
    return [
        verdict_of[own[0]]
        if len(own) == 1
        else compound([replace(verdict_of[fact], fact=fact) for fact in own])
        for own in facts_of
    ]


def compound(facts: Sequence[Verdict]) -> Verdict:
    """Return the verdict on a claim of several facts; None of a label without one on each fact."""
    problem = next((fact.problem for fact in facts if fact.label is None), None)
    if problem is not None:
        return Verdict(None, problem=problem)
    helping = [fact.helps for fact in facts]
    label: VerdictLabel = "partial" if any(helping) else "not_supported"
    supports = [fact.support for fact in facts if fact.support is not None]
    agreements = [fact.agreement for fact in facts if fact.agreement is not None]
    return Verdict(
        "supported" if all(fact.label == "supported" for fact in facts) else label,
        tuple(dict.fromkeys(citation for fact in facts for citation in fact.citations)),
        agreement=min(agreements, default=None),
        contested=next((fact.contested for fact in facts if fact.contested), ""),
        facts=tuple(facts),
        support=min(supports, default=None),  # as sure as its least sure fact
        referred=any(fact.referred for fact in facts),
    )
