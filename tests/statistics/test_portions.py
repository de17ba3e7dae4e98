"""Totals that name the parts they count: none twice, and none that nobody knows."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from fullrecall import ClaimRecall, IdRecall, Report, Sample, evaluate
from fullrecall.errors import ReportError
from fullrecall.testing import ContainmentJudge

Plain = dict[str, Any]


def report(start: int, end: int, *, ids: bool = True) -> Report:
    """Return the report of samples of which one in three misses something."""
    samples = [
        Sample(
            id=f"q{n}" if ids else None,
            retrieved_context_ids=["a"],
            reference_context_ids=["a", "b"] if n % 3 == 0 else ["a"],
        )
        for n in range(start, end)
    ]
    return evaluate(samples, IdRecall(), progress=False, keep="summary")


def sent(one: Report, part: str | None = None) -> Plain:
    """Return totals as they arrive."""
    plain: Plain = json.loads(json.dumps(one.totals(part)))
    return plain


PARTS = [(0, 5), (5, 12), (12, 20), (20, 21)]


@pytest.mark.parametrize("seed", range(20))
def test_any_order_repeats_and_merges(seed: int) -> None:
    """Merged in any tree, with parts and merges of them again, the whole is that of one run."""
    rng = random.Random(seed)
    parts = [sent(report(*each)) for each in PARTS]
    nested = [*parts]
    for _ in range(rng.randrange(3)):
        some = rng.sample(parts, 2)
        nested.append(sent(Report.of_totals([*some, some[0]])))
    nested += rng.choices(parts, k=rng.randrange(4))
    rng.shuffle(nested)
    expected = report(0, 21)
    try:
        whole = Report.of_totals(nested)
    except ReportError as error:
        assert "is in two totals that were merged with other parts" in str(error)  # noqa: PT017
        overlapping = [{part["name"] for part in one["parts"]} for one in nested]
        pairs = itertools.combinations(overlapping, 2)
        assert any(a & b and not (a <= b or b <= a) for a, b in pairs)
        return
    assert whole.summary().to_dict() == expected.summary().to_dict()
    assert {one.name for one in whole.portions} == {one["parts"][0]["name"] for one in parts}
    again = Report.of_totals([sent(whole), *parts])
    assert again.totals()["tallies"] == whole.totals()["tallies"]


def test_a_merge_takes_the_place_of_its_parts() -> None:
    """Whatever comes with it of what it counts; what it shares with another merge is refused."""
    a, b, c, _ = (sent(report(*each)) for each in PARTS)
    both, others = sent(Report.of_totals([a, b])), sent(Report.of_totals([b, c]))
    for given in itertools.permutations([both, a, b, c]):
        assert Report.of_totals(given).metrics() == report(0, 20).metrics()
    with pytest.raises(ReportError, match=r"is in two totals that were merged .* merge each"):
        Report.of_totals([both, others])


def test_parts_that_are_expected() -> None:
    """Those that did not come are named; one that nobody expects is refused."""
    made = [sent(report(*each), str(n)) for n, each in enumerate(PARTS)]
    names = ["0", "1", "2", "3"]
    assert Report.of_totals(made, expected=names).complete
    lacking = Report.of_totals([made[0], made[2], made[0]], expected=names)
    assert lacking.stopped == "2 of 4 parts are missing: 1, 3"
    assert len(lacking) == 13
    with pytest.raises(ReportError, match="part '3' is not expected"):
        Report.of_totals(made, expected=names[:3])


def test_a_part_that_was_tried_again() -> None:
    """The same part counts once, also without IDs; a complete one takes the place of a stopped."""
    one = report(0, 6, ids=False)
    assert len(Report.of_totals([sent(one, "x"), sent(one, "x")])) == 6
    stopped = report(0, 6, ids=False)
    stopped.stopped = "a budget"
    for given in itertools.permutations([sent(stopped, "x"), sent(one, "x")]):
        assert Report.of_totals(given).complete
    with pytest.raises(ReportError, match=r"two parts are named 'x' and differ: \d and \d samples"):
        Report.of_totals([sent(one, "x"), sent(report(0, 7, ids=False), "x")])


def test_parts_that_count_alike() -> None:
    """Without IDs nothing tells whether they are one: they are to be named."""
    one, other = report(0, 6, ids=False), report(6, 12, ids=False)
    with pytest.raises(ReportError, match=r"two parts of 6 samples count alike.*totals\(part="):
        Report.of_totals([sent(one), sent(other)])
    assert len(Report.of_totals([sent(one, "a"), sent(other, "b")])) == 12
    with pytest.raises(ReportError, match="this report was merged of several"):
        Report.of_totals([sent(one, "a"), sent(other, "b")]).totals("c")


def test_parts_of_another_evaluation() -> None:
    """The parameter by which they differ is named: here the judge, and how much a part counts."""
    samples = [Sample(retrieved_contexts=["x"], reference_claims=["x"])]

    def made(scorer: Any) -> Plain:
        return sent(evaluate(samples, scorer, progress=False))

    judge = ContainmentJudge()
    with pytest.raises(ReportError, match=r"partial_credit of claim_recall is .* and 0\.25: score"):
        Report.of_totals([
            made(ClaimRecall(judge=judge)), made(ClaimRecall(judge=judge, partial_credit=0.25))
        ])  # fmt: skip
    with pytest.raises(ReportError, match="judge of claim_recall is '"):
        Report.of_totals([made(ClaimRecall(judge=judge)), made(ClaimRecall())])


def test_two_reports_of_totals_are_not_compared() -> None:
    """There are no samples to pair, and that is said."""
    from fullrecall import compare

    whole = Report.of_totals([sent(report(0, 5))])
    with pytest.raises(ReportError, match="keeps no rows"):
        compare(whole, whole)
