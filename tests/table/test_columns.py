"""Measures over columns equal their formulas, computed row by row."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from math import fsum, log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullrecall import IdRecall, evaluate
from fullrecall.measures import (
    AP,
    F1,
    RR,
    AllFound,
    Hit,
    MeanPrecision,
    Measure,
    Precision,
    Recall,
    nDCG,
)
from fullrecall.measures.findings import CreditStep, Finding, Target, by_rank
from fullrecall.measures.found import FoundColumns
from fullrecall.measures.lists import Lists, row_sums
from fullrecall.samples.sample import Sample
from fullrecall.scorers.result import Method, Result, Status
from fullrecall.table.part import MemoryPart
from fullrecall.table.table import Table

METHOD = Method("any")


def at(findings: Any, k: int | None) -> list[float]:
    """Return the credit of each finding within k."""
    return [finding.credit_at(k) for finding in findings]


class Row:
    """One sample for the formulas: findings by rank, relevant ranks, and contexts."""

    def __init__(self, result: Result) -> None:
        self.placed = result.findings
        self.findings = result.ranked
        self.ranks = result.ranks or tuple(range(1, result.retrieved + 1))
        places = sorted({place for finding in self.placed for place in finding.ranks})
        self.relevant = [self.ranks[place - 1] for place in places]
        self.lists = max([self.ranks.count(rank) for rank in self.ranks], default=1)

    def within(self, k: int | None) -> int:
        """Return how many contexts have a rank of at most k."""
        return len(self.ranks) if k is None else bisect_right(self.ranks, k)

    def hits(self, k: int | None) -> int:
        """Return how many contexts within k are relevant."""
        return len(self.relevant) if k is None else bisect_right(self.relevant, k)


def recall(row: Row, k: int | None) -> float:
    """Return the mean credit."""
    return fsum(at(row.findings, k)) / len(row.findings)


def precision(row: Row, k: int | None) -> float:
    """Return relevant contexts over contexts."""
    return row.hits(k) / row.within(k) if row.within(k) else 0.0


def f1(row: Row, k: int | None) -> float:
    """Return the harmonic mean of precision and recall."""
    p, r = precision(row, k), recall(row, k)
    return 2 * p * r / (p + r) if p + r else 0.0


def reciprocal(row: Row, k: int | None) -> float:
    """Return 1 / the first relevant rank."""
    return 1 / row.relevant[0] if row.hits(k) else 0.0


def average_precision(row: Row, k: int | None) -> float:
    """Return the precision at each rank where credit rises, weighted by the rise."""
    terms = []
    for finding in row.findings:
        before = 0.0
        for rank, credit in finding.steps:
            if k is None or rank <= k:
                terms.append((credit - before) * row.hits(rank) / row.within(rank))
            before = credit
    return min(1.0, fsum(terms) / len(row.findings))


def context_precision(row: Row, k: int | None) -> float:
    """Return the mean precision at the relevant ranks."""
    seen = row.relevant[: row.hits(k)]
    shares = [bisect_right(seen, rank) / row.within(rank) for rank in seen]
    return fsum(shares) / len(shares) if shares else 0.0


def ndcg(row: Row, k: int | None) -> float:
    """Return the discounted gain over that of the best order."""
    gains: dict[int, float] = defaultdict(float)
    missing = []
    for finding in row.placed:
        before = 0.0
        for place, credit in finding.steps:
            gains[place] += finding.target.grade * (credit - before)
            before = credit
        missing.append(finding.target.grade * (1.0 - before))
    ideal = sorted([*missing, *gains.values()], reverse=True)
    ideal = ideal if k is None else ideal[: k * row.lists]
    best = fsum(gain / log2(nth // row.lists + 2) for nth, gain in enumerate(ideal))
    by_place = [(row.ranks[place - 1], gain) for place, gain in gains.items()]
    reached = fsum(gain / log2(rank + 1) for rank, gain in by_place if k is None or rank <= k)
    return min(1.0, reached / best) if best else 0.0


FORMULAS = {
    Recall: recall,
    Precision: precision,
    F1: f1,
    RR: reciprocal,
    AP: average_precision,
    MeanPrecision: context_precision,
    nDCG: ndcg,
    Hit: lambda row, k: float(row.hits(k) > 0),
    AllFound: lambda row, k: float(all(finding.found_at(k) for finding in row.findings)),
}


@st.composite
def findings(draw: Any, number: int, retrieved: int) -> Finding:
    """Return a finding: missed, found whole, or in steps."""
    grade = draw(st.sampled_from([1.0, 1.0, 2.0, 0.5]))
    target = Target((f"t{number}",), grade, draw(st.sampled_from([1.0, 40.0])))
    places = st.lists(
        st.integers(1, max(1, retrieved)), max_size=4 if retrieved else 0, unique=True
    )
    ranks = tuple(sorted(draw(places)))
    if not ranks:
        return Finding(target)
    if draw(st.booleans()):
        return Finding(target, (CreditStep(ranks[0], 1.0),), ranks)
    shares = sorted(draw(st.sets(st.floats(0.05, 1.0), min_size=1, max_size=len(ranks))))
    steps = tuple(CreditStep(rank, share) for rank, share in zip(ranks, shares, strict=False))
    return Finding(target, steps, ranks)


@st.composite
def results(draw: Any) -> Result:
    """Return a result of any status, of one list or of a union."""
    status = draw(st.sampled_from([Status.SCORED] * 6 + [Status.UNDEFINED, Status.UNSCORED]))
    if status is not Status.SCORED:
        return Result(METHOD, status, note="why")
    retrieved = draw(st.integers(0, 12))
    count = draw(st.integers(1, 5))
    found = tuple(draw(findings(number, retrieved)) for number in range(count))
    ranks = None
    if retrieved and draw(st.booleans()):
        ranks = tuple(
            sorted(draw(st.lists(st.integers(1, 6), min_size=retrieved, max_size=retrieved)))
        )
    return Result(METHOD, status, found, retrieved, ranks=ranks)


def table_of(some: list[Result]) -> Table:
    """Return a table of results."""
    if not some:
        return Table([METHOD])
    samples = [Sample(id=str(number)) for number in range(len(some))]
    return Table([METHOD], [MemoryPart.of(samples, [[result] for result in some])])


KS = [None, 1, 2, 3, 7, 50]

OTHERS = [
    nDCG(gain="exponential") @ 2,
    Precision(min_grade=1.0),
    Precision(denominator="k") @ 5,
    Recall(weight="size"),
    Recall(weight="grade") @ 3,
    Recall(denominator="k") @ 2,
]


@settings(max_examples=25)
@given(st.lists(results(), min_size=1, max_size=8))
def test_columns_give_what_the_formulas_give(some: list[Result]) -> None:
    """Columns equal the formulas to the last bit; nDCG may differ by one bit."""
    table = table_of(some)
    for measure, formula in FORMULAS.items():
        for k in KS:
            own = measure if k is None else measure @ k
            for value, result in zip(table.values(0, own).tolist(), some, strict=True):
                if result.status is not Status.SCORED:
                    assert np.isnan(value)
                    continue
                expected = formula(Row(result), k)
                assert value == pytest.approx(expected, rel=4e-16, abs=0), own


@settings(max_examples=20)
@given(st.lists(results(), min_size=1, max_size=8), st.randoms())
def test_a_view_reads_what_the_table_has(some: list[Result], rng: Any) -> None:
    """A row's result, the result by itself, and rows in another order give the same numbers."""
    table = table_of(some)
    order = list(range(len(some)))
    rng.shuffle(order)
    parts = [part for piece in (some[:1], some[1:]) for part in table_of(piece).parts]
    turned = Table([METHOD], parts).selected(np.array(order, np.int64))
    for measure in (*FORMULAS, *(measure @ 3 for measure in FORMULAS), *OTHERS):
        alone = [result[measure] for result in some]
        assert [row.results[0][measure] for row in table] == alone
        assert [turned.row(n).results[0][measure] for n in range(len(some))] == [
            alone[n] for n in order
        ]


