"""Samples that share a group or an ID are not independent, in memory and in files."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fullrecall import IdRecall, Report, evaluate
from fullrecall.table.groups import may_repeat


@given(st.lists(st.none() | st.text("ab", max_size=2), max_size=12))
def test_an_id_that_occurs_twice_is_found(ids: list[str | None]) -> None:
    """An ID that occurs twice is found; samples without an ID are not repeats."""
    named = [name for name in ids if name is not None]
    assert may_repeat(ids) == (len(set(named)) < len(named))


def test_samples_of_a_file_stand_alone_as_in_memory(tmp_path: Path) -> None:
    """Reports in files have the same groups as in memory, across row groups."""
    for number, (ids, groups) in enumerate(
        [
            (["a", "b", "c", "d"], [None] * 4),
            (["a", "b", "c", "a"], [None] * 4),
            ([None, None, "c", "c"], [None] * 4),
            (["a", "b", "c", "d"], ["x", None, "x", None]),
            (["a", "b", "a", "d"], ["x", "y", "y", None]),
        ]
    ):
        rows = [
            {
                "id": name,
                "group": group,
                "retrieved_context_ids": ["1"],
                "reference_context_ids": [str(row % 2)],
            }
            for row, (name, group) in enumerate(zip(ids, groups, strict=True))
        ]
        report = evaluate(rows, IdRecall(), progress=False)
        path = tmp_path / f"{number}.parquet"
        report.save(path)
        for loaded in (Report.load(path), Report.open(path)):
            assert loaded.table.groups == report.table.groups
            assert loaded.summary().to_dict() == report.summary().to_dict()
