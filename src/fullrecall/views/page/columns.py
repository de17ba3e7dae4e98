"""The scores of a page: what each is called, and where its results stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fullrecall.result import Method


class Column(NamedTuple):
    """One score.

    `letter` names it where there is no room, `positions[side]` is the place of its results in a
    row of that side's report.
    """

    letter: str
    method: Method
    positions: tuple[int, ...]


def columns(methods: Sequence[Method], positions: Sequence[tuple[int, ...]]) -> list[Column]:
    """Return the columns of `methods`, lettered from A to Z, then from AA on."""
    return [
        Column(_letter(nth), method, places)
        for nth, (method, places) in enumerate(zip(methods, positions, strict=True))
    ]


def _letter(nth: int) -> str:
    first, last = divmod(nth, 26)
    return (_letter(first - 1) if first else "") + chr(ord("A") + last)
