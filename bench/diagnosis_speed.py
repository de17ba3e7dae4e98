"""How long `diagnose` takes over many samples, in CPU seconds and beside `report.missed`.

python bench/diagnosis_speed.py [--samples 10000] [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from time import process_time
from typing import Any

from page import report_of

from fullrecall import Report, diagnose


def seconds(work: Callable[[], Any]) -> float:
    """Return the CPU seconds that some work takes."""
    start = process_time()
    work()
    return process_time() - start


def measured(report: Report, rounds: int) -> dict[str, list[float]]:
    """Return the CPU seconds of each contender, in every round."""
    works: dict[str, Callable[[], Any]] = {
        "report.missed(5)": lambda: report.missed(5),
        "diagnose(report)": lambda: diagnose(report),
        "diagnose(report, k=5)": lambda: diagnose(report, k=5),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds(work))
    return times


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    report = report_of(given.samples, given.documents)
    diagnose(report_of(5, 20), k=5)  # imports are not its own time
    times = measured(report, given.rounds)
    missed = times["report.missed(5)"]
    print("| what | CPU s, median | least-most | report.missed = 1 |\n| --- | ---: | ---: | ---: |")
    for name, found in times.items():
        ratio = statistics.median(a / b for a, b in zip(found, missed, strict=True))
        print(
            f"| {name} | {statistics.median(found):.2f} | {min(found):.2f}-{max(found):.2f} "
            f"| {ratio:.1f} |"
        )


if __name__ == "__main__":
    main()
