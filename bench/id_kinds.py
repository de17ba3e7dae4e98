"""The cost of a row by the kind of its IDs: lists, sets, mappings, arrays, columns, frames.

The numbers of each kind are compared with those of lists of texts before anything is timed. Times
are µs of CPU for a row of 100 retrieved IDs and 6 to 14 references, and the loop's: in columns
(`score_columns`) and from mappings to a summary (`evaluate`).
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Callable, Iterable, Sequence
from itertools import starmap
from typing import Any

import id_recall
from side_by_side import CLOCKS, Contender, interleaved, say, setting, table

from fullrecall import evaluate
from fullrecall.read import from_rows

Columns = tuple[Any, Any]


def kinds(ids: id_recall.Queries) -> dict[str, Columns]:
    """Return the same queries as columns of lists of each kind."""
    import numpy as np

    texts = (ids.retrieved, ids.relevant)
    numbers = tuple([[int(one[4:]) for one in row] for row in column] for column in texts)

    def each(make: Callable[[Any], Any], columns: Sequence[Any] = texts) -> Columns:
        return tuple(list(map(make, column)) for column in columns)  # type: ignore[return-value]

    def references(make: Callable[[Any], Any]) -> Columns:
        return texts[0], list(map(make, texts[1]))

    return {
        "lists of texts": texts,
        "tuples": each(tuple),
        "references in sets": references(set),
        "references with grades": references(lambda row: dict.fromkeys(row, 2)),
        "references in any-of groups": references(lambda row: [[one] for one in row]),
        "lists of whole numbers": each(list, numbers),
        "NumPy arrays of whole numbers": each(np.array, numbers),
        "NumPy arrays of texts": each(np.array),
        "lists of NumPy's numbers": each(lambda row: list(np.array(row)), numbers),
        "numbers among texts": (numbers[0], each(lambda row: [*map(str, row)], numbers)[1]),
        "UUIDs": each(lambda row: [uuid.UUID(int=one) for one in row], numbers),
    }


def frames(ids: id_recall.Queries) -> dict[str, Any]:
    """Return tables of several libraries, with texts and with whole numbers."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    numbers = [[[int(one[4:]) for one in row] for row in c] for c in (ids.retrieved, ids.relevant)]
    made = {}
    for name, (found, wanted) in {
        "texts": (ids.retrieved, ids.relevant),
        "numbers": numbers,
    }.items():
        columns = {"retrieved_ids": found, "expected_ids": wanted}
        made[f"Arrow, {name}"] = pa.table(columns)
        made[f"polars, {name}"] = pl.DataFrame(columns)
        made[f"pandas, {name}"] = pd.DataFrame(columns)
    made["Arrow, dictionary"] = pa.table(
        {"retrieved_ids": _coded(ids.retrieved), "expected_ids": _coded(ids.relevant)}
    )
    return made


def _coded(column: list[list[str]]) -> Any:
    import pyarrow as pa

    plain = pa.array(column)
    return pa.ListArray.from_arrays(plain.offsets, plain.flatten().dictionary_encode())


def _mapping(found: Any, wanted: Any) -> dict[str, Any]:
    return {"retrieved_ids": found, "expected_ids": wanted}


def by_columns(columns: Columns) -> Any:
    """Return recall of each row."""
    return id_recall.SCORER.score_columns(*columns, ks=id_recall.KS).recall


def by_rows(rows: Iterable[Any]) -> list[float | None]:
    """Return the means."""
    report = evaluate(rows, id_recall.SCORER, progress=False)
    summary = report.summary(*id_recall.AT_K)[0]
    return [summary[measure].mean for measure in id_recall.AT_K]


def measured(queries: int, rounds: int) -> list[list[str]]:
    """Return the rows of the table; raise `ValueError` where a kind gives other numbers."""
    ids = id_recall.make(queries)
    expected = by_columns((ids.retrieved, ids.relevant))
    means = by_rows(starmap(_mapping, ids.pairs()))
    contenders = [Contender("set loop", lambda: id_recall.lean_set_loop(ids))]
    names = ["set loop"]
    for name, columns in kinds(ids).items():
        id_recall._equal(name, by_columns(columns), expected)
        _same(name, by_rows(starmap(_mapping, zip(*columns, strict=True))), means)
        contenders += [
            Contender(name, lambda c=columns: by_columns(c), remark="columns"),
            Contender(name, lambda c=columns: by_rows(starmap(_mapping, zip(*c, strict=True)))),
        ]
        names.append(name)
    for name, frame in frames(ids).items():
        columns = (frame["retrieved_ids"], frame["expected_ids"])
        id_recall._equal(name, by_columns(columns), expected)
        _same(name, by_rows(from_rows(frame)), means)
        contenders += [
            Contender(name, lambda c=columns: by_columns(c), remark="columns"),
            Contender(name, lambda f=frame: by_rows(from_rows(f))),
        ]
        names.append(name)
    seconds = interleaved(contenders, rounds, CLOCKS["cpu"])
    cost = {title: f"{min(times) / queries * 1e6:.1f}" for title, times in seconds.items()}
    return [[name, cost.get(f"{name} (columns)", "-"), cost[name]] for name in names]


def _same(name: str, means: list[float | None], expected: list[float | None]) -> None:
    id_recall._equal(name, [[mean or 0.0 for mean in means]], [[mean or 0.0 for mean in expected]])


def main() -> None:
    """Check, time, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    rows = measured(asked.queries, asked.rounds)
    say(table(["µs per row", "score_columns", "evaluate().summary()"], rows))
    say("\n" + setting("fullrecall", "numpy", "pyarrow", "pandas", "polars"))


if __name__ == "__main__":
    main()
