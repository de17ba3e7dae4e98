"""How much of a judged score's credit rests on quotes that were not verified."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fullrecall.result import Result, Status

_UNIT = float(2**60)


class Proof:
    """Running totals of the credit that judges gave, in whole units, so that parts add up."""

    __slots__ = ("earned", "unverified")

    def __init__(self, earned: int = 0, unverified: int = 0) -> None:
        self.earned = earned
        self.unverified = unverified

    def add(self, result: Result, times: int = 1) -> None:
        """Count the credit of one more scored result, or of so many equal ones."""
        if result.status is not Status.SCORED or not isinstance(result.findings, tuple):
            return  # findings that are made when they are read come from no judge
        for finding in result.findings:
            if finding.verdict:
                self.earned += int(finding.credit_at() * _UNIT) * times
                self.unverified += int(finding.unverified * _UNIT) * times

    def merge(self, other: Proof) -> None:
        """Add what another part has counted."""
        self.earned += other.earned
        self.unverified += other.unverified

    @property
    def share(self) -> float | None:
        """The share of the credit that is not verified, in [0, 1]; None where none was given."""
        return min(1.0, self.unverified / self.earned) if self.earned else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back."""
        return {"earned": self.earned, "unverified": self.unverified}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Proof:
        """Return what `to_dict` wrote."""
        return cls(plain["earned"], plain["unverified"])
