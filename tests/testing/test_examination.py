"""`examine` measures how right a judge is, on labels and falsified details, and its cost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.lexical.facts import facts

from fullrecall import LLMJudge, Report, calibrate
from fullrecall.errors import InputError, ParameterError
from fullrecall.judge.usage import Usage
from fullrecall.lexical import LexicalJudge
from fullrecall.lexical.falsification import edits
from fullrecall.testing import ScriptedChatModel
from fullrecall.testing.examination import Examination, Judgment, Pair, examine

FACTS = facts(40)
PAIRS = [Pair(claim, tuple(contexts), supported=True) for claim, contexts in FACTS] + [
    Pair(claim, tuple(FACTS[number - 7][1]), supported=False)
    for number, (claim, _) in enumerate(FACTS)
]


def test_labels_and_details() -> None:
    """The built-in judge has the stated figures on its easiest kind of text."""
    found = examine(LexicalJudge(), PAIRS, progress=False)
    assert (len(found.labeled), found.unscored) == (80, 0)
    assert found.balanced_accuracy is not None
    assert found.balanced_accuracy > 0.9
    assert found.errors.keys() <= {"labeled", *edits()}
    assert len(found.errors) >= 20
    ruled, others = (found.false_credit(ruled=ruled) for ruled in (True, False))
    assert ruled is not None
    assert others is not None
    assert ruled[0] < 0.1 < others[0]
    assert others[1] >= 15
    assert found.errors["number"][1] == 0
    assert examine(LexicalJudge(), PAIRS, details=False, progress=False).errors.keys() == {
        "labeled"
    }


@pytest.mark.parametrize(
    ("told", "accuracy"),
    [
        ({True: "supported", False: "not_supported"}, 1.0),
        ({True: "not_supported", False: "supported"}, 0.0),
        ({True: "supported", False: "supported"}, 0.5),
        ({True: "partial", False: "not_supported"}, 0.5),
    ],
)
def test_measures_by_hand(told: dict[bool, str], accuracy: float) -> None:
    """Balanced accuracy, computed by hand, counts full support only."""
    wanted = {pair.claim + pair.contexts[0]: pair.supported for pair in PAIRS}

    def script(request: Any) -> str:
        body = request.messages[1].content
        claim = json.loads(body.rpartition("claims:\n1 ")[2])
        context = json.loads(body.split("\n")[1].removeprefix("1 "))
        label = told[wanted[claim + context]]
        cited = [] if label == "not_supported" else [{"context": 1, "quote": context[:30]}]
        return json.dumps(
            {"verdicts": [{"id": 1, "citations": cited, "together": False, "verdict": label}]}
        )

    found = examine(LLMJudge(ScriptedChatModel(script)), PAIRS, details=False, progress=False)
    assert found.balanced_accuracy == accuracy
    assert found.usage.calls == len(PAIRS)


def test_missing_pairs_are_an_error() -> None:
    """Missing pairs are an error, and labels of one kind have no balanced accuracy."""
    with pytest.raises(InputError, match="no labeled claims"):
        examine(LexicalJudge(), [])
    with pytest.raises(ParameterError, match="per_kind"):
        examine(LexicalJudge(), PAIRS, per_kind=0)
    found = examine(LexicalJudge(), PAIRS[:3], details=False, progress=False)
    assert found.balanced_accuracy is None


def test_it_feeds_calibrate() -> None:
    """`calibrate` takes the report and labels of an examination."""
    found = examine(LexicalJudge(), PAIRS, details=False, progress=False)
    labels = {
        (str(number), pair.claim): "supported" if pair.supported else "not_supported"
        for number, pair in enumerate(PAIRS, start=1)
    }
    calibration = calibrate(found.report, labels)
    assert calibration.agreement.balanced_accuracy.value == pytest.approx(found.balanced_accuracy)


def test_the_figures_of_an_examination() -> None:
    """Claims without a verdict, and kinds with a rule, are counted separately."""
    judged = [
        ("labeled", True, ["supported", "supported", "partial", None]),
        ("labeled", False, ["not_supported", "supported", None]),
        ("number", False, ["supported", "not_supported", "not_supported", None]),
        ("only", False, ["supported", "partial"]),
        ("name", False, ["supported"]),
        ("date", False, [None]),
    ]
    judgments = tuple(
        Judgment(Pair("c", ("t",), supported=supported, kind=kind), label)
        for kind, supported, labels in judged
        for label in labels
    )
    report = Report([])
    rules = frozenset({"number", "labeled"})
    found = Examination("a judge", judgments, Usage(7, 70, 30), 1.23456, report, rules)
    assert (len(found.labeled), found.unscored) == (5, 2)
    claims = [("labeled", 3, 1, 1, True), ("number", 4, 1, 1, True), ("only", 2, 1, 0, False),
              ("name", 1, 1, 0, False), ("date", 1, 0, 1, False)]  # fmt: skip
    assert found.to_dict() == {
        "judge": "a judge",
        "labeled": 5,
        "unscored": 2,
        "balanced_accuracy": (2 / 3 + 1 / 2) / 2,
        "false_claims": {
            kind: {"claims": n, "supported": wrong, "unscored": silent, "rule": ruled}
            for kind, n, wrong, silent, ruled in claims
        },
        "false_credit": {
            "with a rule": {"mean": 1 / 3, "kinds": 1},
            "without a rule": {"mean": (1 / 2 + 1) / 2, "kinds": 2},
        },
        "calls": 7,
        "prompt_tokens": 70,
        "completion_tokens": 30,
        "seconds": 1.235,
    }
    alone = Examination("a judge", judgments[:4], Usage(), 0.0, report)
    assert alone.balanced_accuracy is None
    assert alone.to_dict()["false_credit"] == {"with a rule": None, "without a rule": None}


def test_claims_of_each_kind_are_drawn() -> None:
    """At most `per_kind` false claims of each kind are judged, the same for the same seed."""
    found, again = (
        examine(LexicalJudge(), PAIRS[:3], per_kind=1, seed=1, progress=False) for _ in range(2)
    )
    assert {count for kind, (count, *_) in found.errors.items() if kind != "labeled"} == {1}
    assert [each.pair for each in found.judgments] == [each.pair for each in again.judgments]
    assert [each.pair for each in found.judgments[:3]] == PAIRS[:3]
