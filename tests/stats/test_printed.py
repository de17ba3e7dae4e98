"""Comparisons and summaries print all that they know, in whole texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from tests.observe.calls import of_calls

from fullrecall import Context, IdRecall, Report, Sample, compare, evaluate
from fullrecall.errors import ParameterError
from fullrecall.files.trec import TIED
from fullrecall.measures import Leak, Precision, Recall, tokens
from fullrecall.samples.calls import Call
from fullrecall.show.sheet import cell_of
from fullrecall.stats import comparison as comparisons
from fullrecall.stats import estimates
from fullrecall.stats.change import LIKELY_NOTE
from fullrecall.stats.comparison import Comparison
from fullrecall.table.origin import Origin


def context(name: str, tokenizer: str | None = None) -> Context:
    """Return a context of ten tokens, which `tokenizer` counted or none did."""
    metadata = {"tokens": 10, "tokenizer": tokenizer} if tokenizer else {}
    return Context("x" * 40, id=name, metadata=metadata)


def report_of(
    found: Sequence[str | None], tokenizer: str | None = None, names: Iterable[str] = ("id_recall",)
) -> Report:
    """Return a report of samples q, r, … that expect a and b, with these letters as contexts."""
    samples = [
        Sample(
            id=name,
            user_input=f"{name}?",
            expected_ids=["a", "b"],
            retrieved_contexts=None if ids is None else [context(each, tokenizer) for each in ids],
        )
        for name, ids in zip("qrstuvw", found, strict=False)
    ]
    return evaluate(samples, [IdRecall(name=name) for name in names], progress=False)


COMPARED = """\
CANNOT TELL: id_recall stayed at 0.700: +.000 (95% interval -.549 to +.549, 5 samples); more \
samples with this mean change would not settle it
Unchanged: id_recall@1 stayed at 0.400: +.000 (95% interval -.522 to +.522, 5 samples)
Unchanged: id_recall@10tokens stayed at 0.400: +.000 (95% interval -.522 to +.522, 5 samples)
A question costs the same: 1.67 contexts, about 17 tokens

                                                                             better/
                  before   after   difference     95% interval        p   same/worse
────────────────────────────────────────────────────────────────────────────────────
id_recall
  all retrieved    0.700   0.700        +.000   -.549 to +.549   1.0000        1/3/1
  @1               0.400   0.400        +.000   -.522 to +.522   1.0000        0/5/0
  @10tokens        0.400   0.400        +.000   -.522 to +.522   1.0000        0/5/0
6 samples, paired by their IDs
the report before has 7 samples, not all: the budget of 9 calls is used up
tokens were counted by gpt before, characters / 4 after: these budgets do not compare; \
Report.with_tokens counts all alike
id_recall: 1 better, 3 the same, 1 worse, of 5
1 not compared in id_recall: unscored in one report or both
1 only in the report before: w
scored in one report only: new, old
"""


def test_a_comparison_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison names each change, and all that makes it weaker evidence."""
    monkeypatch.setenv("COLUMNS", "100")
    before = report_of(["ax", "ab", "x", "ab", None, "ba", "x"], "gpt", ["id_recall", "old"])
    after = report_of(["ab", "ax", "x", "ba", "a", "ba"], None, ["id_recall", "new"])
    before.stopped = "the budget of 9 calls is used up"
    measures = (Recall, Recall @ 1, Recall @ tokens(10))
    assert str(compare(before, after, *measures)) == COMPARED


@pytest.mark.parametrize(
    ("before", "after", "measure", "note"),
    [
        ("gpt", "gpt", Recall @ tokens(10), None),
        ("gpt", "llama", Recall, None),
        ("gpt", "llama", Recall @ tokens(10), "gpt before, llama after"),
        (None, None, Recall @ tokens(10), None),
    ],
)
def test_tokenizers_are_compared(
    before: str | None, after: str | None, measure: Any, note: str | None
) -> None:
    """Different tokenizers are noted if a budget of tokens was asked for."""
    text = str(compare(report_of(["ab"], before), report_of(["ab"], after), measure))
    assert ("tokens were counted by" in text) == (note is not None)
    assert note is None or note in text


def test_several_tokenizers_of_one_report_do_not_compare() -> None:
    """Budgets of tokens do not compare if the same two tokenizers counted both reports."""
    contexts = [context("a", "gpt"), context("b", "llama")]
    sample = Sample(id="q", expected_ids=["a"], retrieved_contexts=contexts)
    report = evaluate([sample], IdRecall(), progress=False)
    text = str(compare(report, report, Recall @ tokens(10)))
    assert "tokens were counted by gpt, llama before, gpt, llama after" in text


