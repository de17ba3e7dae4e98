"""The published table's rows of start times, in milliseconds of CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from figures import OURS
from side_by_side import Contender
from task import Task, installed

_TEN_LINES = """
from fullrecall import IdRecall, evaluate
samples = [
    {"retrieved_ids": ["d7", "d1"], "expected_ids": ["d1"]},
    {"retrieved_ids": ["d2", "d8"], "expected_ids": ["d2", "d4"]},
]
report = evaluate(samples, IdRecall(), progress=False)
print(report.summary())
for missed in report.missed():
    print(missed.sample, missed.target)
"""

_TEN_LINES_OF_IR_MEASURES = """
import ir_measures
from ir_measures import R
qrels = {"1": {"d1": 1}, "2": {"d2": 1, "d4": 1}}
run = {"1": {"d7": 2.0, "d1": 1.0}, "2": {"d2": 2.0, "d8": 1.0}}
print(ir_measures.calc_aggregate([R @ 1, R @ 3, R @ 5, R @ 10], qrels, run))
for each in ir_measures.iter_calc([R @ 10], qrels, run):
    print(each)
"""


def start_tasks(*, peers: bool) -> list[Task]:
    """Return the rows of starting the command and a program of ten lines."""
    python, nothing = (
        sys.executable,
        Contender("python -c pass", lambda: _run(sys.executable, "-c", "pass")),
    )
    ours, theirs = (str(Path(python).with_name(name)) for name in ("fullrecall", "ir_measures"))

    def there(name: str, *command: str) -> list[Contender]:
        def make() -> list[Contender]:
            try:
                _run(*command)
            except (OSError, subprocess.CalledProcessError) as error:
                raise ImportError(name) from error
            return [Contender(name, lambda: _run(*command))]

        return installed(name, make) if peers else []

    return [
        Task(
            "`--help`; ms of CPU",
            None,
            [
                Contender(OURS, lambda: _run(ours, "--help")),
                *there("ir_measures", theirs, "--help"),
            ],
            [nothing],
            clock="children",
            goal="≤ 0.5 of ir_measures",
        ),
        Task(
            "a program of ten lines; ms of CPU",
            None,
            [
                Contender(OURS, lambda: _run(python, "-c", _TEN_LINES)),
                *there("ir_measures", python, "-c", _TEN_LINES_OF_IR_MEASURES),
            ],
            [nothing],
            clock="children",
            goal="≤ 1.2 of ir_measures",
        ),
    ]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
