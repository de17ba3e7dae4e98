"""Which parts of a data set totals count: none twice, and none of which nobody knows.

A part is known by the name that it was given, or by a digest of what it counts. Totals of merged
parts name them all, so that merging in any order, and as often as you like, gives the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from fullrecall.errors import ReportError

KIND = "fullrecall totals"

VERSION = 1
"""The version of the form of totals."""

_SHOWN = 5


class Portion(NamedTuple):
    """A part: its name, how many samples it has, and a digest of what is counted of them.

    `unlike`: nothing but the same samples can have the same digest, since it has their IDs.
    """

    name: str
    samples: int
    digest: str
    unlike: bool

    @classmethod
    def of(cls, tallies: Mapping[str, Any], name: str | None) -> Portion:
        """Return the part with these tallies, as `Tallies.to_dict` returns them."""
        text = json.dumps(tallies, sort_keys=True).encode()
        digest = blake2b(text, digest_size=16).hexdigest()
        unlike = name is not None or bool(tallies["ids"])
        return cls(name or digest, tallies["samples"], digest, unlike)


def check_version(plain: Mapping[str, Any]) -> None:
    """Raise `ReportError` for totals of another kind or version."""
    version = plain.get("version")
    if plain.get("kind") != KIND or version != VERSION:
        raise ReportError(
            f"expected {KIND} in version {VERSION}, got {plain.get('kind')!r} in version "
            f"{version!r}: Report.totals makes them, in the same fullrecall"
        )


def distinct(every: Sequence[Sequence[Portion]], stopped: Sequence[bool]) -> list[int]:
    """Return which of these totals to merge, so that each of their parts counts once.

    `stopped` says of which the run ended early: of equal ones the others are taken.

    Raises `ReportError` where none of them can: parts that overlap, parts of one name that differ,
    and parts that count alike while nothing tells whether they are one.
    """
    known: dict[str, Portion] = {}
    chosen: list[int] = []
    # The largest first: what holds other totals takes their place.
    for place in sorted(range(len(every)), key=lambda n: (-len(every[n]), stopped[n], n)):
        portions = every[place]
        for one in portions:
            other = known.get(one.name)
            if other is not None:
                _check_same(one, other)
        again = [one.name for one in portions if one.name in known]
        if again and len(again) < len(portions):
            raise ReportError(
                f"part {again[0]!r} is in two totals that were merged with other parts: merge each "
                "part once, or pass the totals of the parts themselves"
            )
        if not again:
            known |= {one.name: one for one in portions}
            chosen.append(place)
    return sorted(chosen)


def missing(every: Iterable[Portion], expected: Iterable[str]) -> str | None:
    """Return which parts did not come; raise `ReportError` for one that is not expected."""
    names = dict.fromkeys(expected)
    came = {one.name for one in every}
    unknown = sorted(came - names.keys())
    if unknown:
        raise ReportError(
            f"part {unknown[0]!r} is not expected: name each by totals(part=…), as in expected="
        )
    lost = [name for name in names if name not in came]
    if not lost:
        return None
    named = ", ".join(lost[:_SHOWN]) + (", …" if len(lost) > _SHOWN else "")
    return f"{len(lost):,} of {len(names):,} parts are missing: {named}"


def _check_same(one: Portion, other: Portion) -> None:
    if one.digest != other.digest:
        raise ReportError(
            f"two parts are named {one.name!r} and differ: {one.samples:,} and {other.samples:,} "
            "samples; rename one, or leave one of the two out"
        )
    if not one.unlike and one.samples:
        raise ReportError(
            f"two parts of {one.samples:,} samples count alike, and their samples have no IDs, so "
            "nothing tells whether one part came twice: name each by totals(part=…)"
        )