def likely(*lists: Sequence[str]) -> Report:
    """Return a report of samples that expect d and e, with these lists."""
    samples = [
        Sample(id=n, expected_ids=["d", "e"], retrieved_ids=each) for n, each in enumerate(lists)
    ]
    return evaluate(samples, IdRecall(), progress=False)


CHANGE = "+.030 (95% interval -.013 to +.075, 100 samples)"
RISE = "+.600 (95% interval +.482 to +.697, 100 samples)"
VIEWS = (
    "the lists differ: view=contexts before, prompt after: what changed is not the retriever "
    "alone; evaluate one of them again"
)
MORE = "about 152 samples with these changes would settle it"
LIKELY = "CANNOT TELL for every distribution; likely better (t-test, approximate)"


def test_several_reports_in_full() -> None:
    """A table of several reports has each change, other changes than the retriever, and costs."""
    both = ["d", "e"]
    reports = {
        "bm25": likely(*[["x"]] * 60, *[both] * 40),
        "hybrid": likely(*[["d"]] * 6, *[["y"]] * 54, *[both] * 40),
        "dense\n": likely(*[both] * 100),
    }
    reports["dense\n"].origin = Origin(view="prompt")
    runs = compare(reports, Recall @ 5)
    (sheet,) = runs.sheets
    assert sheet.heads == [
        "id_recall@5", "since bm25", "95% interval", "", "a question costs",
    ]  # fmt: skip
    assert sheet.lead == [
        f"hybrid: {LIKELY}: id_recall@5 rose from 0.400 to 0.430: {CHANGE}; {MORE}",
        f"dense: Better: id_recall@5 rose from 0.400 to 1.000: {RISE}",
    ]
    assert [[cell_of(cell).text for cell in (line.label, *line.cells)] for line in sheet.lines] == [
        ["bm25", "0.400", "", "", "", "1.4 contexts"],
        ["hybrid", "0.430", "+.030", "-.013 to +.075", LIKELY, "1.4 contexts"],
        ["dense", "1.000", "+.600", "+.482 to +.697", "Better", "2 contexts"],
    ]
    assert sheet.notes == [
        "intervals: each at its own confidence; better and worse: at one error rate for all (Holm)",
        f"dense: {VIEWS}",
        LIKELY_NOTE,
    ]
    assert list(runs.to_dict()["comparisons"]) == ["hybrid", "dense\n"]
    turned = compare(reports, Recall @ 5, baseline="hybrid")
    assert list(turned.reports) == ["hybrid", "bm25", "dense\n"]
    assert f"bm25: {LIKELY.replace('better', 'worse')}" in str(turned)
    unlikely = compare({"bm25": reports["bm25"], "dense": likely(*[both] * 100)}, Recall @ 5)
    assert LIKELY_NOTE not in str(unlikely)


def test_reports_without_a_common_score_are_refused() -> None:
    """Each pair may have a score in common, but a table needs one that all reports have."""
    reports = {
        "one": report_of(["a"], names=["x", "y"]),
        "two": report_of(["a"], names=["x"]),
        "three": report_of(["a"], names=["y"]),
    }
    with pytest.raises(ParameterError, match="no score in common: compare them two by two"):
        compare(reports)


def test_groups_of_either_report_join_samples() -> None:
    """Pairs of one group are one group if only one of the reports names it."""
    samples = [
        Sample(id=str(n), group=f"g{n // 2}", retrieved_ids=["a"], expected_ids=["a"])
        for n in range(8)
    ]
    grouped = evaluate(samples, IdRecall(), progress=False)
    alone = evaluate([Sample(id=s.id, retrieved_ids=["x"], expected_ids=["a"]) for s in samples],
                     IdRecall(), progress=False)  # fmt: skip
    for reports in ((grouped, alone), (alone, grouped), (grouped, grouped)):
        assert compare(*reports, Recall)["id_recall"].main.groups == 4
    assert compare(alone, alone, Recall)["id_recall"].main.groups == 8


@pytest.mark.parametrize(
    ("before", "after", "lists"),
    [
        (["a", "b"], ["a", "b"], "same"),
        (["a", "b"], ["ab", "b"], "extended"),
        (["a", "b"], ["b", "ba"], "other"),
        (["a", "b"], ["a", ""], "other"),
        (["a", None], ["ab", "b"], "other"),
        (["a", "b"], ["ab", None], "other"),
        (["", ""], ["a", ""], "other"),
        (["", "b"], ["a", "b"], "extended"),
        (["a", "b"], ["a"], "other"),
        (["a"], ["a", "b"], "other"),
    ],
)
def test_lists(before: list[str | None], after: list[str | None], lists: str) -> None:
    """Lists are the same, or each begins with the one before; samples of one report decide none."""
    comparison = compare(report_of(before), report_of(after))
    assert isinstance(comparison, Comparison)
    assert comparison.lists == lists


