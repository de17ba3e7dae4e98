"""Unambiguous forms of replies are read at the first request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fullrecall import ClaimRecall, LLMJudge
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.scorers.result import Status

CONTEXTS = ["The ferry leaves at 9:40 from Pier 2.", "Bicycles travel free of charge."]
CLAIMS = ["The ferry leaves from Pier 2.", "Bicycles cost 5 euros."]
FIRST = {
    "id": 1,
    "begins": "The ferry",
    "citations": [{"context": 1, "quote": "The ferry leaves at 9:40 from Pier 2."}],
    "together": False,
    "verdict": "supported",
}
SECOND = {
    "id": 2,
    "begins": "Bicycles cost",
    "citations": [],
    "together": False,
    "verdict": "not_supported",
}
ANSWER = json.dumps({"verdicts": [FIRST, SECOND]})
OTHERWISE = json.dumps({"verdicts": [FIRST, {**SECOND, "verdict": "partial"}]})


def both(*changes: dict[str, Any]) -> str:
    """Return the answer with changes to its verdicts; a field that is None is left out."""
    told = [{**one, **change} for one, change in zip((FIRST, SECOND), changes, strict=True)]
    kept = [{name: field for name, field in one.items() if field is not None} for one in told]
    return json.dumps({"verdicts": kept})


def labels(first: object, second: object) -> str:
    """Return the answer with other words for its labels."""
    return both({"verdict": first}, {"verdict": second})


def keyed(*keys: str) -> dict[str, Any]:
    """Return the verdicts in an object, each under its number."""
    told = ({name: one[name] for name in one if name != "id"} for one in (FIRST, SECOND))
    return dict(zip(keys, told, strict=True))


READ = {
    "in an object by number": json.dumps({"verdicts": keyed("1", "2")}),
    "in an object by number, bare": json.dumps(keyed("1", "2")),
    "in an object by name": json.dumps({"verdicts": keyed("claim_1", "claim_2")}),
    "in an object by letter, wrapped": json.dumps({"result": keyed("C1", "C2")}),
    "the first twice": json.dumps({"verdicts": [FIRST, FIRST, SECOND]}),
    "numbers C1 and C2": both({"id": "C1"}, {"id": "C2"}),
    "numbers Q1 and Q2": both({"id": "Q1"}, {"id": "Q2"}),
    "with reasons": labels(
        "supported: context 1 names the pier", "not_supported: no price is given"
    ),
    "with reasons, capitals": labels("Supported: because it says so", "Not supported: nowhere"),
    "with reasons behind dashes": labels("supported (context 1)", "not supported - no price"),
    "1 and 0": labels(1, 0),
    '"1" and "0"': labels("1", "0"),
    "1.0 and 0.0": labels(1.0, 0.0),
    "label for verdict": both(
        {"verdict": None, "label": "supported"}, {"verdict": None, "label": "not_supported"}
    ),
    "one citation as an object": both({"citations": FIRST["citations"][0]}, {}),  # type: ignore[index]
    "a JSON string": json.dumps(ANSWER),
    "a JSON string in an object": json.dumps({"answer": ANSWER}),
    "a list in a JSON string": json.dumps({"verdicts": json.dumps([FIRST, SECOND])}),
    "no opening mark": f"Let me see. {OTHERWISE} Hmm, no.\n</think>\n{ANSWER}",
    "thought": f"<thought>maybe {OTHERWISE}</thought>{ANSWER}",
    "[THINK]": f"[THINK]The first {OTHERWISE}[/THINK]\n{ANSWER}",
    "Harmony": f"<|channel|>analysis<|message|>{OTHERWISE}<|end|><|start|>assistant"
    f"<|channel|>final<|message|>{ANSWER}<|return|>",
    "Harmony with a format": f"<|channel|>analysis<|message|>{OTHERWISE}<|end|><|start|>assistant"
    f"<|channel|>final <|constrain|>json<|message|>{ANSWER}",
    "Harmony without its marks": f"analysisWe need JSON: {OTHERWISE}assistantfinal{ANSWER}",
    "thoughts twice": f"<think>{OTHERWISE}</think> wait <think>again</think>{ANSWER}",
    "a quotation mark in the thoughts": f'<think>the 12" pipe</think>{ANSWER[:-2]},]}}',
}
REFUSED = {
    "a reason that takes it back": labels("supported: but only in part", "not_supported"),
    "another label in the reason": labels("supported: it is contradicted by 2", "not_supported"),
    "a reason with another word": labels("supported: partially", "not_supported"),
    "a part in parentheses": labels("supported (partially)", "not_supported"),
    "a share": labels(0.7, 0),
    "two": labels(2, 0),
    "the second twice, otherwise": json.dumps(
        {"verdicts": [FIRST, SECOND, {**SECOND, "verdict": "partial"}]}
    ),
    "numbers that nobody asked for": json.dumps({"verdicts": keyed("1", "3")}),
    "the letter of another thing": both({"id": "X1"}, {"id": "X2"}),
    "thoughts without an end": f"<think>{ANSWER}",
    "thoughts and nothing behind them": f"<think>{ANSWER}</think>",
    "Harmony without an answer": f"<|channel|>analysis<|message|>{ANSWER}",
}


def result_of(text: str, context: str = CONTEXTS[0]) -> Any:
    """Return the result of one reply, which is not asked for again."""
    judge = LLMJudge(ScriptedChatModel([text], echo=False), reasks=0)
    return ClaimRecall(judge=judge).score(
        retrieved_contexts=[context, CONTEXTS[1]], reference_claims=CLAIMS
    )


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_forms_with_one_meaning_are_read(text: str) -> None:
    """Forms with one meaning are read from the first reply."""
    result = result_of(text)
    assert [finding.verdict for finding in result.findings] == ["supported", "not_supported"]
    assert result.score == 0.5
    assert result.findings[0].evidence[0].verified


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_forms_with_two_meanings_are_not(text: str) -> None:
    """A form with two meanings leaves the claim unmeasured."""
    assert result_of(text).status is Status.UNSCORED


@pytest.mark.parametrize("mark", ["</think>", "[/THINK]", "</thought>", "assistantfinal"])
def test_a_closing_mark_in_a_quote_closes_nothing(mark: str) -> None:
    """A closing mark inside a quote does not cut off the verdicts before it."""
    context = f"{CONTEXTS[0]} {mark}"
    text = both({"citations": [{"context": 1, "quote": context}]}, {})
    for reply in (text, f"<think>first thoughts</think>{text}"):
        assert result_of(reply, context).score == 0.5
