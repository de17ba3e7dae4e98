"""Measure every published figure of speed from the front door, and compare it with the pages.

    python bench/readme.py [--write | --check [--coarse]]

needs the libraries of requirements.txt; those that are not installed are left out and named.
Every contender starts from the same raw Python lists (or Arrow columns), builds its library's
input, and reads the same numbers, which are compared before anything is timed; all contenders are
treated alike. Contenders are interleaved, and a ratio is taken within a round of CPU seconds.

`--write` keeps the figures in figures.json and puts them into docs/benchmarks.md and README.md.
`--check` exits with 1 if a page does not show the figures of figures.json, or if fullrecall's own
figures differ from those of this run by more than the rounds do. `--coarse` is for another machine,
busy with other work: no other library, ratios of CPU time only, and twice the room.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, dataclass, fields
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import (
    COARSE,
    FIGURES,
    OURS,
    PAGES,
    SLACK,
    Row,
    disagreements,
    page_table,
    published,
    tables,
    written,
    wrong_pages,
)
from rows_by_id import id_tasks
from rows_by_text import text_tasks
from rows_of_inputs import input_tasks
from rows_of_reports import report_tasks
from rows_of_starts import start_tasks
from side_by_side import say, setting

PACKAGES = (
    OURS, "pytrec_eval-terrier", "ir-measures", "ranx", "llama-index-core", "ragas", "rapidfuzz",
    "numpy", "pyarrow", "pandas", "polars",
)  # fmt: skip


@dataclass(frozen=True)
class Sizes:
    """The sizes of the measurement: rows of each kind, and the rounds."""

    queries: int = 2_000
    samples: int = 50
    rounds: int = 7
    saved: int = 1_000_000
    loaded: int = 2_000
    diagnosed: int = 10_000


COARSELY = Sizes(samples=20, rounds=3, loaded=500, diagnosed=2_000)


def rows(sizes: Sizes, *, peers: bool = True) -> list[Row]:
    """Measure everything; raise `ValueError` if a contender's numbers differ."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tasks = chain(
            id_tasks(sizes.queries, peers=peers),
            input_tasks(sizes.queries, folder, peers=peers),
            text_tasks(sizes.samples, peers=peers),
            report_tasks(sizes.saved, sizes.loaded, sizes.diagnosed, folder),
            start_tasks(peers=peers),
        )
        return [task.measured(sizes.rounds) for task in tasks]


def main() -> None:
    """Measure, and print, write, or check the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for field in fields(Sizes):
        parser.add_argument(f"--{field.name}", type=int, default=field.default)
    parser.add_argument("--write", action="store_true", help="keep the figures, fill the pages")
    parser.add_argument("--check", action="store_true", help="exit with 1 where they differ")
    parser.add_argument("--coarse", action="store_true", help="small, without other libraries")
    asked = parser.parse_args()
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # No benchmark sends telemetry.
    given = Sizes(*(getattr(asked, field.name) for field in fields(Sizes)))
    began = time.monotonic()
    found = rows(COARSELY if asked.coarse else given, peers=not asked.coarse)
    say(page_table(found))
    say(f"\n{setting(*PACKAGES)} {time.monotonic() - began:.0f} s.")
    if asked.write:
        kept = {"setting": setting(*PACKAGES), "rows": [asdict(row) for row in found]}
        FIGURES.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
        for path, body in tables(found).items():
            path.write_text(written(path.read_text("utf-8"), body), "utf-8")
    if asked.check:
        pages = {path.name: path.read_text("utf-8") for path in PAGES}
        said = published()
        wrong = wrong_pages(pages, said)
        if asked.coarse:
            said, found = ([row for row in some if row.clock == "cpu"] for some in (said, found))
        wrong += disagreements(said, found, COARSE if asked.coarse else SLACK)
        if wrong:
            sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
