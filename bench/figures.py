"""Published figures: the rows of a table, the pages that show them, and whether they still hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from side_by_side import Ratio, table

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
PAGES = (HERE.parent / "docs" / "benchmarks.md", HERE / "README.md")
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
OURS = "fullrecall"
SLACK, COARSE = 1.25, 2.0
"""How far a figure may lie beyond the rounds: another day, the same machine; another machine."""


@dataclass(frozen=True)
class Row:
    """One line of the table: the work, and each tool's time as a multiple of the unit's.

    `limits` are bounds of the machine, not tools. `goal` and `price` are texts: fullrecall's goal,
    and its measured time. A row without times is not measured yet. Only ratios of CPU time are
    about the same on another machine.
    """

    title: str
    times: Mapping[str, Ratio]
    limits: Mapping[str, Ratio] = field(default_factory=dict)
    clock: str = "cpu"
    goal: str = ""
    price: str = ""

    @property
    def order(self) -> list[str]:
        """Return the names of the measured tools, the fastest first."""
        return sorted(self.times, key=lambda name: self.times[name].median)

    def cells(self) -> list[str]:
        """Return the row's cells on the page."""
        first = self.order[0] if len(self.times) > 1 else "-"
        return [
            self.title,
            str(self.times.get(OURS, "not measured yet")),
            self.price or "-",
            self.goal or "-",
            _listed(self.others),
            first,
            _listed(self.limits),
            self.distance,
        ]

    @property
    def distance(self) -> str:
        """Return fullrecall's time as a multiple of the nearest limit's."""
        least = min((limit.median for limit in self.limits.values()), default=None)
        return "-" if least is None else f"{self.times[OURS].median / least:.1f} ×"

    @property
    def others(self) -> dict[str, Ratio]:
        """Return the names of the other libraries, the fastest first."""
        return {name: self.times[name] for name in self.order if name != OURS}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Row:
        """Return the row from its form in figures.json."""
        times, limits = (
            {name: Ratio(**ratio) for name, ratio in plain[key].items()}
            for key in ("times", "limits")
        )
        return cls(**{**plain, "times": times, "limits": limits})


def _listed(times: Mapping[str, Ratio]) -> str:
    return ", ".join(f"{name} {time}" for name, time in times.items()) or "-"


def page_table(measurements: Sequence[Row]) -> str:
    """Return the page's table: medians of the rounds, with the minimum and maximum in brackets."""
    return table(
        ["what", OURS, "it takes", "goal", "others", "first", "limits", "to the limit"],
        [row.cells() for row in measurements],
    )


def tables(measurements: Sequence[Row]) -> dict[Path, str]:
    """Return each page with its table."""
    return dict.fromkeys(PAGES, page_table(measurements))


def shown(page: str) -> str:
    """Return the table that a page has; raise `ValueError` if it has none."""
    _, begin, rest = page.partition(BEGIN)
    body, end, _ = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page must have a table between {BEGIN} and {END}")
    return body.strip()


def written(page: str, body: str) -> str:
    """Return the page with this table in place of its own."""
    shown(page)
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{body}\n{END}{after}"


def published() -> list[Row]:
    """Return the rows of figures.json."""
    return [Row.of(plain) for plain in json.loads(FIGURES.read_text("utf-8"))["rows"]]


def wrong_pages(pages: Mapping[str, str], measurements: Sequence[Row]) -> list[str]:
    """Return the names of pages that show other figures than these."""
    bodies = {path.name: body for path, body in tables(measurements).items()}
    return [
        f"{name} does not show figures.json: run readme.py --write"
        for name, page in pages.items()
        if shown(page) != bodies[name]
    ]


def disagreements(
    said: Sequence[Row], measurements: Sequence[Row], slack: float = SLACK
) -> list[str]:
    """Return the published figures that differ from the run's by more than the spread of both."""
    figures = {row.title: row for row in said}
    gone = figures.keys() - {row.title for row in measurements}
    wrong = [f"{title}: is no longer measured" for title in sorted(gone)]
    for row in measurements:
        ours, figure = row.times[OURS], figures.get(row.title)
        if figure is None or not figure.times:
            wrong.append(f"{row.title}: is not published")
            continue
        told = figure.times[OURS]
        if ours.least > told.most * slack or ours.most < told.least / slack:
            wrong.append(f"{row.title}: published {told}, measured {ours}")
        last = bool(figure.others) and figure.order[0] == OURS
        if last and row.others and row.order[0] != OURS:
            wrong.append(f"{row.title}: published as first, but {row.order[0]} is")
    return wrong
