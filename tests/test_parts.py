"""Parts that know their rows: however they are split, repeated and lost, nothing is miscounted."""

from __future__ import annotations

import json
import os
import pickle
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullrecall import (
    BatchScorer,
    ClaimRecall,
    IdRecall,
    LLMJudge,
    Report,
    Sample,
    TextRecall,
    evaluate,
)
from fullrecall.distributed import batches
from fullrecall.distributed.parts import Parts
from fullrecall.distributed.ranges import Runs, count, cut, in_words, joined, runs_of, without
from fullrecall.distributed.whole import planned_runs
from fullrecall.errors import InputError, ReportError
from fullrecall.judges.prompts import Prompts
from fullrecall.measures import Recall
from fullrecall.report import Gate
from fullrecall.testing import ScriptedChatModel

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


def plain(places: Sequence[int], *, grouped: bool = True) -> Report:
    """Return the report of one run over these rows; one that is no sample failed its retrieval."""
    samples = []
    left = {"place"} if grouped else {"place", "group"}
    for place in places:
        given = {name: value for name, value in row(place).items() if name not in left}
        if given["retrieved_ids"] == "no list":
            given["retrieved_ids"] = None
        samples.append(
            Sample(**{name: value for name, value in given.items() if value is not None})
        )
    return evaluate(samples, IdRecall(), progress=False)


def figures(report: Report) -> dict[str, Any]:
    """Return all numbers of a summary, its intervals too, but the reasons of what is unscored."""
    summary = json.loads(json.dumps(report.summary().to_dict()))
    for score in summary["scores"]:
        score["reasons"] = sum(score["reasons"].values())
    return {**summary, "stopped": None, "complete": None}


def scorer(**options: Any) -> BatchScorer:
    """Return a scorer of totals in small cells, so that a few rows are many parts."""
    small: dict[str, Any] = {"part_size": 2, "buckets": 3, "position": "place"}
    return BatchScorer(IdRecall(), keep="summary", **(small | options))


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


def tree(made: list[Table], rng: random.Random, *, often: int) -> list[Table]:
    """Return tables merged along a random tree, where each may be taken more than once."""
    how = scorer()
    for _ in range(often):
        some = [made[rng.randrange(len(made))] for _ in range(rng.randint(1, 3))]
        whole = how._whole_of(map(batches.table_of, some))
        made.append(how._totals_columns(whole))
    return made


@settings(max_examples=RUNS, deadline=None)
@given(
    cuts=st.lists(st.integers(0, ROWS), max_size=12),
    scattered=st.booleans(),
    lost=st.sets(st.integers(0, 12), max_size=4),
    way=st.sampled_from(["at once", "along a tree", "by key"]),
    rng=st.randoms(use_true_random=False),
)
def test_any_splits_orders_repeats_and_losses(
    cuts: list[int], lost: set[int], way: str, rng: random.Random, *, scattered: bool
) -> None:
    """The merged summary is that of one run over the rows that came, and says which did not."""
    places = list(range(ROWS))
    if scattered:
        rng.shuffle(places)
    edges = sorted({0, *cuts, ROWS})
    parts = [places[start:end] for start, end in pairwise(edges)]
    kept = [part for number, part in enumerate(parts) if number not in lost]
    how = scorer()
    made = [how(table(part)) for part in kept]
    made += [made[rng.randrange(len(made))] for _ in range(rng.randint(0, 6)) if made]
    rng.shuffle(made)
    if way == "along a tree" and made:
        made = tree(made, rng, often=rng.randint(1, 8))
    elif way == "by key":
        made = [how.merged(each) for each in by_key(made)]
        made += made[:2]
    rng.shuffle(made)
    report = how.report(made, rows=ROWS)

    there = sorted(place for part in kept for place in part)
    assert figures(report) == figures(plain(there))
    assert len(report) == len(there)
    assert report.complete == (len(there) == ROWS)
    missing = without(((0, ROWS - 1),), runs_of(there))
    if missing:
        told = f"{count(missing)} of {ROWS} rows are missing: {in_words(missing)}"
        assert report.stopped == told
    assert report.bad_rows.keys() == {place for place in there if place % 13 == 7}


