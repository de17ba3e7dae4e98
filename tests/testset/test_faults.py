"""`check` names forty planted faults of twenty kinds, and finds none in good samples."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from fullrecall.errors import ParameterError
from fullrecall.judge.flow import run
from fullrecall.judge.models import ChatRequest, Completion
from fullrecall.lexical import LexicalJudge
from fullrecall.testing import ScriptedChatModel
from fullrecall.testset import Problem, check
from fullrecall.testset.verification import same_verdicts

from .conftest import document


def good(number: int) -> dict[str, Any]:
    """Return a correct sample about one of the made-up documents."""
    name, text = document(number)
    thing, town, year = re.search(r"The (\w+) of (\w+) was completed in (\d+)", text).groups()
    builder = re.search(r"designed by (\w+)", text)[1]
    quote = re.search(r"The \w+ of \w+ was completed in \d+\.", text)[0]
    start = text.index(quote)
    return {
        "id": f"q{number}",
        "user_input": f"Which year saw {builder} finish {town}'s {thing}, roughly speaking?",
        "reference": year,
        "reference_claims": [f"{town}'s {thing} dates from {year}."],
        "reference_context_ids": [name],
        "reference_contexts": [
            {"text": quote, "source": name, "start": start, "end": start + len(quote)}
        ],
    }


LONG = " ".join(f"word{n}" for n in range(400)) + ". The tower fell in 1666."
EXTRA = {
    "annual-report-2019.pdf": "The company sold 4,211 engines in that year, most of them abroad.",
    "long": LONG,
    "blank": " -- ",
    "doc-7-copy": document(7)[1].replace("carts of stone", "carts of stones"),
}


def without(sample: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return a sample without fields."""
    return {name: value for name, value in sample.items() if name not in names}


