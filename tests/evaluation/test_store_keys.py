"""What an answer and a result are kept under: all that decides them, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.stored import ask

from fullrecall import ClaimRecall, ContextPrecision, IdRecall, LLMJudge, Sample
from fullrecall.judges import Ask, LexicalJudge, Panel, Prompts
from fullrecall.models import Message
from fullrecall.run.keys import completion_key, result_key
from fullrecall.testing import ContainmentJudge, ScriptedChatModel


@pytest.mark.parametrize(
    "other",
    [
        ask("n"),
        ask(messages=(Message("system", "s"), Message("user", "u "))),
        ask(messages=(Message("user", "s"), Message("user", "u"))),
        ask(messages=(Message("system", "su"), Message("user", ""))),
        ask(schema={"a": 2}),
        ask(schema=None),
        ask(schema_name="other"),
        ask(sample=1),
        ask(again=1),
    ],
)
def test_everything_that_decides_an_answer_is_in_its_key(other: Ask) -> None:
    """Any change of model, messages, schema or number is another key."""
    assert completion_key(other) != completion_key(ask())
    assert completion_key(ask()) == completion_key(ask())


def test_who_accepts_an_answer_does_not_change_its_key() -> None:
    """The key is of what is asked, not of who asks."""
    assert completion_key(ask()) == completion_key(ask()._replace(accepts=bool))


@given(st.lists(st.text(), min_size=2, max_size=4), st.lists(st.text(), min_size=2, max_size=4))
def test_keys_differ_exactly_where_the_texts_do(ours: list[str], theirs: list[str]) -> None:
    """No way of cutting texts into messages makes two requests one; half emoji are texts too."""
    keys = [
        completion_key(ask(messages=tuple(Message("user", text) for text in texts)))
        for texts in (ours, theirs)
    ]
    assert (keys[0] == keys[1]) == (ours == theirs)


JUDGE = LLMJudge(ScriptedChatModel(["x"]))
PLAIN = Sample(
    user_input="q",
    reference="r",
    response="a",
    retrieved_contexts=["one", "two"],
    reference_contexts=["rc"],
    reference_claims=["c"],
    reference_entities=["e"],
)


@pytest.mark.parametrize(
    "scorer",
    [
        ClaimRecall(judge=LexicalJudge()),
        ClaimRecall(judge=LexicalJudge(threshold=0.7)),
        ClaimRecall(judge=Panel([JUDGE, LexicalJudge()])),
        ClaimRecall(judge=LLMJudge(ScriptedChatModel(["x"], name="other"))),
        ClaimRecall(judge=replace(JUDGE, claims_per_call=3)),
        ClaimRecall(judge=replace(JUDGE, window=1_000)),
        ClaimRecall(judge=replace(JUDGE, reasks=1)),
        ClaimRecall(judge=replace(JUDGE, sample=1)),
        ClaimRecall(judge=replace(JUDGE, prompts=Prompts(version="mine"))),
        ClaimRecall(judge=replace(JUDGE, prompts=Prompts(attribute="Judge {items}."))),
        ClaimRecall(judge=replace(JUDGE, prompts=Prompts(attribute="Rate {items}."))),
        ClaimRecall(judge=JUDGE, partial_credit=0.5),
        ClaimRecall(judge=JUDGE, require_evidence=True),
        ClaimRecall(judge=JUDGE, depth=3),
        ClaimRecall(judge=JUDGE, min_measured=0.5),
        ClaimRecall(judge=JUDGE, split="sentences"),
        ContextPrecision(judge=JUDGE),
    ],
    ids=lambda scorer: json.dumps(scorer.method.parameters, default=str)[-60:],
)
def test_every_parameter_is_in_a_results_key(scorer: Any) -> None:
    """Any other scorer, parameter, judge, model or prompt has results of its own."""
    key = result_key(scorer, PLAIN)
    assert key is not None
    assert key != result_key(ClaimRecall(judge=JUDGE), PLAIN)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("user_input", "other"), ("reference", "other"), ("response", "other"),
        ("retrieved_contexts", ["two", "one"]), ("retrieved_contexts", ["one"]),
        ("retrieved_contexts", []), ("retrieved_contexts", ["onetwo"]),
        ("reference_contexts", ["other"]), ("reference_claims", ["other"]),
        ("reference_claims", [{"text": "c", "importance": "okay"}]),
        ("reference_entities", ["other"]), ("retrieval", {"error": "down"}),
    ],
)  # fmt: skip
def test_every_field_that_is_read_is_in_a_results_key(field: str, value: Any) -> None:
    """A sample that differs in what judged scorers read has a result of its own."""
    other = Sample(**{**PLAIN.to_dict(), field: value})
    scorer = ClaimRecall(judge=JUDGE)
    assert result_key(scorer, other) != result_key(scorer, PLAIN)


def test_what_is_not_read_is_not_in_a_results_key() -> None:
    """IDs, scores and metadata, of samples and of contexts, and a scorer's name cost nothing."""
    other = Sample(
        **{
            **PLAIN.to_dict(),
            "id": "7",
            "group": "g",
            "metadata": {"when": object()},
            "retrieved_contexts": [
                {"text": "one", "id": "d", "score": 0.3, "metadata": {"a": 1}},
                "two",
            ],
        }
    )
    key = result_key(ClaimRecall(judge=JUDGE), PLAIN)
    assert result_key(ClaimRecall(judge=JUDGE, name="mine"), other) == key


def test_what_cannot_be_keyed_has_no_key() -> None:
    """Scorers that ask nobody, those of other packages, and judges without a name."""
    nameless = ContainmentJudge(name=None)  # type: ignore[arg-type]

    class Mine(ClaimRecall):
        pass

    for scorer in (
        IdRecall(),
        ContextPrecision(by=IdRecall()),
        Mine(judge=JUDGE),
        ClaimRecall(judge=nameless),
    ):
        assert result_key(scorer, PLAIN) is None
