"""Samples that are not independent: those that share a group or an ID, in memory and in files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from fullrecall import IdRecall, Report, evaluate
from fullrecall.table.groups import may_lack_or_repeat, may_repeat, stored_hashes

TEXTS = st.lists(st.text("ab\0é漢", max_size=5), max_size=40)


@given(TEXTS, TEXTS)
def test_stored_texts_hash_alike_where_they_are_the_same(
    before: list[str], texts: list[str]
) -> None:
    """Whatever stands before them in the array; other texts mostly have another hash."""
    hashes = stored_hashes(pa.array([*before, *texts], pa.string()).slice(len(before))).tolist()
    assert len(hashes) == len(texts)
    by_text = dict(zip(texts, hashes, strict=True))
    assert hashes == [by_text[text] for text in texts]
    assert len(set(by_text.values())) == len(by_text)


@given(st.lists(st.none() | st.text("ab", max_size=2), max_size=12))
def test_an_id_that_occurs_twice_is_found(ids: list[str | None]) -> None:
    """A sample without an ID repeats nothing."""
    named = [name for name in ids if name is not None]
    assert may_repeat(ids) == (len(set(named)) < len(named))
    assert may_lack_or_repeat(ids) == (None in ids or len(set(ids)) < len(ids))


def test_samples_of_a_file_stand_alone_as_in_memory(tmp_path: Path) -> None:
    """With IDs that repeat across row groups, with groups, and with neither."""
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
            assert loaded.groups == report.groups
            assert loaded.summary().to_dict() == report.summary().to_dict()


def test_equal_columns_are_told_by_their_bytes_or_by_their_cells(tmp_path: Path) -> None:
    """Of files, of files that another writer wrote, and in memory; others are not equal."""
    rows = [
        {
            "id": f"q{i}",
            "user_input": f"what is {i}?",
            "reference_context_ids": [f"d{i % 7}"],
            "retrieved_context_ids": ["d1", "d2"],
        }
        for i in range(50)
    ]
    other_questions = [{**row, "user_input": f"{row['user_input']} "} for row in rows]
    other_references = [*rows[:-1], {**rows[-1], "reference_context_ids": ["d9"]}]
    split_otherwise = [
        *rows[:-2],
        {**rows[-2], "reference_context_ids": ["d6", "d0"]},
        {**rows[-1], "reference_context_ids": []},
    ]
    reports = [
        evaluate(own, IdRecall())
        for own in (rows, rows, other_questions, other_references, split_otherwise)
    ]
    for number, report in enumerate(reports):
        report.save(tmp_path / f"{number}.parquet")
    rewritten = pq.read_table(tmp_path / "1.parquet")
    pq.write_table(rewritten, tmp_path / "5.parquet", compression="none", use_dictionary=False)
    stored = [Report.open(tmp_path / f"{number}.parquet").table for number in range(6)]
    columns = ("id", "user_input", "reference_context_ids")
    for first, tables in (
        (reports[0].table, [each.table for each in reports]),
        (stored[0], stored),
    ):
        assert all(first.repeats(tables[1], name) for name in columns)
        assert [first.repeats(tables[2], name) for name in columns] == [True, False, True]
        assert [first.repeats(tables[3], name) for name in columns] == [True, True, False]
        assert [first.repeats(tables[4], name) for name in columns] == [True, True, False]
    assert all(stored[0].repeats(stored[5], name) for name in columns)
    assert not any(stored[0].repeats(reports[0].table, name) for name in columns)
