"""The published table's rows of one sample, and of the means of other inputs beside mappings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import id_recall
from figures import OURS
from rows_by_id import means
from side_by_side import Contender
from task import Task, installed

from fullrecall.read import read


def input_tasks(queries: int, folder: Path, *, peers: bool) -> list[Task]:
    """Return the rows; raise `ValueError` if an input's means differ from those of mappings."""
    ids = id_recall.make(queries)
    mappings = id_recall.mappings_of(ids)
    expected = means(mappings)
    unit = Contender("mappings", lambda: means(id_recall.mappings_of(ids)))
    tasks = [_one_by_one(ids, peers=peers)]
    for name, goal, make in _inputs(ids, folder):
        if means(make()) != expected:
            raise ValueError(f"the means of {name} differ from those of mappings")
        ours = Contender(OURS, lambda make=make: means(make()))  # type: ignore[misc]
        title = f"means at 6 k of {name}; mappings = 1"
        tasks.append(Task(title, unit, [ours], goal=goal, per=queries))
    return tasks


def _one_by_one(ids: id_recall.Queries, *, peers: bool) -> Task:
    """Return the row of one call of `score` for each query, beside ragas' call for one value."""
    part = ids.first(max(1, len(ids) // 20))

    def ragas() -> list[Contender]:
        run = id_recall.Ragas(part, len(part)).whole
        return [Contender("ragas (one value, no k)", run, share=len(part) / len(ids))]

    return Task(
        "recall at 6 k by one score() of each query",
        Contender("set loop", lambda: id_recall.lean_set_loop(ids)),
        [
            Contender(OURS, lambda: id_recall.built_and_scored(ids)),
            *(installed("ragas", ragas) if peers else []),
        ],
        goal="≤ 5, first",
        per=len(ids),
    )


def _inputs(ids: id_recall.Queries, folder: Path) -> list[tuple[str, str, Callable[[], Any]]]:
    """Return the name, the goal, and the maker of each input with the same queries."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"retrieved_ids": ids.retrieved, "expected_ids": ids.relevant}
    table, pandas, polars = pa.table(columns), pd.DataFrame(columns), pl.DataFrame(columns)
    numbers = id_recall.Queries(
        *([[int(name.removeprefix("doc_")) for name in row] for row in column]
          for column in (ids.retrieved, ids.relevant))
    )  # fmt: skip
    lines, parquet = folder / "queries.jsonl", folder / "queries.parquet"
    lines.write_text("".join(f"{json.dumps(row)}\n" for row in id_recall.mappings_of(ids)), "utf-8")
    pq.write_table(table, parquet)
    return [
        ("whole numbers", "≤ 1.5", lambda: id_recall.mappings_of(numbers)),
        ("an Arrow table", "≤ 2", lambda: table),
        ("a pandas frame", "≤ 2", lambda: pandas),
        ("a polars frame", "≤ 2", lambda: polars),
        ("JSON Lines", "≤ 5", lambda: read(lines)),
        ("Parquet", "≤ 2.5", lambda: read(parquet)),
    ]