@settings(max_examples=RUNS // 2, deadline=None)
@given(
    one=st.lists(st.integers(0, ROWS), max_size=6),
    other=st.lists(st.integers(0, ROWS), max_size=6),
    rng=st.randoms(use_true_random=False),
)
def test_other_cuts_of_the_same_rows(one: list[int], other: list[int], rng: random.Random) -> None:
    """Parts that overlap and differ are refused, unless what they hold is there anyway.

    Of groups a bucket has no part where it has none of them, and cannot tell: refused, or right.
    """
    how = scorer(part_size=16)
    edges = [sorted({0, *cuts, ROWS}) for cuts in (one, other)]
    ranges = [range(a, b) for each in edges for a, b in pairwise(each)]
    rng.shuffle(ranges)
    # Each cutting alone covers every cell.
    report = how.report([how(table(part) | alone(part)) for part in ranges], rows=ROWS)
    assert figures(report) == figures(plain(range(ROWS), grouped=False))
    assert report.complete
    with suppress(ReportError):
        report = how.report([how(table(part)) for part in ranges], rows=ROWS)
        assert figures(report) == figures(plain(range(ROWS)))
        assert report.complete

    overlapping = [how(table(range(5))), how(table(range(3, 9)))]
    rng.shuffle(overlapping)
    with pytest.raises(ReportError, match=r"rows 3 to 4 are in two parts that are not the same"):
        how.report(overlapping, rows=ROWS)


def test_other_cuts_of_a_last_cell_that_is_shorter() -> None:
    """Of its pieces too those are taken that lie end to end, though others begin sooner."""
    how = scorer(part_size=16)
    parts = [range(33), range(33, 40), range(34), range(34, 35), range(35, 40)]
    report = how.report([how(table(part) | alone(part)) for part in parts[::-1]], rows=40)
    assert figures(report) == figures(plain(range(40), grouped=False))
    assert report.complete


def test_merging_is_associative_commutative_and_idempotent() -> None:
    """`merge(merge(a, b), merge(a, c))` is the whole, to the byte, in any order."""
    how = scorer()
    a, b, c = (how(table(range(start, start + 16))) for start in (0, 16, 32))

    def merge(*some: Table) -> Table:
        return how._totals_columns(how._whole_of(map(batches.table_of, some)))

    expected = merge(a, b, c)
    assert merge(merge(a, b), merge(a, c)) == expected
    assert merge(c, merge(b, a), c, c) == merge(merge(c), merge(b), merge(a)) == expected
    assert merge(expected, expected) == expected


def test_the_whole_is_small() -> None:
    """Cells that are whole become one, 16 at a time: a million rows in 1,000 parts keep few."""
    sizes = []
    parts: Parts[Sum] = Parts(1_000)
    order = list(range(1_000))
    random.Random(1).shuffle(order)
    for place in order:
        parts.add(((place * 1_000, place * 1_000 + 999),), Sum(1))
        sizes.append(len(parts.to_dict()["whole"]))
    assert parts.covered == ((0, 999_999),)
    assert sum(content.value for content in parts.contents()) == 1_000
    assert sizes[-1] == 3 + 14 + 8  # 1,000 = 3·256 + 14·16 + 8
    in_order: Parts[Sum] = Parts(1_000)
    for place in range(1_000):
        in_order.add(((place * 1_000, place * 1_000 + 999),), Sum(1))
        assert len(in_order.to_dict()["whole"]) < 3 * 16
    assert in_order.to_dict() == parts.to_dict()


class Sum:
    """A number, as what a part holds."""

    def __init__(self, value: int) -> None:
        self.value = value

    def merged(self, others: Any) -> Sum:
        """Return the sum of all."""
        return Sum(sum((one.value for one in others), self.value))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"value": self.value}


class TestGroups:
    """Samples of one group lie in any part; each group counts once."""

    def made(self) -> tuple[BatchScorer, list[Table]]:
        """Return a scorer and what it makes of eight batches."""
        how = scorer()
        return how, [how(table(range(start, start + 6))) for start in range(0, ROWS, 6)]

    def test_merged_groups_have_no_names(self) -> None:
        """What a bucket's worker sends on is one value for each group, and small."""
        how, made = self.made()
        merged = [how.merged(each) for each in by_key(made)]
        texts = [text for each in merged for text in each["fullrecall_totals"]]
        assert '"g3"' in str(made)
        assert not any('"g3"' in text for text in texts)
        summary = how.report(merged, rows=ROWS).summary()[0]
        assert summary.main.groups == plain(range(ROWS)).summary()[0].main.groups
        assert summary.bounds == plain(range(ROWS)).summary()[0].bounds

    @pytest.mark.parametrize("threshold", [0.2, 0.4, 0.9])
    def test_a_gate_decides_the_same(self, threshold: float) -> None:
        """Gaps in groups at their worst and at their best are merged exactly, too."""
        how, made = self.made()
        merged = [how.merged(each) for each in by_key(made)]
        gate = Gate(Recall >= threshold)
        mine, expected = gate.check(how.report(merged, rows=ROWS)), gate.check(plain(range(ROWS)))
        assert mine.to_dict() == expected.to_dict()

    def test_a_bucket_that_was_lost(self) -> None:
        """Parts are there and their groups are not: no summary is made of the rest."""
        how, made = self.made()
        merged = [how.merged(each) for each in by_key(made)]
        (lost,) = [each for each in merged if each["fullrecall_key"] == [1]]
        with pytest.raises(ReportError, match="the groups of bucket 1 are not those of the parts"):
            how.report([each for each in merged if each is not lost], rows=ROWS)

    def test_merged_without_grouping(self) -> None:
        """A group that is in two merges would count twice."""
        how, made = self.made()
        with pytest.raises(ReportError, match=r"merged in two places: group by .*fullrecall_key"):
            how.report([how.merged(each) for each in made], rows=ROWS)


