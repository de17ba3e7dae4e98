"""Exact sums over judged results, which do not depend on the order of parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from fullrecall.scorers.result import Result, Status


class Referred(NamedTuple):
    """The number of targets that a cascade's second judge decided; `of` counts all judged targets.

    `calls` and `tokens` are those of all requests for samples in which the second judge decided a
    target.
    """

    targets: int
    of: int
    calls: int
    tokens: int


@dataclass(frozen=True)
class VerdictSums:
    """Sums over the targets with a verdict.

    - `credit`: their credit; `unverified`: the part of it that rests on unverified quotes.
    - `verdicts`: the number of these targets; `referred`: of those, the number that a cascade's
      second judge decided.
    - `calls`, `tokens`: those of all requests for samples in which the second judge decided a
      target.
    """

    credit: Fraction
    unverified: Fraction
    verdicts: int
    referred: int
    calls: int
    tokens: int

    @classmethod
    def of(cls, results: Iterable[Result]) -> VerdictSums | None:
        """Return the sums over scored results; None if none of them has a verdict."""
        scored = [result for result in results if result.status is Status.SCORED]
        verdicts = [each for result in scored for each in result.findings if each.verdict]
        if not verdicts:
            return None
        asked = [result.usage for result in scored if any(f.referred for f in result.findings)]
        return cls(
            _exact_sum(finding.credit_at() for finding in verdicts),
            _exact_sum(finding.unverified for finding in verdicts),
            len(verdicts),
            sum(finding.referred for finding in verdicts),
            sum(usage.calls for usage in asked),
            sum(usage.prompt_tokens + usage.completion_tokens for usage in asked),
        )

    @classmethod
    def joined(cls, sums: Iterable[VerdictSums | None]) -> VerdictSums | None:
        """Return the sums over all parts; None if no part has verdicts."""
        known = [each for each in sums if each is not None]
        return reduce(cls.__add__, known) if known else None

    def __add__(self, other: VerdictSums) -> VerdictSums:
        pairs = zip(astuple(self), astuple(other), strict=True)
        return VerdictSums(*(own + more for own, more in pairs))

    @property
    def unverified_share(self) -> float | None:
        """The share of the credit that rests on unverified quotes; None without credit."""
        if not self.credit:
            return None
        return min(1.0, float(self.unverified) / float(self.credit))

    @property
    def cascade(self) -> Referred | None:
        """The number and cost of targets that the second judge decided; None if there are none."""
        if not self.referred:
            return None
        return Referred(self.referred, self.verdicts, self.calls, self.tokens)


def _exact_sum(values: Iterable[float]) -> Fraction:
    # Add exactly, so that the order of the parts does not matter. As a float, the sum equals that
    # of `math.fsum`.
    return sum((Fraction(value) * n for value, n in Counter(values).items()), Fraction(0))
