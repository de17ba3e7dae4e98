"""However a data set is split, repeated and lost, nothing is miscounted."""

from __future__ import annotations

import pickle
import random
from itertools import pairwise
from typing import Any

import pytest
from fullrecall.distributed.ranges import count, in_words, runs_of, without
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.distributed.totals.made import (
    MEASURES,
    ROWS,
    RUNS,
    Table,
    alone,
    by_key,
    figures,
    only,
    plain,
    scorer,
    table,
    tree,
)

from fullrecall.distributed.tables import table_of as table_of_batch
from fullrecall.distributed.totals.parts import Parts
from fullrecall.distributed.totals.summed_rows import columns_of
from fullrecall.errors import ReportError


@settings(max_examples=RUNS, deadline=None)
@given(
    cuts=st.lists(st.integers(0, ROWS), max_size=12),
    scattered=st.booleans(),
    lost=st.sets(st.integers(0, 12), max_size=4),
    way=st.sampled_from(["at once", "along a tree", "by key"]),
    rng=st.randoms(use_true_random=False),
    several=st.booleans(),
)
def test_any_splits_orders_repeats_and_losses(
    cuts: list[int], lost: set[int], way: str, rng: random.Random, *, scattered: bool, several: bool
) -> None:
    """The merged summary is that of one run over the rows that came, and says which did not."""
    places = list(range(ROWS))
    if scattered:
        rng.shuffle(places)
    edges = sorted({0, *cuts, ROWS})
    parts = [places[start:end] for start, end in pairwise(edges)]
    kept = [part for number, part in enumerate(parts) if number not in lost]
    how = scorer(several=several)
    made = [how(table(part)) for part in kept]
    made += [made[rng.randrange(len(made))] for _ in range(rng.randint(0, 6)) if made]
    rng.shuffle(made)
    if way == "along a tree" and made:
        made = tree(how, made, rng, often=rng.randint(1, 8))
    elif way == "by key":
        made = [how.merged(each) for each in by_key(made)]
        made += made[:2]
    rng.shuffle(made)
    report = how.report(made, rows=ROWS)

    there = sorted(place for part in kept for place in part)
    measures = MEASURES if several else ()
    assert figures(report, *measures) == figures(plain(there, several=several), *measures)
    assert len(report) == len(there)
    assert report.complete == (len(there) == ROWS)
    missing = without(((0, ROWS - 1),), runs_of(there))
    if missing:
        told = f"{count(missing)} of {ROWS} rows are missing: {in_words(missing)}"
        assert report.stopped == told
    assert report.bad_rows.keys() == {place for place in there if place % 13 == 7}


@settings(max_examples=RUNS // 4, deadline=None)
@given(
    one=st.lists(st.integers(0, ROWS), max_size=6),
    other=st.lists(st.integers(0, ROWS), max_size=6),
    rng=st.randoms(use_true_random=False),
)
def test_other_cuts_of_the_same_rows(one: list[int], other: list[int], rng: random.Random) -> None:
    """Parts that overlap and differ are refused, unless what they hold is there anyway."""
    how = scorer(part_size=16)
    edges = [sorted({0, *cuts, ROWS}) for cuts in (one, other)]
    ranges = [range(a, b) for each in edges for a, b in pairwise(each)]
    rng.shuffle(ranges)
    # Each cutting alone covers every cell.
    report = how.report([how(table(part) | alone(part)) for part in ranges], rows=ROWS)
    assert figures(report) == figures(plain(range(ROWS), grouped=False))
    assert report.complete
    made = [how(table(part)) for part in ranges]
    for each in (made, [how.merged(one) for one in by_key(made)]):
        report = how.report(each, rows=ROWS)
        assert figures(report) == figures(plain(range(ROWS)))
        assert report.complete
    few = [how(table(part) | only(part, {7, 9, 30})) for part in ranges]
    grouped = plain(range(ROWS), kept={7, 9, 30})
    for each in (few, [how.merged(one) for one in by_key(few)]):
        assert figures(how.report(each, rows=ROWS)) == figures(grouped)

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
        return columns_of(how._kept.whole_of(map(table_of_batch, some)))

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


def test_a_scorer_of_totals_is_pickled() -> None:
    """It works the same in a worker."""
    again = pickle.loads(pickle.dumps(scorer()))  # noqa: S301
    assert again(table(range(9))) == scorer()(table(range(9)))
