"""Budgets: what a measure counts of the calls, tokens and seconds that were paid for."""

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from fullrecall import Gate, IdRecall, Report, Retrieval, Sample, compare, evaluate
from fullrecall.calls import Call
from fullrecall.errors import ParameterError
from fullrecall.findings import Finding, Findings, Step, Target
from fullrecall.measures import (
    AP,
    F1,
    RR,
    AllFound,
    Budget,
    Hit,
    Leak,
    Measure,
    Precision,
    Recall,
    calls,
    nDCG,
    parse,
    seconds,
    tokens,
)
from fullrecall.result import Method, Result, Status
from fullrecall.views.comparisons import verdict_of

_MEASURES = (Recall, Precision, F1, Hit, AllFound, RR, AP, nDCG)
_RISING = (Recall, Hit, AllFound)


def _agent(gold_call: int, of: int) -> Retrieval:
    """Return `of` calls of ten contexts each, the target first in one of them."""
    lists = [
        [
            {"id": "gold" if (call, rank) == (gold_call, 1) else f"{call}.{rank}", "text": "x" * 40}
            for rank in range(1, 11)
        ]
        for call in range(1, of + 1)
    ]
    placed = [
        (rank, call, lists[call - 1][rank - 1])
        for rank in range(1, 11)
        for call in range(1, of + 1)
    ]
    return Retrieval(
        [context for _, _, context in placed],
        ranks=[rank for rank, _, _ in placed],
        call_numbers=[call for _, call, _ in placed],
        seconds=[0.5 * call for _, call, _ in placed],
        calls=[Call("search", f"q{call}", lists[call - 1]) for call in range(1, of + 1)],
    )


def _report(gold_call: int) -> Report:
    samples = [
        Sample(id=str(n), reference_context_ids=["gold"], retrieval=_agent(gold_call, 20))
        for n in range(40)
    ]
    return evaluate(samples, IdRecall())


def _random_sample(rng: random.Random) -> Sample:
    count = rng.randint(0, 8)
    names = rng.sample("abcdefgh", count)
    united = rng.random() < 0.5
    ranks = sorted(rng.randint(1, 4) for _ in names) if united else None
    retrieval = Retrieval(
        [{"id": name, "text": f"{nth}" * rng.randint(1, 30)} for nth, name in enumerate(names)],
        ranks=ranks,
        call_numbers=[rng.randint(1, 4) for _ in names],
        seconds=[rng.random() for _ in names],
        calls=[Call("a", contexts=[]), Call("b", contexts=[])],
    )
    references = [rng.sample("abcdefgh", rng.randint(1, 3)) for _ in range(rng.randint(1, 4))]
    graded = [{"any_of": group, "grade": rng.choice([1, 2, 3])} for group in references]
    return Sample(reference_context_ids=graded, retrieval=retrieval, forbidden_ids=["z"])


def _order_read(sample: Sample) -> list[int]:
    """Return the contexts' indices in the order in which they were read."""
    record = sample.retrieval
    assert record is not None
    assert record.call_numbers is not None
    order = list(range(len(record.call_numbers)))
    return sorted(order, key=record.call_numbers.__getitem__) if record.ranks else order


def _paid(sample: Sample, budget: Budget) -> Sample:
    """Return the sample as if only what a budget pays for had been retrieved."""
    record = sample.retrieval
    assert record is not None
    assert record.contexts is not None
    assert record.call_numbers is not None
    assert record.seconds is not None
    read, total = {}, 0.0
    for index in _order_read(sample):
        total += len(record.contexts[index].text or "") / 4
        read[index] = total
    cost = {
        "calls": record.call_numbers.__getitem__,
        "seconds": record.seconds.__getitem__,
        "tokens": read.__getitem__,
    }[budget.unit]
    kept = [index for index in range(len(record.contexts)) if cost(index) <= budget.amount]
    ranks = None if record.ranks is None else [record.ranks[index] for index in kept]
    return sample.with_retrieval(Retrieval([record.contexts[index] for index in kept], ranks=ranks))


