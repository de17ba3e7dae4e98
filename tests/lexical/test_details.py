"""The built-in judge refuses true claims with one detail made false."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.lexical.facts import facts

from fullrecall import ClaimRecall, Report, Sample, evaluate
from fullrecall.judge.flow import run
from fullrecall.lexical import LexicalJudge, support
from fullrecall.lexical.falsification import Falsified, edits, falsified

MOST = {"number": 0.05, "scale": 0.05, "negation": 0.20, "myth": 0.10, "report": 0.10}
ENOUGH = 125


@pytest.fixture(scope="module")
def true() -> list[tuple[str, list[str]]]:
    """Return claims with contexts that support them."""
    return facts(250)


@pytest.fixture(scope="module")
def false(true: list[tuple[str, list[str]]]) -> list[Falsified]:
    """Return the same claims, each with one detail made false."""
    return list(falsified(true))


def test_the_judges_own_rules_hold(
    true: list[tuple[str, list[str]]], false: list[Falsified]
) -> None:
    """The judge supports few claims with another number (5%), a "not" (20%), or "a myth" (10%)."""
    judge = LexicalJudge()
    count: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for one in false:
        if one.detail in MOST:
            (verdict,), _ = run(judge.attribute([one.false], one.contexts))
            count[one.detail] += 1
            wrong[one.detail] += verdict.label == "supported"
    assert min(count[detail] for detail in MOST.keys() - {"scale"}) >= ENOUGH
    for detail, most in MOST.items():
        assert wrong[detail] / count[detail] <= most, detail
    labels = [run(judge.attribute([claim], contexts))[0][0].label for claim, contexts in true]
    assert labels.count("supported") / len(labels) >= 0.9


def test_most_kinds_are_none_that_the_judge_has_a_rule_for(false: list[Falsified]) -> None:
    """At least twenty kinds of details have no rule, so the measured error is representative."""
    kinds = set(edits())
    assert len(kinds) >= 28
    assert kinds >= LexicalJudge.rules
    assert len(kinds - LexicalJudge.rules) >= 20
    assert len({one.detail for one in false}) >= 20


@pytest.mark.parametrize(
    ("claim", "false", "context"),
    [
        ("The bridge is 512 metres long.", "The bridge is 512 miles long.",
         "The bridge, which is 512 metres long, crosses the river."),
        ("The harbour is open to ships.", "The harbour is not open to ships.",
         "The harbour is deep and open to ships of any size."),
        ("The bridge is not open at night.", "The bridge is open at night.",
         "The bridge is not open at night, for there are no lamps."),
        ("The bridge wasn't repaired.", "The bridge was repaired in spring.",
         "The bridge wasn't repaired in spring."),
        ("The dam holds about 98 tonnes of water.", "The dam holds about 150 tonnes of water.",
         "The dam holds 98 tonnes of water."),
        ("Bo Holst married Ann Lee.", "Bo Holst never married Ann Lee.",
         "Ann Lee married Bo Holst in May."),
        ("The tower opened in May 1889.", "The tower opened in June 1889.",
         "The tower opened in May 1889 and is closed at night."),
        ("The dam cost 3 million dollars.", "The dam cost 3 billion dollars.",
         "The dam cost 3 million dollars, which the town paid."),
        ("Ann Lee built the dam.", "It is a myth that Ann Lee built the dam.",
         "In those years Ann Lee built the dam."),
        ("The tower opened in May 1889.", "The tower opened in May 1923.",
         "The tower opened in May 1889 and is closed at night."),
    ],
)  # fmt: skip
def test_a_detail_decides(claim: str, false: str, context: str) -> None:
    """A wrong unit, scale, month, negation, date, number, or the word myth denies a claim."""
    judge = LexicalJudge()
    verdicts, _ = run(judge.attribute([claim, false], [context]))
    assert [verdict.label for verdict in verdicts] == ["supported", "not_supported"]


def test_voices_are_told_apart() -> None:
    """A passive sentence with exchanged names says the same, and is no exchange of roles."""
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
    """A seed repeats the falsified claims, and no false claim equals its original."""
    assert list(falsified(true[:40], seed=3)) == list(falsified(true[:40], seed=3))
    assert all(one.claim != one.false for one in false)
    german = list(falsified([("Der Turm steht seit 1889 in Rom.", ["Der Turm steht."])]))
    assert [one.detail for one in german] == ["number"]


class _Counting:
    """Counts how often a text is matched."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:

        self.contexts = 0
        real = support.match_of

        def match(claim: Any, contexts: Any) -> Any:
            self.contexts += len(contexts)
            return real(claim, contexts)

        monkeypatch.setattr(support, "match_of", match)


