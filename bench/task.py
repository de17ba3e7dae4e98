"""A row of the published table: contenders, the unit of comparison, and a clock."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from figures import OURS, Row
from side_by_side import CLOCKS, Contender, Ratio, interleaved, short


@dataclass(frozen=True)
class Task:
    """A row's measurement, by the contender `unit`, or in the unit of the clock.

    `goal` is a text. `per` is the number of rows that a contender takes, if a row has a price.
    """

    title: str
    unit: Contender | None
    contenders: Sequence[Contender]
    limits: Sequence[Contender] = ()
    clock: str = "cpu"
    goal: str = ""
    per: int | None = None

    def measured(self, rounds: int) -> Row:
        """Return each contender's time, as multiples of the unit's time in the same round."""
        units = [] if self.unit is None else [self.unit]
        every = [*units, *self.contenders, *self.limits]
        seconds = interleaved(every, rounds, _CLOCKS[self.clock])
        unit = [1.0] * rounds if self.unit is None else seconds[self.unit.title]
        times, limits = (
            {one.name: Ratio.of(seconds[one.title], unit) for one in some}
            for some in (self.contenders, self.limits)
        )
        return Row(self.title, times, limits, self.clock, self.goal, self._price(seconds))

    def _price(self, seconds: Mapping[str, Sequence[float]]) -> str:
        """Return the median of fullrecall's time, per row if it has rows; "" if it is shown."""
        if self.unit is None:
            return ""
        (ours,) = (median(seconds[one.title]) for one in self.contenders if one.name == OURS)
        return f"{short(ours)} s" if self.per is None else f"{short(ours / self.per * 1e6)} µs"


def _cpu_of_children() -> float:
    """Return milliseconds: two programs that start in hundredths of a second would round alike."""
    # `os.times` counts in ticks of 10 ms, a seventh of the CPU of some programs.
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (spent.ru_utime + spent.ru_stime) * 1000


_CLOCKS = {**CLOCKS, "children": _cpu_of_children}


def installed(name: str, make: Callable[[], list[Contender]]) -> list[Contender]:
    """Return the contenders of a library; none, with a message, if it is not installed."""
    try:
        return make()
    except ImportError:
        sys.stderr.write(f"{name} is not installed: left out\n")
        return []