def test_a_budget_counts_as_if_nothing_else_had_been_retrieved() -> None:
    """Every measure within a budget is that of the contexts that the budget pays for."""
    rng = random.Random(7)
    for _ in range(400):
        sample = _random_sample(rng)
        budget = rng.choice([calls(rng.randint(1, 4)), tokens(rng.randint(1, 60)), seconds(0.4)])
        whole, left = IdRecall().score(sample), IdRecall().score(_paid(sample, budget))
        for measure in _MEASURES:
            assert whole[measure @ budget] == left[measure], (measure, budget, sample)


def test_a_budget_that_pays_for_all_changes_nothing() -> None:
    """With enough of anything a measure is what it is without a budget."""
    rng = random.Random(8)
    for _ in range(200):
        result = IdRecall().score(_random_sample(rng))
        for measure in _MEASURES:
            for budget in (calls(4), tokens(10_000), seconds(1)):
                assert result[measure @ budget] == result[measure]


def test_measures_rise_with_the_budget() -> None:
    """Recall, a hit and all found never fall as more is paid for."""
    rng = random.Random(9)
    for _ in range(200):
        result = IdRecall().score(_random_sample(rng))
        for measure in _RISING:
            for budgets in (map(calls, range(1, 5)), map(tokens, range(1, 80, 7))):
                values = [result[measure @ budget] or 0.0 for budget in budgets]
                assert all(later >= earlier for earlier, later in pairwise(values))


def test_a_table_reads_what_a_result_reads() -> None:
    """Columns of many samples give what each sample gives by itself."""
    rng = random.Random(10)
    samples = [_random_sample(rng) for _ in range(60)]
    report = evaluate(samples, IdRecall())
    for measure in _MEASURES:
        for budget in (calls(2), tokens(30), seconds(0.5)):
            alone = [IdRecall().score(sample)[measure @ budget] for sample in samples]
            assert report.table.values(0, measure @ budget).tolist() == alone


def test_credit_of_several_contexts_needs_all_of_them() -> None:
    """A target that two contexts support together is found once both are paid for."""
    sample = Sample(
        retrieval=Retrieval(
            [{"id": "a", "text": "a"}, {"id": "b", "text": "b"}],
            call_numbers=[2, 1],
            calls=[Call("s"), Call("s")],
        )
    )
    joint = Finding(Target(("c",)), (Step(2, 1.0),), (1, 2))
    halves = Finding(Target(("c",)), (Step(1, 0.5), Step(2, 1.0)), (1, 2))
    method = Method("claims")
    for finding, first in ((joint, 0.0), (halves, 0.5)):
        result = Result(method, Status.SCORED, (finding,), 2).asked_of(sample)
        assert result[Recall @ calls(1)] == first
        assert result[Recall @ calls(2)] == 1.0


def test_a_measure_of_ones_own_counts_what_is_paid_for() -> None:
    """A measure that counts findings sees those within the budget, by rank."""

    class FoundFirst(Measure):
        text = "found_first_paid"

        def count(self, findings: Findings, retrieved: int) -> float:
            return sum(finding.rank == 1 for finding in findings) / len(findings)

    late, early = _report(20), _report(1)
    assert late.table.values(0, FoundFirst() @ calls(3))[0] == 0.0
    assert late.table.values(0, FoundFirst() @ calls(20))[0] == 1.0
    assert early.table.values(0, FoundFirst() @ calls(1))[0] == 1.0


def test_two_agents_are_told_apart() -> None:
    """A target of the 20th call is worth less than one of the first, within three calls."""
    early, late = _report(1), _report(20)
    comparison = compare(early, late, Recall @ 1, Recall @ calls(3))
    words = [str(verdict_of(one)) for one in comparison["id_recall"].differences.values()]
    assert [word.lower() for word in words] == ["unchanged", "worse"]
    gate = Gate(Recall @ calls(3) >= 0.9)
    assert gate.check(early).outcome == "pass"
    assert gate.check(late).outcome == "fail"
    assert Gate(Recall @ calls(3), margin=0.02).check(late, early).outcome == "fail"
    page = comparison.to_html()
    assert "id_recall@3calls" in page


