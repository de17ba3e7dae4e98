"""Gates, searches, choices and changes of cost say their results in whole sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.stats.gate_reports import report_of
from tests.stats.test_choice import DROPPED, LEFT, UNKNOWN, WINNER, choice

from fullrecall import Gate, IdRecall, Report, Sample, compare, evaluate
from fullrecall.measures import RR, Precision, Recall
from fullrecall.measures.budgets import Unit
from fullrecall.show.sheet import cell_of
from fullrecall.stats.change import flips_sheet
from fullrecall.stats.question_cost import QuestionCost, Seconds, cost_change
from fullrecall.stats.smallest_k import SmallestK
from fullrecall.table.origin import Origin

FAST, SLOW = Seconds(0.1, 0.2), Seconds(0.31, 0.4)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (
            QuestionCost(5, 50, FAST, 1),
            QuestionCost(50, 50, SLOW, 1),
            "10 times the contexts (5 to 50), 3.1 times the seconds (p50 0.1 to 0.31)",
        ),
        (
            QuestionCost(5, 50, None, 1),
            QuestionCost(5.04, 50, None, 1),
            "the same: 5.04 contexts, about 50 tokens",
        ),
        (
            QuestionCost(0, 0, None, 1),
            QuestionCost(5, 50, None, 1),
            "any number of times the contexts (0 to 5), any number of times the tokens (0 to 50)",
        ),
        (
            QuestionCost(1, None, Seconds(0.001, 0.1), 1),
            QuestionCost(1, 5, Seconds(0.009, 0.1), 1),
            "the same: 1 context, about 5 tokens",
        ),
        (
            QuestionCost(1, 5, Seconds(0.001, 0.1), 1),
            QuestionCost(1, 5, Seconds(0.01, 0.1), 1),
            "10 times the seconds (p50 0.001 to 0.01)",
        ),
        (
            QuestionCost(1, 1, FAST, 1),
            QuestionCost(330, 1_234_567, Seconds(0.124, 0.2), 1),
            "330 times the contexts (1 to 330), 1,200,000 times the tokens (1 to 1,234,567)",
        ),
        (
            QuestionCost(2, 200, Seconds(4, 4), 1),
            QuestionCost(1, 100, Seconds(2.9, 3), 1),
            (
                "0.5 times the contexts (2 to 1), 0.5 times the tokens (200 to 100), 0.72 times "
                "the seconds (p50 4 to 2.9)"
            ),
        ),
        (
            QuestionCost(1, 100, Seconds(4, 4), 1),
            QuestionCost(1, 101, Seconds(3, 3), 1),
            "the same: 1 context, about 101 tokens, 3 s (p95 3 s)",
        ),
        (
            QuestionCost(0, 0, Seconds(0.02, 0.1), 1),
            QuestionCost(0, 0, Seconds(0.02, 0.2), 1),
            "the same: 0 contexts, about 0 tokens, 0.02 s (p95 0.2 s)",
        ),
        (None, QuestionCost(1, 1, None, 1), ""),
        (QuestionCost(1, 1, None, 1), None, ""),
    ],
)
def test_how_a_cost_changed(
    before: QuestionCost | None, after: QuestionCost | None, sentence: str
) -> None:
    """Small changes, and times that no user notices, are left out."""
    assert cost_change(before, after) == sentence


SETTLES = "with these values would settle it"


@pytest.mark.parametrize(
    ("gate", "reports", "lines"),
    [
        (
            Gate(Recall >= 0.9),
            [(400, 0, 60)],
            (
                "CANNOT TELL: id_recall is from 0.835 to 1.000 (95% interval, 400 samples); "
                "required: 0.900; the 13.0% of samples without a value decide it: score them"
            ),
        ),
        (
            Gate(Recall >= 0.9),
            [(100, 300, 100)],
            (
                "FAIL: id_recall is at most 0.438 (one-sided, 95% confidence, 400 samples); "
                "required: 0.900"
            ),
        ),
        (
            Gate(Recall >= 0.8),
            [(100, 20, 1)],
            (
                "CANNOT TELL: id_recall is from 0.747 to 0.897 (95% interval, 120 samples); "
                f"required: 0.800; about 644 samples {SETTLES}"
            ),
        ),
        (
            Gate(Recall >= 0.8),
            [(20, 0, 1)],
            (
                "CANNOT TELL: id_recall is from 0.761 to 1.000 (95% interval, 20 samples); "
                "required: 0.800; the 4.8% of samples without a value decide it: score them"
            ),
        ),
        (
            Gate(Recall >= 0.8),
            [(50, 20, 2)],
            (
                "CANNOT TELL: id_recall is from 0.574 to 0.822 (95% interval, 70 samples); "
                f"required: 0.800; about 88 samples {SETTLES}"
            ),
        ),
        (
            Gate(Recall <= 0.1),
            [(0, 200, 0)],
            (
                "PASS: id_recall is at most 0.015 (one-sided, 95% confidence, 200 samples); "
                "allowed: 0.100"
            ),
        ),
        (
            Gate(Recall <= 0.1),
            [(0, 200, 40)],
            (
                "CANNOT TELL: id_recall is from 0.000 to 0.220 (95% interval, 200 samples); "
                "allowed: 0.100; the 16.7% of samples without a value decide it: score them"
            ),
        ),
        (Gate(Recall >= 0.9), [(0, 0, 5)], "CANNOT TELL: id_recall has no sample with a value"),
        (
            Gate(Recall >= 0.5, RR >= 0.1),
            [(200, 0, 0)],
            (
                "PASS: id_recall is at least 0.985 (one-sided, 95% confidence, 200 samples); "
                "required: 0.500\nPASS: id_recall.rr is at least 0.328 (one-sided, 95% "
                "confidence, 200 samples); required: 0.100"
            ),
        ),
        (
            Gate(margin=0.04),
            [(160, 40, 0), (180, 20, 0)],
            (
                "FAIL: change of id_recall is at most -0.060 (one-sided, 95% confidence, 200 "
                "samples); allowed: -0.040"
            ),
        ),
        (
            Gate(margin=0.04),
            [(176, 24, 0), (180, 20, 0)],
            (
                "CANNOT TELL: change of id_recall is from -0.051 to +0.005 (95% interval, 200 "
                f"samples); allowed: -0.040; about 280 samples {SETTLES}"
            ),
        ),
        (
            Gate(Recall >= 0.9, confidence=0.99),
            [(180, 20, 0)],
            (
                "CANNOT TELL: id_recall is from 0.833 to 0.948 (99% interval, 200 samples); "
                "required: 0.900; more samples with this mean would not settle it"
            ),
        ),
        (
            Gate(Precision, margin=0.1),
            [(20, 0, 0), (20, 0, 0)],
            "PASS: change of id_recall.precision is 0: all lists of 20 samples are the same",
        ),
    ],
)
def test_the_reasons_of_a_gate(gate: Gate, reports: list[tuple[int, int, int]], lines: str) -> None:
    """Each rule has the bound that decides it, or what would settle it."""
    result = gate.check(*(report_of(*counts) for counts in reports))
    assert str(result) == lines


def test_the_sentence_of_a_gate() -> None:
    """The first rule that decides is named, and the other rules are counted."""
    several = Gate(Recall >= 0.9, Recall @ 1 >= 0.5, RR >= 0.9).check(report_of(20))
    assert several.sentence == (
        "FAIL: id_recall@1 is at most 0.140 (one-sided, 95% confidence, 20 samples); required: "
        "0.500 (and 1 more)"
    )
    assert Gate(Recall >= 0.5).check(report_of(20)).sentence == (
        "PASS: 1 rule at the required confidence"
    )
    assert Gate(Recall >= 0.5, RR >= 0.1).check(report_of(200)).sentence == (
        "PASS: 2 rules at the required confidence"
    )


def test_a_gate_of_reports_without_all_samples() -> None:
    """Each report that ended early is named, and no rule passes or fails."""
    whole, part = report_of(100), report_of(100)
    part.stopped = "late"
    late = "does not have all of its samples (late): run it again to the end"
    gate = Gate(Recall >= 0.5, margin=0.1)
    for report, baseline, reason in (
        (part, whole, f"the report {late}"),
        (whole, part, f"the baseline {late}"),
        (part, part, f"the report {late}; the baseline {late}"),
    ):
        result = gate.check(report, baseline)
        assert result.sentence == f"CANNOT TELL: {reason} (and 1 more)"
        assert [check.needed for check in result.checks] == [None, None]


def searched(ranks: Sequence[int | None], target: float, confidence: float = 0.95) -> SmallestK:
    """Return the search over samples with one target each, at these ranks of six contexts."""
    samples = [
        Sample(
            id=str(n),
            retrieved_ids=["t" if at == rank else f"x{at}" for at in range(1, 7)],
            expected_ids=["t"],
        )
        for n, rank in enumerate(ranks)
    ]
    report = evaluate(samples, IdRecall(), progress=False)
    return report.smallest_k(target, confidence=confidence)


SIDE = "(one-sided, 95% confidence)"
NONE_TO_6 = "at no k up to 6"


@pytest.mark.parametrize(
    ("found", "sentence", "tested"),
    [
        (
            searched([1] * 200 + [2] * 140 + [3] * 48 + [4] * 12, 0.9),
            f"reaches 0.9 at k = 3: at least 0.951 {SIDE}, mean 0.970, 400 samples",
            ["2 0.850 0.9994", "3 0.970 <0.0001", "4 1.000 <0.0001"],
        ),
        (
            searched([1] * 20, 0.9),
            (
                f"reaches 0.9 {NONE_TO_6}: at least 0.860 {SIDE} at 6, mean 1.000, 20 samples; "
                "about 29 samples with these values would show it"
            ),
            ["6 1.000 0.1216"],
        ),
        (
            searched([None] * 20, 0.9),
            f"reaches 0.9 {NONE_TO_6}: the mean at 6 is 0.000; retrieve more, or retrieve better",
            ["6 0.000 1.0000"],
        ),
        (
            searched([1] * 6 + [None] * 6, 0.5),
            (
                f"reaches 0.5 {NONE_TO_6}: at least 0.245 {SIDE} at 6, mean 0.500, 12 samples; "
                "more samples with these values would not show it"
            ),
            ["6 0.500 0.6128"],
        ),
        (searched([], 0.9), "no sample has a score", []),
    ],
)
def test_a_search(found: SmallestK, sentence: str, tested: list[str]) -> None:
    """The reason says where the target is reached, or why not; a table has each k tested."""
    text = f"id_recall: {sentence}" if found.mean is None else f"id_recall {sentence}"
    assert str(found) == text
    (sheet,) = found.sheets
    assert sheet.title == f"k = {'none' if found.k is None else found.k}"
    lines = [
        " ".join(cell_of(cell).text for cell in (line.label, *line.cells)) for line in sheet.lines
    ]
    assert lines[: len(tested)] == tested
    strong = [line for line in sheet.lines if cell_of(line.label).emphasis == "strong"]
    assert [cell_of(line.label).text for line in strong] == ([str(found.k)] if found.k else [])


def test_a_search_reads_the_longest_list() -> None:
    """The search begins at the longest list of a scored sample."""
    rows = [{"id": str(n), "retrieved_ids": ["t"], "expected_ids": ["t"]} for n in range(60)]
    unscored = {"id": "x", "retrieved_ids": ["t", "y", "z"]}
    report = evaluate([*rows, unscored], IdRecall(), progress=False)
    assert [each.k for each in report.smallest_k(0.9).tested] == [1]
    nothing = [{"id": str(n), "retrieved_ids": [], "expected_ids": ["t"]} for n in range(3)]
    assert evaluate(nothing, IdRecall(), progress=False).smallest_k(0.9).largest == 1


@pytest.mark.parametrize(
    ("unit", "at"), [("tokens", "2 tokens"), ("calls", "1 call")]
)  # fmt: skip
def test_a_search_of_budgets(unit: Unit, at: str) -> None:
    """The reason names a budget with its unit."""
    texts = [{"id": "a", "text": "xxxx"}, {"id": "b", "text": "xxxx"}]
    samples = [Sample(retrieval={"contexts": texts}, expected_ids=["b"])] * 60
    found = evaluate(samples, IdRecall(), progress=False).smallest_k(0.9, unit=unit)
    assert str(found) == (
        f"id_recall reaches 0.9 at {at}: at least 0.951 {SIDE}, mean 1.000, 60 samples"
    )


def test_choices_without_a_winner() -> None:
    """A choice says how many retrievers are left, and how many questions would settle it."""
    after = f"{UNKNOWN} after 40 questions"
    for standings, needed, sentence in (
        ((DROPPED, DROPPED), 7, "all were ruled out at once; start again with new questions"),
        ((LEFT,), None, "1 is left, and no number of questions would settle their order"),
        ((DROPPED, LEFT), 1234, "1 is left; about 1,234 more would settle it if the lead stays"),
        ((LEFT, LEFT), 1, "2 are left; about 1 more would settle it if the lead stays"),
    ):
        assert choice(*standings, needed=needed).sentence == f"{after}: {sentence}"


CHOICE = """\
    recall     95% interval   questions   unscored   tokens   p50 s   p95 s