class TestIdentity:
    """Parts of other scorers, judges and prompts do not add up."""

    @pytest.mark.parametrize(
        ("other", "what"),
        [
            (lambda judge: ClaimRecall(judge=judge, partial_credit=0.5), "scorers"),
            (lambda judge: ClaimRecall(judge=LLMJudge(judge.model, window=999)), "judges"),
            (
                lambda judge: ClaimRecall(
                    judge=LLMJudge(judge.model, prompts=Prompts(version="mine"))
                ),
                "judges",
            ),
        ],
    )
    @pytest.mark.parametrize("keep", ["rows", "summary"])
    def test_another_way(self, other: Callable[[Any], Any], what: str, keep: Any) -> None:
        """The error says which of them differ."""
        judge = LLMJudge(ScriptedChatModel([]))
        batch = {"place": [0], "reference_claims": [["c"]], "retrieved_contexts": [[]]}
        ours, theirs = (
            BatchScorer(how, position="place", keep=keep)
            for how in (ClaimRecall(judge=judge), other(judge))
        )
        with pytest.raises(ReportError, match=f"scored with other {what}"):
            ours.report(theirs(batch), rows=1)

    def test_other_cells(self) -> None:
        """Parts in cells of two sizes cannot be told apart."""
        with pytest.raises(ReportError, match=r"of 2 and of 3 rows do not add up: .*part_size"):
            scorer().report(scorer(part_size=3)(table(range(6))), rows=6)

    def test_a_plan_is_needed(self) -> None:
        """Without one, nobody knows whether the last part was lost."""
        with pytest.raises(ReportError, match="rows is missing: pass rows="):
            scorer().report(scorer()(table(range(6))))

    def test_rows_beyond_the_plan(self) -> None:
        """They are no part of it: the report is not what was planned."""
        report = scorer().report(scorer()(table(range(6))), rows=range(1, 4))
        assert report.stopped == "rows that are not planned are there: 0, 4 to 5"


