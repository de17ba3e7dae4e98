"""Rows of all kinds, numbered, and what totals of their batches come to."""

from __future__ import annotations

import json
import os
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from fullrecall.distributed.tables import table_of as table_of_batch
from fullrecall.distributed.totals.summed_rows import columns_of

from fullrecall import BatchScorer, IdRecall, Report, Sample, evaluate
from fullrecall.measures import AP, Measure, Recall, nDCG

ROWS = 48
RUNS = int(os.environ.get("FULLRECALL_RUNS", "40"))
Table = dict[str, list[Any]]


def row(place: int) -> dict[str, Any]:
    """Return a row: of all statuses, some in groups, one in 13 no sample at all."""
    rng = random.Random(place)
    found: Any = [f"d{rng.randrange(9)}" for _ in range(6)]
    return {
        "place": place,
        "id": f"q{place}" if place % 5 else None,
        "retrieved_ids": "no list" if place % 13 == 7 else found if place % 11 else None,
        "expected_ids": [f"d{rng.randrange(9)}" for _ in range(place % 4)],
        "group": f"g{place % 9}" if place % 2 else None,
    }


def table(places: Sequence[int]) -> Table:
    """Return the rows at these places as columns."""
    made = [row(place) for place in places]
    return {name: [each[name] for each in made] for name in row(0)}


def alone(places: Sequence[int]) -> Table:
    """Return the column of groups where no row is in one."""
    return {"group": [None for _ in places]}


def only(places: Sequence[int], kept: set[int]) -> Table:
    """Return the column of groups where only the rows at some places are in one."""
    return {"group": [row(place)["group"] if place in kept else None for place in places]}


SEVERAL = (IdRecall(), IdRecall(name="again"))
MEASURES = (Recall @ 1, Recall @ 3, AP, nDCG @ 5)


def plain(
    places: Sequence[int],
    *,
    grouped: bool = True,
    kept: set[int] | None = None,
    several: bool = False,
) -> Report:
    """Return the report of one run over these rows; one that is no sample failed its retrieval."""
    samples = []
    left = {"place"} if grouped else {"place", "group"}
    for place in places:
        given = {name: value for name, value in row(place).items() if name not in left}
        if kept is not None and place not in kept:
            given["group"] = None
        if given["retrieved_ids"] == "no list":
            given["retrieved_ids"] = None
        samples.append(
            Sample(**{name: value for name, value in given.items() if value is not None})
        )
    return evaluate(samples, SEVERAL if several else IdRecall(), progress=False)


def figures(report: Report, *measures: Measure) -> dict[str, Any]:
    """Return all numbers of a summary, its intervals too, but the reasons of what is unscored."""
    summary = json.loads(json.dumps(report.summary(*measures).to_dict()))
    for score in summary["scores"]:
        score["reasons"] = sum(score["reasons"].values())
    return {**summary, "stopped": None, "complete": None}


def scorer(**options: Any) -> BatchScorer:
    """Return a scorer of totals in small cells, so that a few rows are many parts."""
    small: dict[str, Any] = {"part_size": 2, "buckets": 3, "position": "place"}
    several = options.pop("several", False)
    if several:
        small["measures"] = MEASURES
    return BatchScorer(SEVERAL if several else IdRecall(), keep="summary", **(small | options))


def table_of(made: Sequence[Table]) -> Table:
    """Return tables one after another as one."""
    return {name: [cell for each in made for cell in each[name]] for name in scorer().meta.columns}


def by_key(made: Sequence[Table]) -> list[Table]:
    """Return the rows of tables by their key, as an engine's grouping brings them together."""
    groups: dict[int, list[Table]] = defaultdict(list)
    for each in made:
        for place, key in enumerate(each["fullrecall_key"]):
            groups[key].append({name: [cells[place]] for name, cells in each.items()})
    return [table_of(group) for group in groups.values()]


def tree(how: BatchScorer, made: list[Table], rng: random.Random, *, often: int) -> list[Table]:
    """Return tables merged along a random tree, where each may be taken more than once."""
    for _ in range(often):
        some = [made[rng.randrange(len(made))] for _ in range(rng.randint(1, 3))]
        made.append(columns_of(how._kept.whole_of(map(table_of_batch, some))))
    return made