def test_work_is_linear_in_the_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times the contexts take at most about four times the matching."""
    texts = [contexts[0][:600] for _, contexts in facts(80, seed=11)]
    claims = [claim for claim, _ in facts(6, seed=12)]
    judge = LexicalJudge()
    work = []
    for count in (20, 80):
        counting = _Counting(monkeypatch)
        run(judge.attribute(claims, texts[:count]))
        work.append(counting.contexts)
        monkeypatch.undo()
    assert work[1] <= 5 * work[0]
    assert work[1] <= 80 * len(claims) * 4


@pytest.mark.parametrize(
    ("claim", "parts"),
    [
        (
            "Ana Ruiz founded Lumo in Lisbon near the museum of Oldport.",
            ["Ana Ruiz founded Lumo.", "The museum of Oldport sold paintings in 1998."],
        ),
        (
            "The founder of Lumo in Lisbon gave Andalusian horses to the museum of Oldport.",
            ["The founder of Lumo lives in Lisbon.", "Andalusian horses are bred.",
             "The museum of Oldport opened in 1998."],
        ),
    ],
    ids=["nothing in common", "three of them"],
)  # fmt: skip
def test_what_contexts_cover_by_chance_is_no_support(claim: str, parts: list[str]) -> None:
    """Contexts without a shared rare word, or three contexts, do not jointly support a claim."""
    (verdict,), _ = run(LexicalJudge().attribute([claim], parts))
    assert verdict.label == "not_supported"


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
    """Pronouns, acronyms, and names that are declared the same refer to one person."""
    (verdict,), _ = run(LexicalJudge().attribute([claim], [context]))
    assert verdict.label == "supported"


def test_a_given_compound_earns_the_share_of_its_facts() -> None:
    """A compound claim is one target, whose credit rises with each fact that is found."""
    claim = "The Rook keyboard, which costs $129, has 84 keys; the cable is red."
    result = ClaimRecall().score(
        retrieved_contexts=["The Rook keyboard costs $129.", "The cable is red."],
        reference_claims=[claim],
    )
    (finding,) = result.findings
    assert finding.steps == ((1, 1 / 3), (2, 2 / 3))
    assert finding.verdict == "partial"
    assert [(part.fact, part.label) for part in finding.parts] == [
        ("The Rook keyboard costs $129.", "supported"),
        ("The Rook keyboard has 84 keys.", "not_supported"),
        ("The cable is red.", "supported"),
    ]


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_compound_survives_saving(tmp_path: Path, ending: str) -> None:
    """A saved report with a compound claim is derived again, fact by fact."""
    sample = Sample(
        id="a",
        retrieved_contexts=["The service is fast.", "It is a cheap service."],
        reference_claims=["The service is fast, cheap, and reliable."],
    )
    report = evaluate([sample], ClaimRecall())
    report.save(tmp_path / f"report.{ending}")
    loaded = Report.load(tmp_path / f"report.{ending}")
    assert loaded[0].results[0].findings == report[0].results[0].findings
    assert loaded[0].results[0].score == pytest.approx(2 / 3)


def test_a_pronoun_is_the_subject_of_the_claim_before() -> None:
    """A claim that begins with "it" is judged with the subject of the claim before."""
    result = ClaimRecall().score(
        retrieved_contexts=["The Basic plan has 3 seats.", "A coffee costs $5 in Lisbon."],
        reference_claims=["The Basic plan has 3 seats.", "It costs $5."],
    )
    assert result.missed == ("It costs $5.",)
