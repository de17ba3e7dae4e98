"""True claims with one detail made false: what the built-in judges still support."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.judges.facts import facts

from fullrecall.judges.falsification import DETAILS, Falsified, falsified
from fullrecall.judges.flow import run
from fullrecall.judges.lexical import EmbeddedJudge, LexicalJudge, regression
from fullrecall.judges.sentences import sentences

MOST = {"number": 0.10, "negation": 0.20, "name": 0.40, "confusion": 0.40, "role": 0.40}
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


def test_two_contexts_together() -> None:
    """A claim of two parts is found at the second of them, and more contexts change nothing."""
    claim = "Ana Ruiz founded Lumo in Lisbon in 1985, and sold Lumo to Bo Holst in 1998."
    parts = ["Ana Ruiz founded Lumo in Lisbon in 1985.", "Ana Ruiz sold Lumo to Bo Holst in 1998."]
    judge = LexicalJudge()
    (verdict,), _ = run(judge.attribute([claim], parts))
    assert (verdict.label, verdict.together) == ("supported", True)
    assert {citation.context for citation in verdict.citations} == {0, 1}
    more = [*parts, *(contexts[0] for _, contexts in facts(10, seed=5))]
    assert run(judge.attribute([claim], more))[0][0].label == "supported"


@pytest.mark.parametrize(
    ("claim", "parts"),
    [
        (
            "Ana Ruiz founded Lumo in Lisbon, and the museum of Oldport sold paintings in 1998.",
            ["Ana Ruiz founded Lumo in Lisbon.", "The museum of Oldport sold paintings in 1998."],
        ),
        (
            "Ana Ruiz founded Lumo in Lisbon, sold Lumo in 1998, and breeds Andalusian horses.",
            ["Ana Ruiz founded Lumo in Lisbon.", "Ana Ruiz sold Lumo in 1998.",
             "Ana Ruiz breeds Andalusian horses."],
        ),
    ],
    ids=["nothing in common", "three of them"],
)  # fmt: skip
def test_what_contexts_cover_by_chance_is_no_support(claim: str, parts: list[str]) -> None:
    """Contexts that share no rare word of the claim, or three of them, support nothing jointly."""
    (verdict,), _ = run(LexicalJudge().attribute([claim], parts))
    assert verdict.label == "not_supported"


def _other_name(count: int) -> list[tuple[str, tuple[str, ...]]]:
    """Return sentences of texts as claims, word for word, one name another of the same text."""
    verbatim = [(sentences(contexts[0])[0], contexts) for _, contexts in facts(count, seed=21)]
    return [(one.false, one.contexts) for one in falsified(verbatim) if one.detail == "confusion"]


@pytest.mark.parametrize("judge", [LexicalJudge(), EmbeddedJudge()], ids=["lexical", "embedded"])
def test_a_name_of_the_same_text_in_a_sentence_of_it(judge: LexicalJudge) -> None:
    """Every word stands in the context: what gives it away is who stands with which predicate."""
    false = _other_name(ENOUGH)
    assert len(false) >= ENOUGH
    verdicts = [run(judge.attribute([claim], contexts))[0][0].label for claim, contexts in false]
    assert verdicts.count("supported") / len(verdicts) <= 0.1


@pytest.mark.parametrize(
    ("claim", "context"),
    [
        ("Ann Lee founded Lumo in 1990.",
         "Ann Lee studied in Oldport. She founded Lumo in 1990 with Bo Holst."),
        ("David Bowie released the album in 1972.",
         "David Bowie, born David Jones, was a singer. Jones released the album in 1972."),
        ("The World Health Organization approved the vaccine in May.",
         "The World Health Organization (WHO) met. WHO approved the vaccine in May."),
        ("Ann Lee defeated Bo Holst in the final.",
         "Bo Holst lost the final. Ann Lee defeated him in the final, as Cy Dorn had before."),
    ],
    ids=["a pronoun", "said to be one", "an acronym", "a pronoun for the other"],
)  # fmt: skip
def test_one_person_under_another_name_is_no_confusion(claim: str, context: str) -> None:
    """Pronouns, names that are said to be the same, and acronyms stand for who is meant."""
    (verdict,), _ = run(LexicalJudge().attribute([claim], [context]))
    assert verdict.label == "supported"
