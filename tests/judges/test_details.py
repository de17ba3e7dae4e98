"""True claims with one detail made false: what the built-in judges still support."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.judges.facts import facts

from fullrecall.judges.falsification import DETAILS, Falsified, falsified
from fullrecall.judges.flow import run
from fullrecall.judges.lexical import EmbeddedJudge, LexicalJudge, regression

MOST = {"number": 0.10, "negation": 0.20, "name": 0.40, "role": 0.40}
ENOUGH = 250


@pytest.fixture(scope="module")
def true() -> list[tuple[str, list[str]]]:
    """Return claims with contexts that support them."""
    return facts(500)


@pytest.fixture(scope="module")
def false(true: list[tuple[str, list[str]]]) -> list[Falsified]:
    """Return the same claims, each with one detail made false."""
    return list(falsified(true))


@pytest.mark.parametrize("judge", [LexicalJudge(), EmbeddedJudge()], ids=["lexical", "embedded"])
def test_one_false_detail_is_mostly_seen(
    judge: LexicalJudge, true: list[tuple[str, list[str]]], false: list[Falsified]
) -> None:
    """At most 10% with another number, 20% with a "not", 40% with names changed or exchanged."""
    count: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for one in false:
        (verdict,), _ = run(judge.attribute([one.false], one.contexts))
        count[one.detail] += 1
        wrong[one.detail] += verdict.label == "supported"
    assert min(count[detail] for detail in DETAILS) >= ENOUGH
    for detail, most in MOST.items():
        assert wrong[detail] / count[detail] <= most, detail
    labels = [run(judge.attribute([claim], contexts))[0][0].label for claim, contexts in true]
    assert labels.count("supported") / len(labels) >= 0.9


@pytest.mark.parametrize(
    ("claim", "false", "context"),
    [
        ("The bridge is 512 metres long.", "The bridge is 512 miles long.",
         "The bridge, which is 512 metres long, crosses the river."),
        ("Ann Lee defeated Bo Holst.", "Bo Holst defeated Ann Lee.",
         "In the final Ann Lee defeated Bo Holst by six points."),
        ("Bo Holst was defeated by Ann Lee.", "Ann Lee was defeated by Bo Holst.",
         "In the final Bo Holst was defeated by Ann Lee."),
        ("The harbour is open to ships.", "The harbour is not open to ships.",
         "The harbour is deep and open to ships of any size."),
        ("The bridge is not open at night.", "The bridge is open at night.",
         "The bridge is not open at night, for there are no lamps."),
        ("The bridge wasn't repaired.", "The bridge was repaired in spring.",
         "The bridge wasn't repaired in spring."),
        ("The dam holds about 100 tonnes of water.", "The dam holds about 150 tonnes of water.",
         "The dam holds 98 tonnes of water."),
        ("4. Turn the valve to the left.", "Turn the valve to the right.",
         "Turn the valve to the left, then wait."),
        ("The final was won by Bo Holst in 1998.", "The final was won by Bo Holst in 1997.",
         "The team of 1997 was weak. The final was won by Bo Holst in 1998."),
        ("Ann Lee founded the school in Oldport.", "Ann Lee founded the school in Ravensby.",
         "In 1990 Ann Lee founded the school in Oldport."),
        ("Lordstown will recall 19 Endurance trucks.", "Endurance will recall 19 Lordstown trucks.",
         "In May, Lordstown will recall 19 Endurance trucks."),
        ("The Senate announced in August that it rejects the plan.",
         "The August announced in Senate that it rejects the plan.",
         "The Senate announced in August that it rejects the plan of the mayor."),
        ("The film was directed by Ann Lee.", "The film was produced by Ann Lee.",
         "The film was directed by Ann Lee in 1990."),
        ("Bo Holst married Ann Lee.", "Bo Holst never married Ann Lee.",
         "Ann Lee married Bo Holst in May."),
        ("The tower opened in May 1889.", "The tower opened in May 1923.",
         "The tower opened in May 1889 and is closed at night."),
    ],
)  # fmt: skip
def test_a_detail_decides(claim: str, false: str, context: str) -> None:
    """Unit, roles, negation, date, rough numbers, another name, number or rival in a place."""
    judge = LexicalJudge()
    verdicts, _ = run(judge.attribute([claim, false], [context]))
    assert [verdict.label for verdict in verdicts] == ["supported", "not_supported"]


def test_voices_are_told_apart() -> None:
    """The passive says the same of exchanged names: it is no exchange of roles."""
    judge = LexicalJudge()
    (verdict,), _ = run(
        judge.attribute(
            ["Bo Holst was defeated by Ann Lee."], ["In the final Ann Lee defeated Bo Holst."]
        )
    )
    assert verdict.label == "supported"


def test_falsified_claims_are_made_alike_each_time(
    true: list[tuple[str, list[str]]], false: list[Falsified]
) -> None:
    """A seed repeats them; no false claim is its original."""
    assert list(falsified(true[:40], seed=3)) == list(falsified(true[:40], seed=3))
    assert all(one.claim != one.false for one in false)
    german = list(falsified([("Der Turm steht seit 1889 in Rom.", ["Der Turm steht."])]))
    assert [one.detail for one in german] == ["number"]


class _Counting:
    """Counts how often a text is matched."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:

        self.contexts = 0
        real = regression.match

        def match(claim: Any, contexts: Any) -> Any:
            self.contexts += len(contexts)
            return real(claim, contexts)

        monkeypatch.setattr(regression, "match", match)


@pytest.mark.parametrize("judge", [LexicalJudge(), EmbeddedJudge()], ids=["lexical", "embedded"])
def test_work_is_linear_in_the_contexts(
    judge: LexicalJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times the contexts are at most about four times the matching, supported or not."""
    texts = [contexts[0][:600] for _, contexts in facts(80, seed=11)]
    claims = [claim for claim, _ in facts(6, seed=12)]
    work = []
    for count in (20, 80):
        counting = _Counting(monkeypatch)
        run(judge.attribute(claims, texts[:count]))
        work.append(counting.contexts)
        monkeypatch.undo()
    assert work[1] <= 5 * work[0]
    assert work[1] <= 80 * len(claims) * 4


def test_three_contexts_together() -> None:
    """A claim of three parts is found at the last of them, and more contexts change nothing."""
    claim = "Ana Ruiz founded Lumo in Lisbon, sold Lumo in 1998, and breeds Andalusian horses."
    parts = ["Ana Ruiz founded Lumo in Lisbon.", "Ana Ruiz sold Lumo in 1998.",
             "Ana Ruiz breeds Andalusian horses."]  # fmt: skip
    judge = LexicalJudge(threshold=0.442)  # what all three reach, and no two
    (verdict,), _ = run(judge.attribute([claim], parts))
    assert (verdict.label, verdict.together) == ("supported", True)
    assert max(citation.context for citation in verdict.citations) == 2
    more = [*parts, *(contexts[0] for _, contexts in facts(10, seed=5))]
    assert run(judge.attribute([claim], more))[0][0].label == "supported"
