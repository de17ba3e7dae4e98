"""Reports whose verdicts are known: one letter for each claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from fullrecall import Context, Report, Sample
from fullrecall.measures.findings import CreditStep, Finding, Target
from fullrecall.report import Row
from fullrecall.scorers.result import Method, Result, Status

MakeReport = Callable[..., Report]
CONTEXTS = ("The first context.", "The second.", "The third.")
VERDICTS = {"s": "supported", "l": "supported", "p": "partial", "n": "not_supported"}


def finding(sample: int, claim: int, letter: str, partial_credit: float) -> Finding:
    """Return a finding: s is supported at rank 1, l at rank 3, p partly, and n not supported."""
    credit = {"s": 1.0, "l": 1.0, "p": partial_credit}.get(letter, 0.0)
    rank = 3 if letter == "l" else 1
    steps, ranks = ((CreditStep(rank, credit),), (rank,)) if credit else ((), ())
    return Finding(Target((f"claim {claim} of {sample}",)), steps, ranks, verdict=VERDICTS[letter])


def report_of(
    samples: Sequence[str | None],
    *,
    partial_credit: float = 0.0,
    groups: Sequence[str | None] | None = None,
    contexts: Sequence[str] = CONTEXTS,
    methods: Sequence[Method] | None = None,
) -> Report:
    """Return a report of samples, each a letter for each claim; None is unscored, ? unmeasured.

    A sample that begins with "0" has no retrieved contexts.
    """
    method = Method("claim_recall", {"judge": "a judge", "partial_credit": partial_credit})
    rows = []
    for at, letters in enumerate(samples):
        nothing = (letters or "").startswith("0")
        texts = [] if nothing else [Context(text=text) for text in contexts]
        sample = Sample(
            id=f"q{at}",
            user_input=f"question {at}?",
            retrieved_contexts=texts,
            group=groups[at] if groups else None,
        )
        if letters is None:
            results: Any = (Result(method, Status.UNSCORED, note="the judge failed"),)
        else:
            claims = list(enumerate(letters.removeprefix("0")))
            found = [
                finding(at, n, letter, partial_credit) for n, letter in claims if letter != "?"
            ]
            missing = tuple((f"claim {n} of {at}", "?") for n, letter in claims if letter == "?")
            results = (Result(method, Status.SCORED, tuple(found), len(texts), unmeasured=missing),)
        rows.append(Row(at + 1, sample, results * len(methods or "1")))
    return Report.of(methods or [method], rows)


@pytest.fixture
def make_report() -> MakeReport:
    """Return the function that makes a report; see `report_of`."""
    return report_of


@pytest.fixture
def report() -> Report:
    """Return a report of 24 samples with 1 to 4 claims, 32 of 52 supported."""
    return report_of(["s", "sn", "ssn", "snsn", "ss", "n"] * 4)