def test_a_longer_list_within_a_budget_is_no_fact() -> None:
    """Within a budget of tokens, or for a measure that may fall, longer lists prove nothing."""
    comparison = compare(
        report_of(["ax"]), report_of(["axb"]), Recall, Precision, Recall @ tokens(10)
    )
    outcomes = [str(each.outcome) for each in comparison["id_recall"].values()]
    assert outcomes == ["not_worse", "cannot_tell", "cannot_tell"]


def test_a_pair_with_one_unknown_value_is_in_neither_mean() -> None:
    """A pair whose tokens are unknown in one report is left out of the means of both."""
    after = evaluate(
        [Sample(id=name, expected_ids=["a", "b"], retrieved_ids=["a"]) for name in "qr"],
        IdRecall(),
        progress=False,
    )
    after = Report.of(after.methods, [report_of(["b"]).rows[0], after.rows[1]])
    (score,) = compare(report_of(["a", "x"]), after, Recall @ tokens(10))
    assert (score.main.samples, score.main.before, score.main.after) == (1, 0.5, 0.5)


def several_notes() -> Report:
    """Return a report with calls, groups, ties, forbidden contexts, and samples without a score."""
    first = Call("search", query="1", contexts=(context("a", "gpt"), context("x", "gpt")))
    second = Call("search", query="2", contexts=(context("b", "llama"),))
    third = Call("search", query="3", contexts=(context("a", "gpt"), context("y", "gpt")))
    broken = Call("search", query="4", error="boom")
    samples = [
        Sample(id="calls", expected_ids=["a", "b"], retrieval=of_calls([first, second, third])),
        Sample(id="failed", expected_ids=["a"], retrieval=of_calls([first, broken])),
        Sample(
            id="one",
            group="g",
            expected_ids=["c"],
            retrieved_ids=["x", "c"],
            metadata={TIED: [[1, 2]]},
        ),
        Sample(
            id="two", group="g", expected_ids=["d"], retrieved_ids=["x", "y"], forbidden_ids=["x"]
        ),
        Sample(id="unanswerable", answerable=False, retrieved_ids=[]),
        Sample(id="unanswerable too", answerable=False, retrieved_ids=["z"]),
        Sample(id="not asked", expected_ids=["g"]),
        Sample(id="not labeled", retrieved_ids=["h"]),
        Sample(id="undefined", expected_ids=[], retrieved_ids=["h"]),
    ]
    report = evaluate(samples, IdRecall(), progress=False)
    report.stopped = "TimeoutError:\n late"
    return report


SUMMARY = """\
                         id
                     recall
───────────────────────────
mean
  @1                  0.500
    95%           .012–.988
  all retrieved       0.750
    95%           .111–.994
  precision           0.375
    95%           .055–.904
  @10tokens           0.500
    95%           .012–.988
  leak@1              0.667
    95%           .094–.992

samples
  scored                  3
  in groups               2
  undefined               3
  unscored                3
leak@1: 2 of 3 questions leak, at most 98.4% of such questions (95%): two: x at rank 1; \
unanswerable too: z at rank 1
a question costs 1.62 contexts
1 of 2 unanswerable questions got an empty list (50%)
tokens were counted in 2 ways, which do not compare: gpt, llama; Report.with_tokens counts all alike
9 samples, not all: TimeoutError: late
united calls in 1 of 9 samples: a context's rank is that in its own call
failed calls in 1 of 9 samples
ties straddle rank 1 in 1 of 9 samples: the order of equal scores decides what is within it
3 undefined in id_recall: no reference items
1 unscored in id_recall: no retrieval observed: the sample has neither retrieved_contexts nor \
retrieved_context_ids
1 unscored in id_recall: no retrieval: 1 of 2 calls failed (search: boom): failed_calls='score' \
scores what the others returned
1 unscored in id_recall: reference_context_ids is missing
id_recall: 0.300 to 0.900, depending on unscored samples
2 more undefined in id_recall@10tokens: the tokens are not known
3 more undefined in id_recall.leak@1: no target counts
id_recall after call 1, 2, …: 0.500 0.667 0.667; new targets: 2 1 0; stop after call 2: the same \
recall
95% intervals of the mean over all such questions, whatever the distribution of the scores
"""


