"""How much of a judged score was settled before the last judge of a cascade was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from fullrecall.result import Result


class Settled(NamedTuple):
    """Of `targets`, `by` says how many each first judge settled.

    `samples` counts those in which nothing was left to ask the last judge about: each of them
    saved its request, or all of them where its targets or contexts need several.
    """

    targets: int
    by: Mapping[str, int]
    samples: int

    @property
    def total(self) -> int:
        """How many targets were settled without the last judge."""
        return sum(self.by.values())

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"targets": self.targets, "by": dict(self.by), "samples": self.samples}


class Settlements:
    """Running totals of it; empty where no judge of a cascade settled anything."""

    def __init__(self) -> None:
        self.by: Counter[str] = Counter()
        self.targets = 0
        self.samples = 0

    def add(self, result: Result, times: int = 1) -> None:
        """Count the targets of one more result, or of so many equal ones."""
        if not isinstance(result.findings, tuple):
            return  # findings that are made when they are read come from no judge
        judges = [finding.judge for finding in result.findings]
        self.targets += (len(judges) + len(result.unmeasured)) * times
        if any(judges):
            for judge in filter(None, judges):
                self.by[judge] += times
            self.samples += times * (all(judges) and not result.unmeasured)

    def merge(self, other: Settlements) -> None:
        """Add what another part has counted."""
        self.by.update(other.by)
        self.targets += other.targets
        self.samples += other.samples

    def so_far(self) -> Settled | None:
        """Return the totals; None where nothing was settled so."""
        if not self.by:
            return None
        return Settled(self.targets, dict(sorted(self.by.items())), self.samples)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back."""
        return {"targets": self.targets, "by": dict(self.by), "samples": self.samples}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Settlements:
        """Return what `to_dict` wrote."""
        read = cls()
        read.targets, read.samples = plain["targets"], plain["samples"]
        read.by = Counter(plain["by"])
        return read
