"""A measure within a budget counts the contexts within these calls, tokens, or seconds."""

import math
import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from fullrecall import Gate, IdRecall, Report, Retrieval, Sample, compare, evaluate
from fullrecall.errors import ParameterError
from fullrecall.measures import (
    AP,
    F1,
    RR,
    AllFound,
    CutBudget,
    Hit,
    Judged,
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
from fullrecall.measures.budgets import Unit, budgets_to
from fullrecall.measures.findings import CreditStep, Finding, Target
from fullrecall.samples.calls import Call
from fullrecall.scorers.result import Method, Result, Status
from fullrecall.stats.change import verdict_of

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


def _paid(sample: Sample, budget: CutBudget) -> Sample:
    """Return the sample as if only the contexts within the budget had been retrieved."""
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
    """Every measure within a budget equals that of the contexts within it alone."""
    rng = random.Random(7)
    for _ in range(50):
        sample = _random_sample(rng)
        budget = rng.choice([calls(rng.randint(1, 4)), tokens(rng.randint(1, 60)), seconds(0.4)])
        whole, left = IdRecall().score(sample), IdRecall().score(_paid(sample, budget))
        for measure in _MEASURES:
            assert whole[measure @ budget] == left[measure], (measure, budget, sample)


def test_measures_rise_with_the_budget() -> None:
    """Recall, Hit and AllFound never fall if the budget rises."""
    rng = random.Random(9)
    for _ in range(15):
        result = IdRecall().score(_random_sample(rng))
        for measure in _RISING:
            for budgets in (map(calls, range(1, 5)), map(tokens, range(1, 80, 7))):
                values = [result[measure @ budget] or 0.0 for budget in budgets]
                assert all(later >= earlier for earlier, later in pairwise(values))


def test_a_table_reads_what_a_result_reads() -> None:
    """The columns of many samples give the same values as each sample by itself."""
    rng = random.Random(10)
    samples = [_random_sample(rng) for _ in range(20)]
    report = evaluate(samples, IdRecall())
    for measure in _MEASURES:
        for budget in (calls(2), tokens(30), seconds(0.5)):
            alone = [IdRecall().score(sample)[measure @ budget] for sample in samples]
            assert report.table.values(0, measure @ budget).tolist() == alone


def test_credit_of_several_contexts_needs_all_of_them() -> None:
    """A target that two contexts support together is found if both are within the budget."""
    sample = Sample(
        retrieval=Retrieval(
            [{"id": "a", "text": "a"}, {"id": "b", "text": "b"}],
            call_numbers=[2, 1],
            calls=[Call("s"), Call("s")],
        )
    )
    joint = Finding(Target(("c",)), (CreditStep(2, 1.0),), (1, 2))
    halves = Finding(Target(("c",)), (CreditStep(1, 0.5), CreditStep(2, 1.0)), (1, 2))
    method = Method("claims")
    for finding, first in ((joint, 0.0), (halves, 0.5)):
        result = Result(method, Status.SCORED, (finding,), 2).asked_of(sample)
        assert result[Recall @ calls(1)] == first
        assert result[Recall @ calls(2)] == 1.0


def test_calls_tell_which_of_them_returned_a_context() -> None:
    """Without call numbers, a context belongs to the first call whose list has it."""
    first, second = [{"id": "a"}], [{"id": "a"}, {"id": "b"}]
    one = Retrieval(second, calls=[Call("search", "q", second)])
    two = Retrieval(second, calls=[Call("search", "q", first), Call("search", "r", second)])
    for record, found in ((one, 1.0), (two, 0.5)):
        result = IdRecall().score(Sample(reference_context_ids=["a", "b"], retrieval=record))
        assert (result[Recall @ calls(1)], result[Recall @ calls(2)]) == (found, 1.0)


@pytest.mark.rooms
def test_two_agents_are_told_apart() -> None:
    """Within three calls, a target of the first call is found, and one of the 20th is not."""
    early, late = _report(1), _report(20)
    comparison = compare(early, late, Recall @ 1, Recall @ calls(3))
    words = [verdict_of(one).text for one in comparison["id_recall"].values()]
    assert [word.lower() for word in words] == ["unchanged", "worse"]
    gate = Gate(Recall @ calls(3) >= 0.9)
    assert gate.check(early).outcome == "pass"
    assert gate.check(late).outcome == "fail"
    assert Gate(Recall @ calls(3), margin=0.02).check(late, early).outcome == "fail"
    page = comparison.to_html()
    assert "id_recall@3calls" in page


def test_the_summary_says_after_which_call_to_stop() -> None:
    """The summary has recall over calls, the last gain, and the share of tokens up to it."""
    samples = [
        Sample(reference_context_ids=["gold"], retrieval=_agent(1 + n % 4, 5)) for n in range(8)
    ]
    summary = evaluate(samples, IdRecall()).summary()
    curve = summary[0].over_calls
    assert curve is not None
    assert curve.means == (0.25, 0.5, 0.75, 1.0, 1.0)
    assert curve.last_gain == 4
    assert curve.new_targets == (2, 2, 2, 2, 0)
    assert "stop after call 4: the same recall, 80% of the tokens" in " ".join(str(summary).split())


def test_a_curve_ends_after_30_calls() -> None:
    """After 30 calls the curve ends: the summary shows the mean over all calls instead."""
    sample = Sample(reference_context_ids=["gold"], retrieval=_agent(32, 33))
    summary = evaluate([sample], IdRecall()).summary()
    curve = summary[0].over_calls
    assert curve is not None
    assert (curve.means, curve.total, curve.last_gain) == ((0.0,) * 30, 1.0, None)
    words = " ".join(str(summary).split())
    assert "after all 33 calls 1.000" in words
    assert "stop after" not in words


def test_what_is_not_known_is_undefined() -> None:
    """A measure within a budget is undefined if the cost was not recorded."""
    bare = Sample(reference_context_ids=["a"], retrieved_context_ids=["a"])
    result = IdRecall().score(bare)
    assert result[Recall @ calls(1)] == 1.0
    assert result[Recall @ tokens(10)] is None
    assert result[Recall @ seconds(10)] is None
    empty = Sample(reference_context_ids=["a"], retrieved_context_ids=[])
    assert IdRecall().score(empty)[Recall @ tokens(10)] == 0.0


def test_a_context_may_tell_its_tokens() -> None:
    """Tokens in a context's metadata take precedence over the estimate."""
    contexts = [{"id": "a", "text": "x" * 400, "metadata": {"tokens": 3}}, {"id": "b", "text": "y"}]
    result = IdRecall().score(reference_context_ids=["a", "b"], retrieved_contexts=contexts)
    assert result[Recall @ tokens(2)] == 0.0
    assert result[Recall @ tokens(3)] == 0.5
    assert result[Recall @ tokens(4)] == 1.0


def test_the_smallest_budget_that_reaches_a_target() -> None:
    """The smallest number of calls, tokens or seconds; each larger one reaches it as well."""
    samples = [
        Sample(reference_context_ids=["gold"], retrieval=_agent(1 + n % 4, 5)) for n in range(200)
    ]
    report = evaluate(samples, IdRecall())
    found = report.smallest_k(0.6, unit="calls")
    assert (found.k, found.mean, found.largest) == (calls(3), 0.75, calls(5))
    assert found.k is not None
    assert report.summary(Recall @ found.k)[0].main.mean == found.mean
    assert "id_recall reaches 0.6 at 3 calls: at least" in found.reason
    assert found.to_dict()["k"] == "3calls"
    assert report.smallest_k(0.6, unit="tokens").k == tokens(250)
    assert report.smallest_k(0.6, unit="seconds").k == seconds(1.6)
    assert "at no budget up to 5 calls" in report.smallest_k(1.0, unit="calls").reason
    with pytest.raises(ParameterError, match="unit must be calls, tokens, seconds, or None"):
        report.smallest_k(0.6, unit="rounds")  # type: ignore[arg-type]  # as a user might
    unknown = evaluate(
        [Sample(reference_context_ids=["a"], retrieved_context_ids=["a"])], IdRecall()
    )
    assert "no sample has a score" in unknown.smallest_k(0.5, unit="seconds").reason


@pytest.mark.parametrize("unit", ["calls", "tokens", "seconds"])
@pytest.mark.parametrize("most", [0.0, 0.0004, 1.0, 3.0, 99.5, 1234.0, 1e6])
def test_budgets_of_a_curve(unit: Unit, most: float) -> None:
    """Budgets rise, only the last covers all calls, and a longer curve extends a shorter one."""
    if unit == "calls" and most > 2000:
        return
    budgets = budgets_to(unit, most)
    amounts = [each.amount for each in budgets]
    assert amounts == sorted(set(amounts))
    assert amounts[-1] >= most
    assert len(amounts) == 1 or amounts[-2] < most
    assert budgets_to(unit, 2 * most + 1)[: len(budgets)] == budgets


def test_a_tokenizer_of_ones_own() -> None:
    """A user's tokenizer counts each text once, and budgets and costs in tokens use its counts."""
    report, seen = _report(1), list[str]()

    def count(text: str) -> int:
        seen.append(text)
        return 7

    by_words = report.with_tokens(count, tokenizer="words")
    assert seen == ["x" * 40]
    values = [one.table.values(0, Recall @ tokens(7)).tolist() for one in (report, by_words)]
    assert values == [[0.0] * 40, [1.0] * 40]
    assert by_words.summary(Recall)[0].mean == report.summary(Recall)[0].mean
    assert by_words.rows[0].results[0][Recall @ tokens(7)] == 1.0
    with pytest.raises(ParameterError, match="whole number of at least 0"):
        report.with_tokens(str.split, tokenizer="words")  # type: ignore[arg-type]  # a list
    with pytest.raises(ParameterError, match="tokenizer must be a name"):
        report.with_tokens(len, tokenizer="")


@pytest.mark.parametrize("name", ["report.jsonl", "report.parquet"])
def test_tokenizers_are_not_mixed_in_silence(tmp_path: Path, name: str) -> None:
    """A summary and a comparison note tokens counted in two ways, also of a saved report."""
    report = _report(1)
    report.with_tokens(len, tokenizer="letters").save(tmp_path / name)
    loaded = Report.load(tmp_path / name)
    assert loaded.summary(Recall @ tokens(40)).tokenizers == ("letters",)
    assert loaded.table.values(0, Recall @ tokens(40))[0] == 1.0
    both = Report.of(report.methods, [*loaded, *report])
    shown = " ".join(str(both.summary(Recall @ tokens(40))).split())
    assert "tokens were counted in 2 ways, which do not compare: letters, characters / 4" in shown
    assert "tokens were" not in " ".join(str(both.summary(Recall @ calls(2))).split())
    change = " ".join(str(compare(report, loaded, Recall @ tokens(40))).split())
    assert "tokens were counted by characters / 4 before, letters after" in change
    assert "tokens were" not in str(compare(report, loaded, Recall @ calls(1)))


def test_what_is_returned_again_is_read_again() -> None:
    """A context that a second call returns is paid for a second time."""
    a, b, c = ({"id": name, "text": name * 40} for name in "abc")
    record = Retrieval(
        [a, b, c],
        ranks=[1, 2, 2],
        call_numbers=[1, 1, 2],
        calls=[Call("s", "q", [a, b]), Call("s", "r", None, "down"), Call("s", "p", [a, c])],
    )
    result = IdRecall().score(reference_context_ids=["c"], retrieval=record)
    assert [result[Recall @ tokens(n)] for n in (39, 40)] == [0.0, 1.0]


@pytest.mark.rooms
def test_a_diagnosis_takes_a_budget() -> None:
    """A target found in a larger budget is beyond this one; else the causes are those of any k."""
    from fullrecall.diagnosis import Cause, diagnose

    late = _report(20)
    diagnosis = diagnose(late, k=calls(3))
    assert diagnosis.scores == ("id_recall@3calls",)
    assert diagnosis.counts() == {Cause.BEYOND_K: 40}
    assert next(iter(diagnosis)).detail == "at rank 1 after 20 calls, beyond 3 calls"
    actions = [change.action for change in diagnosis.changes]
    assert actions[0] == "raise the budget from 3 calls to 20 calls"
    assert not diagnose(late, k=calls(20)).misses
    assert diagnose(late, k=seconds(2)).counts() == {Cause.BEYOND_K: 40}
    never = evaluate([Sample(reference_context_ids=["z"], retrieval=_agent(1, 2))], IdRecall())
    assert diagnose(never, k=tokens(5)).counts() == diagnose(never).counts()


@pytest.mark.rooms
def test_curves_over_budgets() -> None:
    """A page has a curve over a budget that was asked for."""
    samples = [
        Sample(reference_context_ids=["gold"], retrieval=_agent(1 + n % 4, 5)) for n in range(8)
    ]
    report = evaluate(samples, IdRecall())
    asked = report.to_html(measures=[Recall @ calls(n) for n in (1, 2, 4)])
    assert "Mean of Recall @ calls" in asked
    change = compare(report, report, *(Recall @ calls(n) for n in (1, 4))).to_html()
    assert "mean of Recall @ calls" in change


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
    """A budget is parsed from its name, and from its Python form."""
    assert parse(text) == parse(written) == measure
    assert measure.name == text
    assert repr(measure) == written


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: calls(0),
        lambda: calls(1.5),
        lambda: tokens(-1),
        lambda: seconds(0),
        lambda: seconds(float("nan")),
        lambda: parse("recall@0calls"),
        lambda: parse("recall@1.5calls"),
        lambda: parse("recall@3rounds"),
    ],
)
def test_wrong_amounts_are_refused(wrong: Callable[[], object]) -> None:
    """A budget of 0 or less, or of a fraction of a call, is an error."""
    with pytest.raises(ParameterError):
        wrong()