def test_a_summary_in_full() -> None:
    """A summary has all means beside the numbers of samples, and each reason for doubt."""
    report = several_notes()
    summary = report.summary(Recall @ 1, Recall, Precision, Recall @ tokens(10), Leak @ 1)
    assert str(summary) == SUMMARY
    assert repr(summary[0]) == (
        "ScoreSummary(0.750 (.111–.994), id_recall: 3 scored, 3 undefined, 3 unscored)"
    )
    plain = json.loads(json.dumps(summary.to_dict()))
    plain.pop("cost")
    (score,) = plain.pop("scores")
    assert plain == {
        "samples": 9,
        "stopped": "TimeoutError:\n late",
        "complete": False,
        "confidence": 0.95,
        "united": 1,
        "failed_calls": 1,
        "funnel": None,
        "unanswerable": 2,
        "empty": 1,
        "tied": 1,
        "suspicions": [],
        "tokenizers": ["gpt", "llama"],
    }
    assert score["over_calls"] == {
        "means": [0.5, 2 / 3, 2 / 3],
        "new_targets": [2, 1, 0],
        "last_gain": 2,
        "total": 2 / 3,
        "most": 3,
        "tokens": None,
    }
    assert report.summary(Recall).deepest == 0
    assert report.summary(Recall).tokenizers == ()
    assert report.summary(Leak).leaked.keys() == {Leak}
    alone = report.filter(lambda row: row.label == "undefined").summary()
    assert "over_calls" not in str(alone)
    assert (alone.samples, alone.united, alone[0].mean) == (1, 0, None)
    assert repr(alone[0]) == "ScoreSummary(no mean, id_recall: 0 scored, 1 undefined, 0 unscored)"


def test_samples_that_are_not_compared_are_counted_by_reason() -> None:
    """Samples of the report before alone are counted as undefined, or as missing after."""
    before = [
        Sample(id="both", retrieved_ids=["a"], expected_ids=["a"]),
        Sample(id="undefined", retrieved_ids=["a"], expected_ids=[]),
        Sample(id="missing", retrieved_ids=["a"], expected_ids=["a"]),
        Sample(id="unscored", expected_ids=["a"]),
        Sample(id="other", retrieved_ids=["a"], expected_ids=["a"]),
    ]
    after = [
        before[0],
        Sample(id="other", retrieved_ids=["a"], expected_ids=["b"]),
        Sample(id="new", retrieved_ids=["a"], expected_ids=["a"]),
    ]
    reports = [evaluate(samples, IdRecall(), progress=False) for samples in (before, after)]
    comparison = compare(*reports)
    score = comparison[0]
    assert {reason: count for reason, count in score.unpaired.items() if count} == {
        "no_common_targets": 1,
        "undefined": 1,
        "only_before": 2,
        "only_after": 1,
    }
    assert score.uncompared == 3
    (drift,) = comparison.drift
    assert drift.startswith("the references of 1 sample differ in id_recall: only those that both")
    rows = [[row and row.label for row in pair] for pair in comparison.rows]
    assert rows == [
        ["both", "both"],
        ["other", "other"],
        ["undefined", None],
        ["missing", None],
        ["unscored", None],
        [None, "new"],
    ]


def test_changes_that_are_not_shown_together() -> None:
    """A change whose interval excludes 0 is undecided if several are decided at one error rate."""
    hits = [["d", "e"]] * 7 + [["x"]] * 33
    reports = {"first": likely(*[["x"]] * 40)} | {f"better {n}": likely(*hits) for n in range(6)}
    alone = compare(reports["first"], reports["better 0"], Recall)
    assert "(Holm)" not in alone.sentences[0]
    (sheet,) = compare(reports, Recall).sheets
    assert len(sheet.lead) == 6
    for sentence in sheet.lead:
        assert sentence.endswith(
            "40 samples); not shown at one error rate for all that was compared (Holm)"
        )


def test_without_the_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its room, advice on IDs is left out, and a page is an error."""
    rows = [{"id": str(n), "retrieved_ids": [f"D{n}"], "expected_ids": [f"d{n}"]} for n in range(9)]
    report = evaluate(rows, IdRecall(), progress=False)
    for module in (estimates, comparisons):
        monkeypatch.setattr(module, "plugged", lambda _: None)
    assert report.summary()[0].rewrite is None
    assert report.summary()[0].mean == 0.0
    with pytest.raises(ParameterError, match=r"to_html needs fullrecall\.page, which is not insta"):
        compare(report, report).to_html()
