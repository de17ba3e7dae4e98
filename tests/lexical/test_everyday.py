"""The built-in judge on everyday English that was written before it was tuned, case by case."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fullrecall import ClaimRecall
from fullrecall.judge.evidence import Location
from fullrecall.lexical.clauses import facts_of
from fullrecall.lexical.quote_rules import objection

GOLDEN = Path(__file__).parents[1] / "golden"
_MARKER = re.compile(r"^(?:\(?\d+[.)]|[-*•]) ")


def _cases(name: str, failing: frozenset[int] = frozenset()) -> list[Any]:
    """Return the cases of a file, those that are known to fail by their line, from 1."""
    rows = map(json.loads, (GOLDEN / name).read_text(encoding="utf-8").splitlines())
    return [
        pytest.param(
            row,
            id=f"{number}: {row['about']}",
            marks=pytest.mark.xfail(strict=True) if number in failing else (),
        )
        for number, row in enumerate(rows, start=1)
    ]


def _bare(fact: str) -> str:
    return _MARKER.sub("", fact).rstrip(".").replace("`", "").lower()


@pytest.mark.parametrize("row", _cases("reference_answers.jsonl", frozenset({13, 14, 21, 40})))
def test_reference_answers_are_split(row: dict[str, Any]) -> None:
    """A reference answer is split into its facts, in order, each with its subject."""
    assert list(map(_bare, facts_of(row["answer"]))) == list(map(_bare, row["facts"]))


def _credits(claims: list[str], contexts: list[str], question: str | None = None) -> list[Any]:
    """Return each claim's credit by the built-in judge; "unscored" without a verdict."""
    result = ClaimRecall().score(
        user_input=question, retrieved_contexts=contexts, reference_claims=claims
    )
    credit_of = {finding.target.label: finding.credit_at() for finding in result.findings}
    return [credit_of.get(claim, "unscored") for claim in claims]


@pytest.mark.parametrize(
    "row",
    [
        *_cases("everyday_claims.jsonl", frozenset({31, 32, 35})),
        *_cases("everyday_claims_more.jsonl", frozenset({2, 3, 6, 7, 9, 10, 12})),
    ],
)
def test_everyday_claims_are_judged(row: dict[str, Any]) -> None:
    """Each everyday claim has its expected credit, about tables, prices, roles, or names."""
    credits_of = _credits(row["claims"], row["contexts"], row.get("question"))
    assert credits_of == [
        expected if isinstance(expected, str) else pytest.approx(expected, abs=0.001)
        for expected in row["expected"]
    ]


PLANS = "The Basic plan includes 5 GB. The Pro plan includes 50 GB."
TEAM = "Ana leads the design team. Ben writes the release notes."
CAPITALS = "Paris is the capital of France. Berlin is the capital of Germany."
SHOP = "`make lint` checks the code style. `make test` runs the tests."