───────────────────────────────────────────────────────────────────────────────────
a    0.900   0.850 to 0.950          40          0    1,234     0.5     1.2   STATE
z    1.000   0.900 to 1.000          40          0            <0.01    0.02   STATE
b    0.800   0.850 to 0.950       1,200          3       10                    left
c        -                           40          0                          dropped
a note
"""


def words(text: str) -> list[list[str]]:
    """Return the words of each line."""
    return [line.split() for line in text.splitlines() if "─" not in line]


@pytest.mark.parametrize(("within", "state"), [(0.0, "best"), (0.05, "within 0.05")])
def test_the_table_of_a_choice(within: float, state: str) -> None:
    """Each retriever has its mean, what is known of its costs, and its state."""
    standings = [
        replace(WINNER, tokens=1234.4, seconds=(0.5, 1.25)),
        replace(WINNER, name="z", seconds=(0.001, 0.02), mean=1.0, interval=(0.9, 1.0)),
        replace(LEFT, unscored=3, questions=1200, tokens=9.6),
        replace(DROPPED, interval=None, mean=None),
    ]
    text = str(choice(*standings, within=within, notes=("a note",)))
    _, _, table = text.partition("\n\n")
    assert words(table) == words(CHOICE.replace("STATE", state))
    orders = [each.order() for each in standings]
    assert orders == [(0, 71, 0.5, -0.9), (0, 0, 0.01, -1.0), (1, -0.8), (2, 0.0)]
    assert replace(WINNER, tokens=9.0).order() < replace(WINNER, tokens=12.0).order()
    assert replace(WINNER, tokens=100.0).order() == replace(WINNER, tokens=101.0).order()


def test_a_report_of_no_name_for_a_sample() -> None:
    """Samples without an ID are read by their position, from #1 on."""
    rows = [{"retrieved_ids": ["a"], "expected_ids": ["a"]}, {"id": "b", "expected_ids": ["a"]}]
    report: Report = evaluate(rows, IdRecall(), progress=False)
    assert (report["#1"].position, report["b"].position) == (1, 2)
    for name, message in (
        ("#2", "no sample '#2' among 2: their IDs are such as '#1'"),
        ("id_recall", "'id_recall' is a score: report.summary()['id_recall']"),
    ):
        with pytest.raises(KeyError) as raised:
            report[name]
        assert raised.value.args == (message,)
    twice = evaluate([rows[1], rows[1]], IdRecall(), progress=False)
    with pytest.raises(KeyError, match="2 samples have the ID 'b': use filter"):
        twice["b"]
    with pytest.raises(KeyError, match="no sample 'x' among 0"):
        report[:0]["x"]