@settings(max_examples=25)
@given(st.lists(results(), min_size=2, max_size=9), st.integers(1, 8))
def test_parts_give_what_the_whole_gives(some: list[Result], cut: int) -> None:
    """Rows give the same values if added at once, in parts, or one by one."""
    whole, parts, single = table_of(some), Table([METHOD]), Table([METHOD])
    for piece in (some[:cut], some[cut:]):
        if piece:
            for part in table_of(piece).parts:
                parts.add(part)
    for number, result in enumerate(some):
        single.append(Sample(id=str(number)), [result])
    for measure in (Recall, AP @ 4, nDCG, F1 @ 2, Recall(min_grade=2)):
        values = whole.values(0, measure)
        np.testing.assert_array_equal(parts.values(0, measure), values)
        np.testing.assert_array_equal(single.values(0, measure), values)
    np.testing.assert_array_equal(
        FoundColumns.joined([part.columns(0) for part in parts.parts]).relevant.values,
        FoundColumns.joined([part.columns(0) for part in whole.parts]).relevant.values,
    )


@settings(max_examples=40)
@given(st.lists(st.lists(st.floats(1e-6, 1) | st.just(1 / 3), max_size=9)))
def test_sums_are_rounded_once(rows: list[list[float]]) -> None:
    """Sums are rounded as by `math.fsum`, for rows of any length."""
    lists = Lists.of(rows, np.float64)
    assert row_sums(lists.values, lists.offsets).tolist() == [fsum(row) for row in rows]


