"""Tables of several parts answer as one list of rows, in any order and selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.observe.calls import of_calls

from fullrecall import Context, IdRecall, Report, Sample, compare, evaluate
from fullrecall.errors import ParameterError, ReportError
from fullrecall.measures import Leak, Precision, Recall
from fullrecall.samples.calls import Call
from fullrecall.scorers.result import Result, Status
from fullrecall.table.groups import IdRange, are_apart
from fullrecall.table.origin import Origin
from fullrecall.table.part import straddles
from fullrecall.table.row import Row
from fullrecall.table.table import Table

SAMPLES = [
    Sample(id="found", group="g", retrieved_ids=["a", "b"], expected_ids=["a"]),
    Sample(id="missed", retrieved_ids=["x"], expected_ids=["a", "b"]),
    Sample(retrieved_ids=["x"], expected_ids=[["a", "x"]], metadata={"kind": "any"}),
    Sample(id="unscored", user_input="why?", expected_ids=["a"]),
    Sample(id="undefined", retrieved_ids=["x"], expected_ids=[]),
    Sample(id="leaks", retrieved_ids=["a", "x"], expected_ids=["a"], forbidden_ids=["x"]),
    Sample(id="texts", retrieved_contexts=[{"id": "a", "text": "x" * 8}], expected_ids=["a"]),
    Sample(id="unanswerable", retrieved_ids=[], answerable=False),
]
WHOLE = evaluate(SAMPLES, IdRecall(), progress=False).table
MEASURES = (Recall, Recall @ 1, Precision, Leak)


def in_parts(*cuts: int) -> Table:
    """Return the table of `SAMPLES` in parts that end at these rows."""
    ends = [0, *cuts, len(SAMPLES)]
    pieces = [evaluate(SAMPLES[a:b], IdRecall(), progress=False) for a, b in pairwise(ends)]
    return Table(WHOLE.methods, [part for piece in pieces for part in piece.table.parts])


def appended() -> Table:
    """Return the table of `SAMPLES` to which each row was appended."""
    table = Table(WHOLE.methods)
    for row in WHOLE:
        table.append(row.sample, row.results)
    return table


def check_rows(table: Table, order: Sequence[int]) -> None:
    """Check that a table has these rows of `SAMPLES`, by every way to read them."""
    assert len(table) == len(order)
    samples = [SAMPLES[at] for at in order]
    assert [table.sample(row) for row in range(len(table))] == samples
    positions = [(row.position, row.sample) for row in table]
    assert positions == [*enumerate(samples, start=1)]
    assert [row.position for row in table[:]] == [*range(1, len(order) + 1)]
    assert [table.result(row, 0).status for row in range(len(order))] == [
        row.results[0].status for row in table
    ]
    for name in ("id", "group", "user_input"):
        assert table.cells(name) == [getattr(sample, name) for sample in samples]
    names = table.labels(range(len(order)))
    assert names == [sample.id or f"#{n}" for n, sample in enumerate(samples, start=1)]
    for measure in MEASURES:
        values = WHOLE.values(0, measure)[list(order)]
        np.testing.assert_array_equal(table.values(0, measure), values)
        gaps = WHOLE.gaps(0, measure)[list(order)]
        np.testing.assert_array_equal(table.gaps(0, measure), gaps)
    assert table.status(0).tolist() == WHOLE.status(0)[list(order)].tolist()
    assert table.target_digests(0).tolist() == WHOLE.target_digests(0)[list(order)].tolist()
    notes = sum((part.notes(0) for part in table.parts), Counter[str]())
    expected = (WHOLE.result(at, 0) for at in order)
    assert notes == Counter(each.note for each in expected if each.status is Status.UNSCORED)


@pytest.mark.parametrize("make", [lambda: in_parts(3), lambda: in_parts(1, 2, 7), appended])
def test_parts_are_one_list(make: Callable[[], Table]) -> None:
    """Rows have the same positions, samples and values, in one part or in several."""
    check_rows(make(), range(len(SAMPLES)))


@pytest.mark.parametrize("order", [(7, 0, 3), (2,), (5, 5, 1), (6, 4, 2, 0, 7, 5, 3, 1), (4, 3)])
def test_rows_are_selected_in_any_order(order: tuple[int, ...]) -> None:
    """A selection of several parts has their rows in the order given, and so has its selection."""
    selected = in_parts(2, 5).selected(np.array(order, np.int64))
    check_rows(selected, order)
    assert selected.unanswerable() == (order.count(7), order.count(7))
    assert selected.has_groups == (0 in order)
    turned = selected.selected(np.arange(len(order))[::-1])
    check_rows(turned, order[::-1])


def test_a_row_beyond_the_end_is_an_error() -> None:
    """Rows count from 0, and only subscripts may be negative."""
    table = in_parts(3)
    assert (table[-1].label, table[7].label) == ("unanswerable", "unanswerable")
    for row in (-1, 8):
        with pytest.raises(IndexError, match=f"no row {row}: there are 8"):
            table.sample(row)
    with pytest.raises(IndexError):
        _ = table[8]


def test_a_row_of_a_small_table_is_one_object() -> None:
    """A row that was read once is the same object in every later loop."""
    table = in_parts(3)
    row = table.row(4)
    assert table[4] is row
    assert [each for each in table if each.position == 5] == [row]
    assert [*table][4] is row
    assert [*table][1] is table.row(1)


def test_appended_rows_are_read_at_once() -> None:
    """Rows count before they are read, and a part that is added comes after them."""
    table = Table(WHOLE.methods)
    table.append(WHOLE.sample(1), [WHOLE.result(1, 0)])
    assert (len(table), table.ids) == (1, ["missed"])
    table.append(WHOLE.sample(0), [WHOLE.result(0, 0)])
    assert table.group_codes is not None
    table.add(in_parts(3).parts[0])
    assert table.ids == ["missed", "found", "found", "missed", None]
    assert table.groups[0] == table.groups[3] != table.groups[1] == table.groups[2]


@pytest.mark.parametrize(
    ("ranges", "are"),
    [
        ([("a", "c", 2), ("d", "e", 2)], True),
        ([("d", "e", 2), ("a", "c", 2)], True),
        ([("a", "d", 2), ("d", "e", 2)], False),
        ([("a", "d", 2), ("b", "c", 2)], False),
        ([("8", "9", 2), ("10", "11", 2)], True),
        ([("8", "10", 2), ("11", "12", 2)], True),
        ([("", "", 0), ("a", "b", 2)], True),
        ([("a", "b", 2), None], False),
        ([], True),
    ],
)
def test_ranges_of_ids(ranges: list[tuple[str, str, int] | None], are: bool) -> None:  # noqa: FBT001
    """Ranges that do not overlap prove that no ID occurs twice; longer IDs come later."""
    assert are_apart([each and IdRange(*each) for each in ranges]) == are


def test_the_common_origin() -> None:
    """Parts of several corpora have none in common; parts of several lists are refused."""
    one, other, none = Origin("one"), Origin("other"), Origin()
    assert Origin.common([one, one]) == one
    assert Origin.common([one, other]) == Origin.common([one, none]) == none
    assert Origin.common([Origin("one", "retrieved")]) == Origin("one", "retrieved")
    with pytest.raises(ReportError, match="scored by view=contexts, retrieved are not parts"):
        Origin.common([one, Origin("one", "retrieved")])


@pytest.mark.parametrize(
    ("ties", "ks"), [([], []), ([[2, 4]], [2, 3]), ([[1, 2], [4, 5]], [1, 4]), ([[3, 3]], [])]
)
def test_ties_that_straddle_a_rank(ties: list[list[int]], ks: list[int]) -> None:
    """A tie straddles each of its ranks but the last, in metadata and in its JSON."""
    key = "fullrecall.tied_ranks"
    assert [k for k in range(1, 7) if straddles({key: ties}, k)] == ks
    assert [k for k in range(1, 7) if straddles(f'{{"{key}": {ties}}}', k)] == ks
    assert not straddles({}, 1)
    assert not straddles(None, 1)
    assert not straddles("not JSON", 1)


@pytest.mark.parametrize("tokens", [-1, 1.5, True, "2", None])
def test_a_count_of_tokens_is_a_whole_number(tokens: object) -> None:
    """`with_tokens` refuses any other count, and keeps samples without texts as they are."""
    report = evaluate(SAMPLES, IdRecall(), progress=False)
    with pytest.raises(ParameterError, match="count must return a whole number of at least 0, got"):
        report.with_tokens(lambda _: tokens, tokenizer="mine")  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("tokenizer", ["", " ", None, 3])
def test_a_tokenizer_has_a_name(tokenizer: object) -> None:
    """`with_tokens` refuses a tokenizer without a name."""
    report = evaluate(SAMPLES, IdRecall(), progress=False)
    with pytest.raises(ParameterError, match='tokenizer must be a name such as "cl100k_base", got'):
        report.with_tokens(len, tokenizer=tokenizer)  # type: ignore[arg-type]


def test_each_distinct_text_is_counted_once() -> None:
    """`with_tokens` counts a text once for all samples, also no tokens, and keeps all else."""
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text) - 1

    texts = [{"id": "a", "text": "x"}, {"id": "b", "text": "yy"}, {"id": "c"}]
    samples = [
        Sample(id="1", retrieved_contexts=texts, expected_ids=["a"]),
        Sample(id="2", retrieval={"contexts": texts[::-1]}, expected_ids=["a"]),
        Sample(id="3", expected_ids=["a"]),
    ]
    report = evaluate(samples, IdRecall(), progress=False)
    report.stopped = "the end"
    recorded = Sample(
        id="4", retrieval=of_calls([Call("s", query="q", contexts=(Context("zzz", id="a"),))])
    )
    report.add(Row(4, recorded, [IdRecall().score(recorded)]))
    changed = report.with_tokens(count, tokenizer="letters")
    assert counted == ["x", "yy", "zzz"]
    (call,) = changed[3].sample.retrieval.calls  # type: ignore[union-attr]
    assert [each.metadata["tokens"] for each in call.contexts or ()] == [2]
    for row, order in ((changed[0], (0, 1, None)), (changed[1], (None, 1, 0))):
        contexts = row.sample.retrieved_contexts or ()
        assert [each.metadata.get("tokens") for each in contexts] == [*order]
    assert [row.results[0].score for row in changed] == [1.0, 1.0, None, None]
    assert (changed.stopped, changed.methods) == ("the end", report.methods)


def test_saved_parts_have_the_same_targets(tmp_path: Path) -> None:
    """Digests of targets are equal in memory and in files, with and without alternatives."""
    report = evaluate(SAMPLES, IdRecall(), progress=False)
    for name in ("r.jsonl", "r.parquet"):
        report.save(tmp_path / name)
        saved = Report.open(tmp_path / name).table
        assert saved.target_digests(0).tolist() == WHOLE.target_digests(0).tolist()
        assert not saved.other_targets(0, WHOLE, 0).any()
    results: list[Result] = [row.results[0] for row in WHOLE]
    assert [len(each.findings) for each in results] == [1, 2, 1, 0, 0, 1, 1, 0]


def test_rows_that_were_appended_join_their_groups() -> None:
    """A repeated ID is found if it was appended after the groups were read."""
    table = Table(WHOLE.methods)
    table.append(WHOLE.sample(0), [WHOLE.result(0, 0)])
    table.append(WHOLE.sample(1), [WHOLE.result(1, 0)])
    assert table.groups == ["g", None]
    other = Table(WHOLE.methods)
    for at in (1, 4):
        other.append(WHOLE.sample(at), [WHOLE.result(at, 0)])
    assert other.group_codes is None
    other.append(WHOLE.sample(1), [WHOLE.result(1, 0)])
    first, second, third = other.groups
    assert first == third != second
    assert other.group_codes is not None
    assert other.group_codes.tolist() == [0, -1, 0]


def test_files_whose_ids_overlap_have_repeated_ids(tmp_path: Path) -> None:
    """IDs are distinct only if the ranges of all files are known and apart."""
    rows = [{"id": f"q{n}", "retrieved_ids": ["a"], "expected_ids": ["a"]} for n in range(1, 7)]
    for name, part in (("one", rows[:3]), ("two", rows[3:]), ("both", rows[2:4])):
        evaluate(part, IdRecall(), progress=False).save(tmp_path / f"{name}.parquet")

    def opened(*names: str) -> Report:
        parts = [Report.open(tmp_path / f"{name}.parquet").table.parts for name in names]
        return Report(WHOLE.methods, table=Table(WHOLE.methods, [*chain.from_iterable(parts)]))

    unlike = opened("one", "two")
    assert unlike.table.has_distinct_ids
    assert unlike.table.groups == [None] * 6
    for names in (("one", "both"), ("one", "one")):
        alike = opened(*names)
        assert not alike.table.has_distinct_ids
        assert any(alike.table.groups)
        with pytest.raises(ReportError, match="appears twice in the report"):
            compare(alike, alike)
    assert not WHOLE.has_distinct_ids


@pytest.mark.parametrize(
    ("before", "after", "differ"),
    [
        (["a", "b"], ["b", "a"], False),
        (["a"], ["b"], True),
        ([["a", "b"]], [["a", "c"]], True),
        ({"a": 2, "b": 1}, {"a": 2, "b": 1}, False),
        ({"a": 2, "b": 1}, {"a": 3, "b": 1}, True),
    ],
)
def test_targets_differ_by_name_alternative_and_grade(
    before: Any, after: Any, *, differ: bool
) -> None:
    """Two reports have other targets if a name, an alternative, or a grade is another."""
    tables = [
        evaluate([{"retrieved_ids": ["a"], "expected_ids": ids}], IdRecall(), progress=False).table
        for ids in (before, after)
    ]
    assert tables[0].other_targets(0, tables[1], 0).tolist() == [differ]


def test_a_measure_of_samples_has_no_gap_if_nothing_is_forbidden() -> None:
    """An unscored sample is a gap in recall, and none in a leak that no sample can have."""
    rows = [{"retrieved_ids": ["a"], "expected_ids": ["a"]}, {"retrieved_ids": ["a"]}]
    table = evaluate(rows, IdRecall(), progress=False).table
    assert table.gaps(0, Recall).tolist() == [False, True]
    assert table.gaps(0, Leak).tolist() == [False, False]