def spelled(retrieved: str, expected: str) -> Report:
    """Return a report of sixty samples whose IDs are written so, with a river's name for {}."""
    names = "elbe oder rhine main isar lech neisse saale spree havel".split()
    samples = [
        Sample(
            id=str(n),
            retrieved_ids=[retrieved.format(names[n % 10]), "x"],
            expected_ids=[expected.format(names[n % 10])],
        )
        for n in range(60)
    ]
    return evaluate(samples, IdRecall(), progress=False)


@pytest.mark.rooms
def test_a_gate_of_ids_that_are_written_differently() -> None:
    """A threshold does not fail if IDs would match after a rewrite that is known."""
    result = Gate(Recall >= 0.5).check(spelled("/srv/docs/{}.md", "docs/{}.md"))
    (check,) = result.checks
    assert check.outcome == "cannot_tell"
    assert "; it does not fail while that is so; but IDs differ in" in check.reason
    assert len(result.drift) == 1
    for report in (spelled("one-{}", "{}-two"), spelled("a", "b")):
        (check,) = Gate(Recall >= 0.5).check(report).checks
        assert check.outcome == "fail"
        assert check.reason.endswith("required: 0.500")
    found = Gate(Recall >= 0.5).check(spelled("{}", "{}"))
    assert (found.outcome, found.drift) == ("pass", ())