def test_united_lists_are_read_by_rank() -> None:
    """Measures of a union read ranks, since context 3 may be the second of its own call."""
    finding = Finding(Target(("a",)), (CreditStep(3, 1.0),), (3,))
    assert by_rank((finding,), (1, 1, 2, 2))[0].rank == 2
    result = Result(METHOD, Status.SCORED, (finding,), 4, ranks=(1, 1, 2, 2))
    assert result[Recall @ 1] == 0.0
    assert result[Recall @ 2] == 1.0
    assert result[Precision @ 2] == 0.25


class Half(Measure):
    """A measure of a user's own."""

    text = "half"

    def count(self, findings: Any, retrieved: int) -> float:
        """Return half of the share that is found."""
        return sum(finding.found_at(self.k) for finding in findings) / len(findings) / 2


@settings(max_examples=20)
@given(st.lists(results(), min_size=1, max_size=6))
def test_a_measure_of_a_users_own_counts_views(some: list[Result]) -> None:
    """A user's measure gets each row's findings by rank, if it has any."""
    values = table_of(some).values(0, Half() @ 3)
    for value, result in zip(values.tolist(), some, strict=True):
        if result.status is Status.SCORED:
            assert value == sum(f.found_at(3) for f in result.ranked) / len(result.findings) / 2
        else:
            assert np.isnan(value)


def test_targets_are_told_apart_without_their_results() -> None:
    """A reference of grade 0 is no target, and the order of references does not matter."""
    given: list[Any] = [["a"], {"a": 1, "z": 0}, ["b"], ["a", "b"], {"b": 1, "z": 0, "a": 1}]
    samples = [Sample(retrieved_context_ids=["a"], reference_context_ids=each) for each in given]
    tables = [evaluate([sample], IdRecall(), progress=False).table for sample in samples]
    one, same, other, two, both = (int(table.target_digests(0)[0]) for table in tables)
    assert one == same
    assert two == both
    assert len({one, other, two}) == 3
    whole = evaluate(samples, IdRecall(), progress=False).table
    assert whole.target_digests(0).tolist() == [one, same, other, two, both]
