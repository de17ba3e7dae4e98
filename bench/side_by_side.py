"""Time several ways to do one thing in interleaved rounds, and show ratios in a table."""

from __future__ import annotations

import gc
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version


@dataclass(frozen=True)
class Contender:
    """One way to do the work.

    Only `run`, which does the work once, is timed. `share` is the part of the whole work in one
    run: a slow peer may do 0.05 of it, and its time is scaled up.
    """

    name: str
    run: Callable[[], object]
    share: float = 1.0
    remark: str = ""

    @property
    def title(self) -> str:
        """Return the name with its remark, which distinguishes contenders of one name."""
        return f"{self.name} ({self.remark})" if self.remark else self.name


Clock = Callable[[], float]
CLOCKS: Mapping[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}
"""By the wall; or the CPU seconds of all threads, for a machine that is busy with other work."""


def interleaved(
    contenders: Sequence[Contender], rounds: int, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Return the seconds that each contender takes for the whole work, one for each round.

    Each round runs all contenders, A B C A B C, so that a slow phase of the machine affects all of
    them. As in `timeit`, garbage is collected before each run and the collector is off within; a
    run's result is released after the clock has stopped.
    """
    seconds: dict[str, list[float]] = {contender.title: [] for contender in contenders}
    enabled = gc.isenabled()
    try:
        for _ in range(rounds):
            for contender in contenders:
                gc.collect()
                gc.disable()
                start = clock()
                outcome = contender.run()
                elapsed = clock() - start
                gc.enable()
                del outcome
                seconds[contender.title].append(elapsed / contender.share)
    finally:
        (gc.enable if enabled else gc.disable)()
    return seconds


@dataclass(frozen=True)
class Ratio:
    """A time as a multiple of the unit's: median and range over the rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, seconds: Sequence[float], unit: Sequence[float]) -> Ratio:
        """Return the ratio of times to the unit's times in the same rounds."""
        ratios = [ours / theirs for ours, theirs in zip(seconds, unit, strict=True)]
        return cls(statistics.median(ratios), min(ratios), max(ratios))

    def __str__(self) -> str:
        return f"{short(self.median)} ({short(self.least)}-{short(self.most)})"


def comparison(
    contenders: Sequence[Contender],
    seconds: Mapping[str, Sequence[float]],
    *,
    units: Mapping[str, str],
    per: int,
    per_name: str,
) -> str:
    """Return a Markdown table: each contender's time as a multiple of the units' times.

    `units` maps names in the heading to titles of contenders. `per` divides the times
    into µs for one `per_name`.
    """
    header = [
        "contender",
        *(f"time, {label} = 1" for label in units),
        f"µs per {per_name}",
    ]
    rows = []
    for contender in contenders:
        own = seconds[contender.title]
        ratios = [str(Ratio.of(own, seconds[unit])) for unit in units.values()]
        rows.append([contender.title, *ratios, short(statistics.median(own) / per * 1e6)])
    return table(header, rows)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, its first column left-aligned and the others right-aligned."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def say(text: str) -> None:
    """Write `text` and an end of line to standard output."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def setting(*packages: str) -> str:
    """Return one line on the machine: cores, and the versions of Python and the packages."""
    versions = [f"{package} {_version(package)}" for package in packages]
    place = f"{os.cpu_count()} CPUs, Python {platform.python_version()}"
    return f"Measured on {place}; {', '.join(versions)}."


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def short(value: float) -> str:
    """Return a number with at most three digits, or as a whole number."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