def test_equal_lists_of_other_corpora() -> None:
    """Equal lists pass also if the corpora differ, which the reason adds."""
    before, after = report_of(30), report_of(30)
    before.origin, after.origin = Origin("one"), Origin("two")
    (check,) = Gate(margin=0.02).check(after, before).checks
    assert check.reason == (
        "change of id_recall is 0: all lists of 30 samples are the same; but the corpora differ: "
        "one before, two after: what changed is not the retriever alone; evaluate the one before "
        "again on the other's corpus"
    )


@pytest.mark.parametrize(
    ("most", "title"),
    [
        (1, "3 samples changed in id_recall, the largest change:"),
        (2, "3 samples changed in id_recall, the 2 largest changes:"),
        (3, "3 samples changed in id_recall:"),
        (4, "3 samples changed in id_recall:"),
    ],
)
def test_the_samples_that_changed(most: int, title: str) -> None:
    """The largest changes come first, with the targets found and lost."""

    def report(*lists: str) -> Report:
        name = "n" * 60
        rows = [
            Sample(id=f"{name}{n}", expected_ids=list("abcd"), retrieved_ids=list(each))
            for n, each in enumerate(lists)
        ]
        return evaluate(rows, IdRecall(), progress=False)

    comparison = compare(report("ab", "abcd", "x", "a"), report("abc", "y", "x", "bc"))
    sheet = flips_sheet(comparison[0], most)
    shown = [[cell_of(cell).text for cell in line.cells] for line in sheet.lines]
    every = [
        ["", "1.000 → 0.000", "", "a; b; c; d"],
        ["", "0.500 → 0.750", "c", ""],
        ["", "0.250 → 0.500", "b; c", "a"],
    ]
    assert not flips_sheet(comparison[0], 0).lines
    assert sheet.title == title
    assert shown == every[:most]
    assert all(len(cell_of(line.label).text) == 60 for line in sheet.lines)
