"""The claims of a report that a judge has judged, one by one, as labels and drawings name them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import fsum
from typing import NamedTuple, TypeAlias

from fullrecall.errors import ReportError
from fullrecall.findings import Finding
from fullrecall.measures import Recall
from fullrecall.report.report import Report
from fullrecall.result import Method, Result, Status
from fullrecall.results.scores import index_of
from fullrecall.table.row import Row


class JudgedClaim(NamedTuple):
    """One claim with what the judge made of it.

    `item` names the claim together with the contexts that it was judged by: the same in every
    report over them, whoever judged. `sample` is the row's label, `row` its place among the rows
    scored. `share` is what the claim is of its sample's recall; the shares of a sample add up to
    1. `credit` is what it earned, in [0, 1]. Claims for which nothing was retrieved need no label:
    nothing supports them.
    """

    item: str
    row: int
    sample: str
    target: str
    share: float
    credit: float
    finding: Finding
    needs_no_label: bool

    @property
    def is_supported(self) -> bool:
        """Whether the judge called it supported, in full."""
        return self.credit >= 1.0

    @property
    def verdict(self) -> str:
        """The judge's verdict, in the words of a label."""
        if self.is_supported:
            return "supported"
        return "partial" if self.credit or self.finding.verdict == "partial" else "not_supported"


Strata: TypeAlias = Callable[[JudgedClaim], str]
"""Which stratum a claim is drawn from; see `by_verdict`."""


def by_verdict(claim: JudgedClaim) -> str:
    """Return the judge's verdict, and whether its quotes are really there.

    Claims on which the judge is wrong for the same reason are best drawn together.
    """
    evidence = claim.finding.evidence
    if evidence and any(item.verified is False for item in evidence):
        return f"{claim.verdict}, a quote not found"
    return claim.verdict


def one_stratum(_: JudgedClaim) -> str:
    """Return the same for all claims: a simple random sample has no strata."""
    return "all"


@dataclass(frozen=True)
class JudgedClaims:
    """The judged claims of one score: `rows` are the samples that have any, in the report's order.

    `unscored` counts samples without a score, `unmeasured` claims without a verdict in the others.
    """

    method: Method
    rows: Sequence[Row]
    groups: Sequence[str | None]
    results: Sequence[Result]
    claims: Sequence[JudgedClaim]
    unscored: int
    unmeasured: int

    @cached_property
    def cluster(self) -> Sequence[int]:
        """The number of the group that each row belongs to; rows without one have their own."""
        numbers: dict[object, int] = {}
        return [
            numbers.setdefault(at if group is None else group, len(numbers))
            for at, group in enumerate(self.groups)
        ]

    @cached_property
    def credits(self) -> list[float]:
        """The judged recall of each row, in [0, 1]."""
        return self.per_row(claim.share * claim.credit for claim in self.claims)

    def per_row(self, values: Iterator[float]) -> list[float]:
        """Return the sum over each row of one value for each claim."""
        parts: list[list[float]] = [[] for _ in self.rows]
        for claim, value in zip(self.claims, values, strict=True):
            parts[claim.row].append(value)
        return [fsum(part) for part in parts]


def judged_claims(report: Report, score: str | None = None) -> JudgedClaims:
    """Return the judged claims of a score; None is the only one that a judge has made.

    Raises `ReportError` where it is ambiguous which is meant, where the report does not have it or
    keeps no rows, and where it is no recall or has no claim that was judged by any context.
    """
    score_index = index_of(report, _judged_score(report) if score is None else score)
    method = report.methods[score_index]
    if method.headline != Recall:
        raise ReportError(f"{method.name} is not a recall: it judges contexts, not missing targets")
    pairs = [(row, row.results[score_index]) for row in report.rows]
    scored = [(row, result) for row, result in pairs if result.status is Status.SCORED]
    groups = [
        group
        for (_, result), group in zip(pairs, report.groups, strict=True)
        if result.status is Status.SCORED
    ]
    if not any(result.retrieved for _, result in scored):
        raise ReportError(
            f"no sample has a claim that {method.name} judged by a context: nothing to calibrate"
        )
    claim_counts: Counter[str] = Counter()
    return JudgedClaims(
        method,
        [row for row, _ in scored],
        groups,
        [result for _, result in scored],
        [
            claim
            for row_index, (row, result) in enumerate(scored)
            for claim in _claims(row_index, row, result, claim_counts)
        ],
        sum(result.status is Status.UNSCORED for _, result in pairs),
        sum(len(result.unmeasured) for _, result in scored),
    )


def judged_contexts(row: Row, result: Result) -> list[str]:
    """Return the texts that the verdicts are about, in their order."""
    contexts = row.sample.retrieved_contexts or ()
    return [context.label for context in contexts[: result.retrieved]]


def _claims(
    row_index: int, row: Row, result: Result, claim_counts: Counter[str]
) -> Iterator[JudgedClaim]:
    texts = judged_contexts(row, result)
    for finding in result.findings:
        target = finding.target.label
        content = json.dumps([row.label, target, texts])
        claim_counts[content] += 1
        if claim_counts[content] > 1:
            content += str(claim_counts[content])
        yield JudgedClaim(
            # A letter in front, so that no spreadsheet takes it for a number.
            f"c{sha256(content.encode()).hexdigest()[:16]}",
            row_index,
            row.label,
            target,
            1 / len(result.findings),
            finding.credit_at(),
            finding,
            result.retrieved == 0,
        )


def _judged_score(report: Report) -> str:
    """Return the only score that a judge has made; raise `ReportError` where there is not one."""
    by_judges = [
        method.name
        for method in report.methods
        if method.parameters.get("judge") and method.headline == Recall
    ]
    if len(by_judges) == 1:
        return by_judges[0]
    if by_judges:
        raise ReportError(
            f"judges made {len(by_judges)} scores ({', '.join(by_judges)}): choose one by its name"
        )
    names = ", ".join(method.name for method in report.methods)
    raise ReportError(f"no judged recall score: the report has {names}")
