"""Measure import times in fresh interpreters, in turn, each importing one thing.

"Import" is timed inside the interpreter; "process" is the whole run from outside, starting the
interpreter included. `--clock cpu` counts CPU seconds, for a machine that is busy with other work.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from side_by_side import CLOCKS, Ratio, say, setting, table

STATEMENTS = {
    "bare interpreter": "pass",
    "fullrecall": "import fullrecall",
    "IdRecall, evaluate": "from fullrecall import IdRecall, evaluate",
    "all of fullrecall": "from fullrecall import *",
    "pydantic": "from pydantic import BaseModel",
    "rapidfuzz": "import rapidfuzz",
    "numpy": "import numpy",
    "llama_index.core": "import llama_index.core",
    "ragas": "import ragas",
}
_PROGRAM = """
from time import {clock} as clock
start = clock()
{statement}
print(clock() - start)
"""


@dataclass
class Times:
    """Seconds of each round."""

    importing: list[float] = field(default_factory=list)
    process: list[float] = field(default_factory=list)


def measure(names: Sequence[str], rounds: int, clock: str = "wall") -> dict[str, Times]:
    """Import each of `STATEMENTS` in a new interpreter, all of them in each round.

    A first round, which is not counted, fills the caches of files and bytecode. A package
    that is not installed is left out.
    """
    times = {name: Times() for name in names if _once(name, clock) is not None}
    for _ in range(rounds):
        for name, own in times.items():
            seconds = _once(name, clock)
            if seconds is None:
                raise RuntimeError(f"{STATEMENTS[name]!r} worked a moment ago")
            own.importing.append(seconds[0])
            own.process.append(seconds[1])
    return times


def _once(name: str, clock: str) -> tuple[float, float] | None:
    """Return the seconds of the import and of the process; None if the import fails."""
    program = _PROGRAM.format(clock=CLOCKS[clock].__name__, statement=STATEMENTS[name])
    now = CLOCKS[clock] if clock == "wall" else _cpu_of_children
    start = now()
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    process = now() - start
    return (float(done.stdout.split()[-1]), process) if done.returncode == 0 else None


def _cpu_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def shown(times: dict[str, Times], unit: str) -> str:
    """Return the times as a Markdown table, as multiples of the time of `unit`."""
    rows = [
        [
            name,
            str(Ratio.of(own.importing, times[unit].importing)),
            f"{statistics.median(own.importing) * 1e3:.0f}",
            str(Ratio.of(own.process, times[unit].process)),
            f"{statistics.median(own.process) * 1e3:.0f}",
        ]
        for name, own in times.items()
    ]
    return table(["what", f"import, {unit} = 1", "ms", f"process, {unit} = 1", "ms"], rows)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    asked = parser.parse_args()
    say(shown(measure(list(STATEMENTS), asked.rounds, asked.clock), unit="pydantic"))
    names = ("fullrecall", "pydantic", "rapidfuzz", "numpy", "llama-index-core", "ragas")
    say("\n" + setting(*names))


if __name__ == "__main__":
    main()