class TestFailures:
    """A batch that raises is tried again, and then missing, with the error."""

    @pytest.fixture(autouse=True)
    def no_pause(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Do not wait between two tries."""
        monkeypatch.setattr(batches, "_PAUSE_SECONDS", 0)

    @staticmethod
    def failing(monkeypatch: pytest.MonkeyPatch, when: Callable[[list[int]], bool]) -> None:
        """Have `_scored` raise for batches of such positions."""
        scored = BatchScorer._scored

        def fail(self: BatchScorer, read: Any, positions: list[int]) -> Any:
            if when(positions):
                raise MemoryError("out of memory")
            return scored(self, read, positions)

        monkeypatch.setattr(BatchScorer, "_scored", fail)

    @pytest.mark.parametrize("keep", ["rows", "summary"])
    def test_always(self, keep: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """The report of the others, incomplete, with the error; a later success makes it whole."""
        how = scorer() if keep == "summary" else BatchScorer(IdRecall(), position="place")
        with monkeypatch.context() as patch:
            self.failing(patch, lambda positions: 20 in positions)
            made = [how(table(range(start, start + 16))) for start in (0, 16, 32)]
        report = how.report(made, rows=ROWS)
        assert figures(report) == figures(plain([*range(16), *range(32, ROWS)]))
        assert report.stopped == (
            "16 of 48 rows are missing: 16 to 31; rows 16 to 31 failed: MemoryError: out of memory"
        )
        report = how.report([*made, how(table(range(16, 32)))], rows=ROWS)
        assert report.complete
        assert figures(report) == figures(plain(range(ROWS)))

    def test_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A second try that works leaves no trace."""
        failed: list[int] = []

        def first(positions: list[int]) -> bool:
            failed.append(positions[0])
            return len(failed) == 1

        self.failing(monkeypatch, first)
        report = scorer().report(scorer()(table(range(ROWS))), rows=ROWS)
        assert failed == [0, 0]
        assert report.complete
        assert figures(report) == figures(plain(range(ROWS)))

    def test_raised_on_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """For an engine that is to try elsewhere."""
        self.failing(monkeypatch, lambda _: True)
        with pytest.raises(MemoryError):
            scorer(failed_batches="raise")(table(range(4)))

    def test_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of many failures the first are quoted, the others counted."""
        self.failing(monkeypatch, lambda _: True)
        made = [scorer()(table([start])) for start in range(9)]
        told = scorer().report(made, rows=9).stopped
        assert told is not None
        assert told.count("MemoryError") == 3
        assert told.endswith("6 more batches failed, of rows 3 to 8")


class TestBadRows:
    """A row that is no sample is unscored, with its reason, and ends nothing."""

    def test_it_is_counted_and_named(self) -> None:
        """In the table, in the report's rows, in its summary, and by position."""
        how = BatchScorer(IdRecall(), position="place")
        scores = how(table(range(ROWS)))
        bad = {place for place in range(ROWS) if place % 13 == 7}
        problem = "retrieved_context_ids: expected a list, got the str 'no list'"
        told = {n: why for n, why in enumerate(scores["fullrecall_problem"]) if why is not None}
        assert told.keys() == bad
        assert all(why.startswith(problem) for why in told.values())
        report = how.report(scores, rows=ROWS)
        assert report.bad_rows == told
        assert report.complete
        assert {row.position - 1 for row in report if "bad row" in row.results[0].note} == bad
        assert report.rows[20].sample.id is None  # a 20 % 5 == 0 has none
        assert report.rows[7].sample.id == "q7"
        assert report.rows[7].sample.group == "g7"
        reasons = report.summary()[0].reasons
        assert sum(n for why, n in reasons.items() if why.startswith("bad row: ")) == len(bad)

    def test_raised_on_request(self) -> None:
        """The first one, by its position."""
        with pytest.raises(InputError, match="sample 7: retrieved_context_ids: expected a list"):
            scorer(bad_rows="raise")(table(range(ROWS)))

    @pytest.mark.parametrize(
        "cells",
        [
            {"expected_ids": {"d1": float("nan")}},
            {"retrieved_contexts": [{"text": 5}]},
            {"id": [1]},
            {"group": {"a": 1}},
            {"metadata": "text"},
            {"reference_claims": 5},
            {"user_input": b"\xff"},
        ],
    )
    def test_whatever_is_wrong(self, cells: dict[str, Any]) -> None:
        """One row of any other form leaves its neighbors as they are."""
        good: dict[str, Any] = {"place": 0, "retrieved_ids": ["a"], "expected_ids": ["a"]}
        every = [good, good | cells | {"place": 1}, good | {"place": 2}]
        names = {name for each in every for name in each}
        how = BatchScorer(IdRecall(), position="place")
        scores = how({name: [each.get(name) for each in every] for name in names})
        report = how.report(scores, rows=3)
        assert [row.results[0].score for row in report] == [1.0, None, 1.0]
        assert list(report.bad_rows) == [1]

    def test_the_first_thousand_are_kept(self) -> None:
        """However many there are, and in whatever order: totals stay small."""
        how = scorer(part_size=500)
        made = [
            how({"place": list(range(n, n + 500)), "retrieved_ids": ["x"] * 500})
            for n in range(0, 3_000, 500)
        ]
        for some in (made, made[::-1]):
            report = how.report(some, rows=3_000)
            assert list(report.bad_rows) == list(range(1_000))
            assert report.summary()[0].unscored == 3_000


class TestRanges:
    """Runs of whole numbers, against sets."""

    @given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
    def test_against_sets(self, one: set[int], other: set[int]) -> None:
        """Union, difference, size and cutting are those of sets."""

        def numbers(runs: Runs) -> set[int]:
            return {n for first, last in runs for n in range(first, last + 1)}

        a, b = runs_of(one), runs_of(other)
        assert numbers(a) == one
        assert count(a) == len(one)
        assert joined([*a, *b]) == runs_of(one | other)
        assert without(a, b) == runs_of(one - other)
        pieces = list(cut(a, 7))
        assert numbers(tuple(pieces)) == one
        assert all(first // 7 == last // 7 for first, last in pieces)

    def test_words(self) -> None:
        """The first few are named."""
        assert in_words(((5, 5), (1_000, 2_000))) == "5, 1,000 to 2,000"
        told = in_words(runs_of(range(0, 20, 2)))
        assert told == "0, 2, 4, 6, 8, and 5 more ranges"

    def test_plans(self) -> None:
        """A number of rows, a range, or several."""
        assert planned_runs(5) == planned_runs(range(5)) == planned_runs([range(5)]) == ((0, 4),)
        assert planned_runs([range(3), range(10, 12)]) == ((0, 2), (10, 11))
        assert planned_runs(range(0, 6, 2)) == ((0, 0), (2, 2), (4, 4))
        assert planned_runs(0) == planned_runs([]) == ()


def test_a_scorer_of_totals_is_pickled() -> None:
    """It works the same in a worker."""
    again = pickle.loads(pickle.dumps(scorer()))  # noqa: S301
    assert again(table(range(9))) == scorer()(table(range(9)))


class TestColumns:
    """Arrow columns of IDs are counted as arrays: the totals are the same, to the byte."""

    @settings(max_examples=60, deadline=None)
    @given(
        rows=st.lists(
            st.fixed_dictionaries({
                "retrieved_ids": st.none()
                | st.lists(st.sampled_from([*"abcdefgh", "", None]), max_size=12),
                "expected_ids": st.none()
                | st.lists(st.sampled_from([*"abcxyz", "", None]), max_size=4),
                "id": st.none() | st.sampled_from(["q1", "q2", "", "é"]),
                "group": st.none() | st.sampled_from(["g1", "g2", ""]),
                "user_input": st.none() | st.just("question"),
            }),
            max_size=30,
        ),
        whole=st.booleans(),
        part_size=st.sampled_from([3, 1_000]),
    )  # fmt: skip
    def test_as_row_by_row(
        self, rows: list[dict[str, Any]], part_size: int, *, whole: bool
    ) -> None:
        """Rows with gaps, bad rows, none of references, groups, repeated IDs; whole numbers too."""
        pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
        if whole:
            for each in rows:
                for name in ("retrieved_ids", "expected_ids"):
                    each[name] = each[name] and [ord(one) if one else None for one in each[name]]
        ids = pa.list_(pa.int64() if whole else pa.string())
        kinds = {name: pa.string() for name in ("id", "group", "user_input")}
        kinds |= {"retrieved_ids": ids, "expected_ids": ids, "place": pa.int64()}
        numbered = [each | {"place": place} for place, each in enumerate(rows)]
        arrow = pa.Table.from_pylist(numbered, schema=pa.schema(kinds.items()))
        how = scorer(part_size=part_size)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BatchScorer, "_count_columns", lambda *_: None)
            expected = how(arrow).to_pydict()
        assert how(arrow).to_pydict() == expected

    @pytest.mark.parametrize(
        ("change", "counted"),
        [
            ({}, True),
            ({"metadata": [{"a": 1}] * 3}, False),
            ({"reference_contexts": [["a"]] * 3}, False),
            ({"expected_ids": [["a"], ["a", None], ["b"]]}, True),
            ({"expected_ids": [["a"], [""], ["b"]]}, True),
            ({"expected_ids": [[1.5], [1.5], [1.5]]}, False),
            ({"group": [True, False, True]}, False),
            ({"retrieved_ids": [["a"], None, ["b"]]}, True),
        ],
    )
    def test_which_columns(self, change: dict[str, Any], *, counted: bool) -> None:
        """Whatever rows are needed for is read row by row."""
        pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
        columns = {"place": [0, 1, 2], "retrieved_ids": [["a"]] * 3, "expected_ids": [["a"]] * 3}
        read = batches.table_of(pa.table(columns | change))
        how = scorer()
        assert (how._count_columns(read, how._tallies) is not None) == counted

    @pytest.mark.parametrize(
        "how",
        [
            BatchScorer(TextRecall(), keep="summary", position="place"),
            BatchScorer([IdRecall(), TextRecall()], keep="summary", position="place"),
        ],
    )
    def test_which_scorers(self, how: BatchScorer) -> None:
        """Other scorers look at findings."""
        pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
        columns = {"place": [0], "retrieved_ids": [["a"]], "expected_ids": [["a"]]}
        read = batches.table_of(pa.table(columns))
        assert how._count_columns(read, how._tallies) is None