def test_missed_targets_are_those_that_a_budget_does_not_pay_for() -> None:
    """The missed targets are as many as recall lacks, counted by columns and one by one."""
    rng = random.Random(7)
    report = evaluate([_random_sample(rng) for _ in range(60)], IdRecall(), progress=False)
    for budget in (calls(1), calls(3), tokens(5), seconds(0.4)):
        missed, values = report.missed(budget), report.values(Recall @ budget)
        listed = list(missed)
        assert len(missed) == len(listed)
        by_sample = Counter(each.sample for each in listed)
        for row, value in zip(report.rows, values.tolist(), strict=True):
            targets = len(row.results[0].findings)
            if value == value:  # noqa: PLR0124 - NaN: undefined, or not known
                assert by_sample[row.label] == round(targets * (1 - value))
            else:
                assert not by_sample[row.label]
    with pytest.raises(ParameterError, match="must be a whole number"):
        report.missed(0)


def test_leaks_within_a_budget_are_those_of_single_samples() -> None:
    """A forbidden context counts in its own row, beside rows without any."""
    clean = Sample(retrieval=_agent(1, 2), reference_context_ids=["gold"])
    leaking = Sample(retrieval=_agent(1, 3), expected_ids=["gold"], forbidden_ids=["2.1", "3.1"])
    other = Sample(retrieval=_agent(1, 3), expected_ids=["gold"], forbidden_ids=["9.9"])
    samples = [clean, leaking, clean, other, leaking]
    report = evaluate(samples, IdRecall(), progress=False)
    for budget, leaks in ((calls(1), 0.0), (calls(2), 1.0), (tokens(110), 1.0), (tokens(100), 0.0)):
        values = report.values(Leak @ budget).tolist()
        assert [values[1], values[3], values[4]] == [leaks, 0.0, leaks]
        assert [math.isnan(values[row]) for row in (0, 2)] == [True, True]


def test_judged_contexts_within_a_budget() -> None:
    """In columns, only the paid contexts that were judged count, as in a single sample."""
    rng = random.Random(11)
    samples = [_random_sample(rng) for _ in range(40)]
    report = evaluate(samples, IdRecall(), progress=False)
    for budget in (calls(2), tokens(12), seconds(0.4)):
        values = report.values(Judged @ budget).tolist()
        alone = [IdRecall().score(_paid(sample, budget))[Judged] for sample in samples]
        assert [None if math.isnan(value) else value for value in values] == alone
