"""What a part holds of its rows: tallies of samples, and the sums of their groups.

The sums of a group may lie in any part, so they go by the group's name to one of several buckets:
an engine brings each bucket to one worker, which makes one value of each group. Tallies keep a
checksum of what went to each bucket, so that one that is lost is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any
from zlib import crc32

from fullrecall.report.tally import Tallies


class SampleSums:
    """The tallies of a part without its groups, and for each bucket what its sums add up to."""

    def __init__(self, tallies: Tallies, checks: Mapping[int, int]) -> None:
        self.tallies = tallies
        self.checks = dict(checks)

    @property
    def weight(self) -> int:
        """How many samples there are."""
        return self.tallies.samples

    def merged(self, others: Iterable[SampleSums]) -> SampleSums:
        """Return the tallies of all of them."""
        tallies, checks = self.tallies.emptied(), dict[int, int]()
        for one in (self, *others):
            tallies.merge(one.tallies)
            for bucket, check in one.checks.items():
                checks[bucket] = checks.get(bucket, 0) + check
        return SampleSums(tallies, checks)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back."""
        checks = {str(bucket): check for bucket, check in sorted(self.checks.items())}
        return {"totals": self.tallies.to_dict(), "checks": checks}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> SampleSums:
        """Return what `to_dict` wrote; raises `ReportError` for what no run can give."""
        from fullrecall.records import TalliesRecord

        TalliesRecord.read(plain["totals"])
        checks = {int(bucket): int(check) for bucket, check in plain["checks"].items()}
        return cls(Tallies.from_dict(plain["totals"]), checks)


class GroupSums:
    """The sums of groups, as `Tallies.take_groups` returns them."""

    def __init__(self, sums: Mapping[str, Sequence[int]]) -> None:
        self.sums = sums

    @property
    def check(self) -> int:
        """What all numbers add up to."""
        return sum(map(sum, self.sums.values()))

    @cached_property
    def weight(self) -> int:
        """How many values and gaps there are."""
        return sum(sum(sums[0::3]) + sum(sums[2::3]) for sums in self.sums.values())

    def merged(self, others: Iterable[GroupSums]) -> GroupSums:
        """Return the sums of all of them, group by group."""
        sums: dict[str, Sequence[int]] = dict(self.sums)
        for one in others:
            for group, theirs in one.sums.items():
                ours = sums.get(group)
                sums[group] = (
                    theirs if ours is None else [a + b for a, b in zip(ours, theirs, strict=True)]
                )
        return GroupSums(sums)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that `from_dict` reads back."""
        return {"groups": {group: list(sums) for group, sums in sorted(self.sums.items())}}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> GroupSums:
        """Return what `to_dict` wrote."""
        return cls(plain["groups"])


def parted(tallies: Tallies, buckets: int) -> tuple[SampleSums, dict[int, GroupSums]]:
    """Take the groups out of tallies; return both, the groups by bucket.

    Where there are groups, there is something for each bucket, so that all have the same parts.
    """
    taken = tallies.take_groups()
    if not taken:
        return SampleSums(tallies, {}), {}
    by_bucket: dict[int, dict[str, Sequence[int]]] = {bucket: {} for bucket in range(buckets)}
    for group, sums in taken.items():
        name = group.encode("utf-8", "surrogatepass")
        by_bucket[crc32(name) % buckets][group] = sums
    made = {bucket: GroupSums(groups) for bucket, groups in by_bucket.items()}
    return SampleSums(tallies, {bucket: one.check for bucket, one in made.items()}), made
