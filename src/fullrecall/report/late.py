"""What measures will read of findings that are made late, worked out beforehand on all cores.

Samples are worked out in blocks: all that a block has to compare is compared in few calls, during
which other threads run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Generic, NamedTuple, TypeVar

from fullrecall.findings import Criterion, LateFindings, Matches
from fullrecall.measures.measure import Measure
from fullrecall.measures.sets import AllFound, RecallMeasure
from fullrecall.result import Result

T = TypeVar("T")

_LENGTHY = 5_000_000
_BLOCK = 300_000_000
"""The work that is left to another thread, some 0.1 ms, and the least of a block, some 3 ms."""

_MOST = 64
_SECONDS = 0.02
"""How many items are in a block at most, and how long it is waited for more of them."""


class Reading(NamedTuple):
    """What is read of findings: what is found within `cuts`, None among them: at all.

    `whole` is whether they are read one by one, with their evidence.
    """

    cuts: frozenset[int | None]
    whole: bool

    @classmethod
    def of(cls, measures: Iterable[Measure]) -> Reading:
        """Return what measures read."""
        by_count = [measure for measure in measures if _counts(measure)]
        return cls(frozenset(m.k for m in by_count), len(by_count) < len(list(measures)))


def _counts(measure: Measure) -> bool:
    """Return whether a measure needs the number of targets that are found and nothing else."""
    if isinstance(measure, RecallMeasure):
        return measure.weight == "equal"
    return type(measure) is type(AllFound)


class Late(NamedTuple):
    """Findings that are not worked out yet, and what is read of them."""

    findings: LateFindings
    reading: Reading

    @property
    def work(self) -> int:
        """How long it may take, in units of some 10 ps."""
        return self.findings.work(whole=self.reading.whole)


def are_late(results: Iterable[Result]) -> bool:
    """Return whether any of the results has findings that are made late."""
    return any(type(result.findings) is LateFindings for result in results)


def late_of(results: Iterable[Result], readings: Iterable[Reading]) -> list[Late]:
    """Return what is late of a sample's results, of which each is read so."""
    late = []
    for result, reading in zip(results, readings, strict=True):
        findings = result.findings
        if type(findings) is LateFindings:
            # Ranks that are not the places of the contexts are read of each finding.
            whole = reading.whole or result.ranks is not None
            late.append(Late(findings, reading if not whole else reading._replace(whole=True)))
    return late


class Block(Generic[T]):
    """Items that are worked out together."""

    def __init__(self) -> None:
        self.items: list[T] = []
        self._late: list[Late] = []
        self.work = 0
        self._began = 0.0

    def add(self, item: T, late: Sequence[Late]) -> None:
        """Add an item with all that is to be worked out of it."""
        if not self.items:
            self._began = time.monotonic()
        self.items.append(item)
        self._late += late
        self.work += sum([one.work for one in late])

    @property
    def is_full(self) -> bool:
        """Whether it is better not to wait for more."""
        return (
            not self._late
            or self.work > _BLOCK
            or len(self.items) >= _MOST
            or time.monotonic() - self._began > _SECONDS
        )

    def steps(self) -> Iterator[None]:
        """Work everything out, as it is iterated over."""
        together: dict[tuple[Criterion, frozenset[int | None]], list[Matches]] = {}
        for findings, reading in self._late:
            key = (findings.matches.criterion, reading.cuts)
            together.setdefault(key, []).append(findings.matches)
        for (criterion, cuts), several in together.items():
            yield from criterion.settle(several, cuts)
        for findings, reading in self._late:
            if reading.whole:
                for _ in findings:
                    yield


def worked_out(
    items: Iterable[tuple[T, Sequence[Late]]], *, stopped: Callable[[], bool] = bool
) -> Generator[T]:
    """Yield items in order, all that is late of them worked out on all cores.

    Where that takes but a moment, it is done in the caller's thread. Once `stopped` returns True,
    items are yielded as they are: the rest is worked out when it is read.
    """
    from fullrecall.cores import cores, on_cores

    threads = cores()

    def begun() -> Iterator[tuple[list[T], Iterator[None] | None]]:
        for block in _blocks(items):
            apart = threads > 1 and block.work > _LENGTHY
            if not apart:
                for _ in block.steps():
                    if stopped():
                        break
            yield block.items, block.steps() if apart else None

    with closing(on_cores(begun(), threads, stopped=stopped)) as blocks:
        for some in blocks:
            yield from some


def _blocks(items: Iterable[tuple[T, Sequence[Late]]]) -> Iterator[Block[T]]:
    block: Block[T] = Block()
    for item, late in items:
        block.add(item, late)
        if block.is_full:
            yield block
            block = Block()
    if block.items:
        yield block