def test_the_summary_says_after_which_call_to_stop() -> None:
    """Recall over calls, the last gain, and the share of the tokens up to it."""
    samples = [
        Sample(reference_context_ids=["gold"], retrieval=_agent(1 + n % 4, 5)) for n in range(8)
    ]
    summary = evaluate(samples, IdRecall()).summary()
    curve = summary[0].over_calls
    assert curve is not None
    assert curve.means == (0.25, 0.5, 0.75, 1.0, 1.0)
    assert curve.last_gain == 4
    assert curve.gains == (0.25, 0.25, 0.25, 0.25, 0.0)
    assert "stop after call 4: the same recall, 80% of the tokens" in " ".join(str(summary).split())


def test_what_is_not_known_is_undefined() -> None:
    """A cost that was not recorded makes no number."""
    bare = Sample(reference_context_ids=["a"], retrieved_context_ids=["a"])
    result = IdRecall().score(bare)
    assert result[Recall @ calls(1)] == 1.0
    assert result[Recall @ tokens(10)] is None
    assert result[Recall @ seconds(10)] is None
    empty = Sample(reference_context_ids=["a"], retrieved_context_ids=[])
    assert IdRecall().score(empty)[Recall @ tokens(10)] == 0.0


def test_a_context_may_tell_its_tokens() -> None:
    """What the metadata of a context says goes before the estimate."""
    contexts = [{"id": "a", "text": "x" * 400, "metadata": {"tokens": 3}}, {"id": "b", "text": "y"}]
    result = IdRecall().score(reference_context_ids=["a", "b"], retrieved_contexts=contexts)
    assert result[Recall @ tokens(2)] == 0.0
    assert result[Recall @ tokens(3)] == 0.5
    assert result[Recall @ tokens(4)] == 1.0


@pytest.mark.parametrize("name", ["report.jsonl", "report.parquet"])
def test_saved_reports_keep_what_budgets_read(tmp_path: Path, name: str) -> None:
    """A budget may be asked of a saved report."""
    rng = random.Random(11)
    report = evaluate([_random_sample(rng) for _ in range(30)], IdRecall())
    report.save(tmp_path / name)
    loaded = Report.load(tmp_path / name)
    for budget in (calls(2), tokens(30), seconds(0.5)):
        values = [one.table.values(0, Recall @ budget).tolist() for one in (report, loaded)]
        assert values[0] == values[1]


@pytest.mark.parametrize(
    ("text", "measure", "written"),
    [
        ("recall@3calls", Recall @ calls(3), "Recall @ calls(3)"),
        ("recall@4000tokens", Recall @ tokens(4000), "Recall @ tokens(4000)"),
        ("recall@2s", Recall @ seconds(2), "Recall @ seconds(2)"),
        ("leak@2.5s", Leak @ seconds(2.5), "Leak @ seconds(2.5)"),
    ],
)
def test_text_forms(text: str, measure: Measure, written: str) -> None:
    """A budget is parsed as it is named, and as Python writes it."""
    assert parse(text) == parse(written) == measure
    assert measure.name == text
    assert repr(measure) == written


@pytest.mark.parametrize(
    "wrong", [lambda: calls(0), lambda: calls(1.5), lambda: tokens(-1), lambda: seconds(0),
              lambda: seconds(float("nan")), lambda: parse("recall@0calls"),
              lambda: parse("recall@1.5calls"), lambda: parse("recall@3rounds")],
)  # fmt: skip
def test_amounts_that_are_none(wrong: Callable[[], object]) -> None:
    """A budget of nothing, or of a part of a call, is an error."""
    with pytest.raises(ParameterError):
        wrong()