@pytest.mark.parametrize(
    ("context", "true", "false"),
    [
        (PLANS, "The Pro plan includes 50 GB.", "The Pro plan includes 5 GB."),
        (PLANS, "The Basic plan offers 5 GB.", "The Basic plan offers 50 GB."),
        (TEAM, "Ana leads the design team.", "Ben leads the design team."),
        (CAPITALS, "Berlin is the capital of Germany.", "Berlin is the capital of France."),
        (SHOP, "`make test` runs the tests.", "`make lint` runs the tests."),
        ("The white hose carries water and the blue hose carries air.",
         "The blue hose carries air.", "The blue hose carries water."),
        ("Ida Holm, our head of sales, lives in Lund. Per Berg leads the support team.",
         "Ida Holm is the head of sales.", "Per Berg is the head of sales."),
        ("Port 443 is used for HTTPS. Port 22 is used for SSH.",
         "Port 22 is used for SSH.", "Port 443 is used for SSH."),
        ("Ida Holm buys in Lund. Per Berg manages the warehouse.",
         "The warehouse is managed by Per Berg.", "The warehouse is managed by Ida Holm."),
        ("Dr. Meyer leads the cardiology department. Dr. Lopez works in radiology.",
         "Dr. Meyer leads the cardiology department.",
         "Dr. Lopez leads the cardiology department."),
        ("The Aurora is commanded by Captain Quist. Captain Hale commands the Borealis.",
         "Captain Quist commands the Aurora.", "Captain Hale commands the Aurora."),
        ("SSH uses port 22 and HTTPS port 443.",
         "Port 22 is used for SSH.", "Port 443 is used for SSH."),
        ("The Basic plan costs $10 and the Pro plan $25.",
         "The Pro plan costs $25.", "The Pro plan costs $10."),
        ("Adults pay 12 euros, children 5 euros.",
         "Children pay 5 euros.", "Adults pay 5 euros."),
        ("Redis listens on port 6379 and PostgreSQL on port 5432.",
         "Redis listens on port 6379.", "Redis listens on port 5432."),
        ("In 2009 the club won the cup, and in 2012 it fell.",
         "The club fell in 2012.", "The club fell in 2010."),
    ],
)  # fmt: skip
def test_an_attribute_belongs_to_its_subject(context: str, true: str, false: str) -> None:
    """A claim that takes its subject and its attribute from two statements is not supported."""
    assert _credits([true, false], [context]) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("context", "true", "false"),
    [
        ("The bakery is open daily and closes at 17:00.",
         "The bakery closes at 5 pm.", "The bakery closes at 6 pm."),
        ("Please note that the museum shuts at 17:30.",
         "The museum shuts at 5:30 p.m.", "The museum shuts at 5:30 a.m."),
        ("The gate opens at 12:00.", "The gate opens at noon.", "The gate opens at 1 pm."),
        ("The warranty lasts 24 months.",
         "The warranty lasts two years.", "The warranty lasts 30 months."),
        ("The film runs for 1.5 hours.",
         "The film runs for 90 minutes.", "The film runs for 80 minutes."),
        ("The flight takes 150 minutes.",
         "The flight takes 2 hours and 30 minutes.", "The flight takes 3 hours and 30 minutes."),
        ("The project took 30 months.",
         "The project took two and a half years.", "The project took 2.6 years."),
        ("The ride takes 30 minutes.",
         "The ride takes half an hour.", "The ride takes 40 minutes."),
        ("Water boils at 100 °C.",
         "Water boils at 100 degrees Celsius.", "Water boils at 100 degrees Fahrenheit."),
        ("The speed limit is 50 kilometres per hour.",
         "The speed limit is 50 km/h.", "The speed limit is 50 mph."),
        ("The download is 1,500 MB.", "The download is 1.5 GB.", "The download is 1.5 TB."),
        ("The freezer is kept at minus 18 degrees Celsius.",
         "The freezer is kept at -18 °C.", "The freezer is kept at 18 °C."),
        ("The lamp draws 60 W.", "The lamp draws 60 watts.", "The lamp draws 60 kW."),
    ],
)  # fmt: skip
def test_amounts_and_times_have_several_notations(context: str, true: str, false: str) -> None:
    """The judge and the rules for quotes read an amount or a time in every notation."""
    assert _credits([true, false], [context]) == [1.0, 0.0]
    whole = [Location(0, len(context))]
    assert [objection(claim, context, whole) == "" for claim in (true, false)] == [True, False]


@pytest.mark.parametrize(
    "row",
    [
        *_cases("opposites.jsonl", frozenset({51, 52, 54, 76})),
        *_cases("opposites_more.jsonl", frozenset({42, 47, 49})),
    ],
)
def test_opposites_by_the_built_in_judge(row: dict[str, Any]) -> None:
    """The built-in judge credits a paraphrase, and no contradiction."""
    expected = 1.0 if row["expected"] == "supported" else 0.0
    assert _credits([row["claim"]], [row["context"]]) == [expected]


@pytest.mark.parametrize(
    "row",
    [
        *_cases("opposites.jsonl", frozenset({51, 52, 54, 76})),
        *_cases("opposites_more.jsonl", frozenset({42, 47})),
    ],
)
def test_opposites_by_the_rules_for_quotes(row: dict[str, Any]) -> None:
    """The rules for quotes verify the quote of a paraphrase, and refuse a contradiction."""
    whole = [Location(0, len(row["context"]))]
    is_verified = not objection(row["claim"], row["context"], whole)
    assert is_verified == (row["expected"] == "supported")