def spanned(sample: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a sample whose span is changed."""
    return {**sample, "reference_contexts": [{**sample["reference_contexts"][0], **changes}]}


def about(name: str, question: str, **fields: Any) -> dict[str, Any]:
    """Return a sample about one of the extra documents."""
    return {"id": name, "user_input": question, "reference_context_ids": [name], **fields}


def whole() -> dict[str, Any]:
    """Return a sample whose span is all of a long document."""
    span = {"text": LONG, "source": "long", "start": 0, "end": len(LONG)}
    return about("long", "Which disaster hit that spire?", reference_contexts=[span])


FAULTS: dict[Problem, Any] = {
    Problem.NO_QUESTION: lambda n: {**good(n), "user_input": " "},
    Problem.NO_REFERENCE: lambda n: without(good(n), "reference_context_ids", "reference_contexts"),
    Problem.UNKNOWN_ID: lambda n: {**good(n), "reference_context_ids": [f"missing {n}"]},
    Problem.SPAN: lambda n: spanned(good(n), start=2, end=2 + 30),
    Problem.TWIN: lambda _: {**good(7), "id": "twin"},
    Problem.COPIED: lambda n: {
        **good(n),
        "user_input": f"Is it so: {good(n)['reference_contexts'][0]['text']} Who says?",
    },
    Problem.POINTS: lambda n: {
        **good(n),
        "user_input": f"According to the text, {good(n)['user_input']}",
    },
    Problem.WHOLE: lambda _: whole(),
    Problem.EMPTY: lambda n: about("blank", f"What stands nowhere at all, {n}?"),
    Problem.UNBACKED: lambda n: {**good(n), "reference": "It opened in 1999."},
    Problem.ELSEWHERE: lambda n: spanned(
        good(n),
        text=document(n)[1][document(n)[1].index("Records of") :][:80],
        start=document(n)[1].index("Records of"),
        end=document(n)[1].index("Records of") + 80,
    ),
    Problem.DUPLICATE: lambda n: good(30 if n % 2 else 0),
    Problem.UNCLEAR: lambda n: {**good(n), "user_input": f"VAGUE since when, number {n}?"},
    Problem.UNANSWERED: lambda n: {**good(n), "user_input": f"UNKNOWN who paid the mason {n}?"},
    Problem.SEVERAL: lambda n: {**good(n), "user_input": f"MANY what do notes {n} list?"},
    Problem.DIFFERENT: lambda n: {**good(n), "user_input": f"OTHER date of notes {n}, which one?"},
    Problem.UNSUPPORTED: lambda n: {
        **good(n),
        "reference_claims": [f"FALSE the building {n} was never completed."],
    },
}


def reader() -> ScriptedChatModel:
    """Return a model that judges correctly: faults are written in capitals."""

    def answer(request: ChatRequest) -> Completion:
        asked = request.messages[1].content
        question = asked.split("Questions:\n", 1)[1].split("\n", 1)[0]
        texts = asked.split("Documents:\n", 1)[1].split("\n\n", 1)[0].splitlines()
        quote = json.loads(texts[0].split(" ", 1)[1])
        statements = [
            {"id": n, "supported": "FALSE" not in line, "documents": [1]}
            for n, line in enumerate(re.findall(r"^\d+ .* - quote: .*$", asked, re.MULTILINE), 1)
        ]
        one = {
            "id": 1,
            "stands_alone": "VAGUE" not in question,
            "several": "MANY" in question,
            "answerable": "UNKNOWN" not in question,
            "answer": "in 1066" if "OTHER" in question else "as documented",
            "quotes": [{"document": 1, "quote": quote}],
        }
        return Completion(json.dumps({"questions": [one], "statements": statements}), 1, 1)

    return ScriptedChatModel(answer, name="reader")


PAGES = {**dict(document(number) for number in range(60)), **EXTRA}


@pytest.mark.parametrize("problem", FAULTS)
def test_planted_faults_are_named(problem: Problem) -> None:
    """Two planted faults of each kind are named among ten good samples."""
    planted = [{**FAULTS[problem](n), "id": f"bad {n}"} for n in (31, 44)]
    samples = [good(n) for n in (0, 10, 12, 14, 16, 18, 20, 22, 24, 30)]
    audit = check([*samples, *planted], PAGES, judge=reader(), progress=False)
    named = {issue.sample for issue in audit.issues if issue.problem is problem}
    assert {"bad 31", "bad 44"} <= named
    assert not any(issue.sample.startswith("q") for issue in audit.issues)


def test_good_samples_are_not_refused() -> None:
    """Forty good samples, read by the same model, have no problem."""
    draw = random.Random(0)
    numbers = [n for n in draw.sample(range(60), 40) if n != 7]
    audit = check([good(n) for n in numbers], PAGES, judge=reader(), progress=False)
    assert audit.issues == ()


def test_a_judge_that_decides_nothing_is_asked_no_more() -> None:
    """A judge without a verdict on five samples gets at most ten of fifty calls."""
    silent = ScriptedChatModel(lambda _: Completion("I cannot help.", 1, 1))
    samples = [good(n) for n in range(8, 60)]
    audit = check(samples, PAGES, judge=silent, progress=False)
    assert len(silent.requests) <= 10
    assert audit.counts[Problem.UNCHECKED] == 5
    assert str(audit).splitlines()[1:] == [f"       5  {Problem.UNCHECKED}"]


def test_a_model_is_asked_about_questions_that_have_a_text() -> None:
    """Samples without a question, or without a text, are not sent; a judge needs a model."""
    silent = ScriptedChatModel(lambda _: Completion("", 1, 1))
    samples = [without(good(8), "user_input"), about("missing", "What does it say?")]
    check(samples, PAGES, judge=silent, progress=False)
    assert silent.requests == []
    two = {
        **FAULTS[Problem.UNSUPPORTED](8),
        "reference_contexts": [*good(8)["reference_contexts"] * 2],
    }
    audit = check([two], PAGES, judge=reader(), progress=False)
    assert Problem.UNSUPPORTED not in audit.counts  # which context states the claim is unknown
    with pytest.raises(ParameterError, match="judge: expected a model, or a judge with one"):
        check([good(8)], PAGES, judge=LexicalJudge(), progress=False)


WHOLE = json.dumps({"contexts": [{"id": 1, "same": True}, {"id": 2, "same": False}]})
HALF = json.dumps({"contexts": [{"id": 1, "same": True}]})


@pytest.mark.parametrize(
    ("replies", "requests", "positions"),
    [
        ([WHOLE], 1, [0, 1]),
        ([HALF, WHOLE], 2, [0, 1]),
        ([HALF, HALF], 2, [0]),
        (["prose", WHOLE], 2, [0, 1]),
        (["prose", "prose"], 2, []),
    ],
)
def test_a_reply_without_each_verdict_is_asked_for_once_more(
    replies: list[str], requests: int, positions: list[int]
) -> None:
    """A whole reply is taken at once; of a second incomplete one, the verdicts that it has."""
    model = ScriptedChatModel([*replies, "not asked for"])
    verdicts, usage = run(same_verdicts(model, ChatRequest(()), 2))
    assert (usage.calls, len(model.requests)) == (requests, requests)
    assert sorted(verdicts) == positions
