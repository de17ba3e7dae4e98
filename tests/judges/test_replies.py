"""What counts as an answer in a reply, and what never does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fullrecall import ClaimRecall, ContextPrecision, LLMJudge
from fullrecall.judges import replies
from fullrecall.judges.replies import text_items, verdict_objects
from fullrecall.measures import Recall
from fullrecall.result import Status
from fullrecall.testing import ScriptedChatModel


def verdict(number: int, label: str = "supported", *contexts: int, **more: Any) -> dict[str, Any]:
    """Return one verdict as a model writes it."""
    cited = [{"context": n, "quote": ""} for n in contexts or (1,)]
    return {"id": number, "verdict": label, "citations": cited, "together": False, **more}


def score_of(text: str, **parameters: Any) -> Any:
    """Return the result for two claims over two contexts by a model that says `text`."""
    judge = LLMJudge(ScriptedChatModel([text]), reasks=0)
    return ClaimRecall(judge=judge, **parameters).score(
        retrieved_contexts=["alpha", "beta"], reference_claims=["first", "second"]
    )


BOTH = json.dumps({"verdicts": [verdict(1), verdict(2, "not_supported")]})


def test_a_model_that_echoes_its_prompt_gives_no_verdict_and_no_claims() -> None:
    """The prompts' examples are no answers: neither verdicts nor claims come of them."""
    model = ScriptedChatModel(lambda request: request.messages[0].content)
    judge = LLMJudge(model, reasks=0)
    given = ClaimRecall(judge=judge).score(retrieved_contexts=["a"], reference_claims=["x"])
    split = ClaimRecall(judge=judge).score(retrieved_contexts=["a"], reference="X is y.")
    ranked = ContextPrecision(judge=judge).score(user_input="q", retrieved_contexts=["a"])
    assert {result.status for result in (given, split, ranked)} == {Status.UNSCORED}


@pytest.mark.parametrize(
    "text",
    [
        BOTH + "\nSee [1].",
        BOTH + '\nNote: the context says {"ok": true}.',
        f"<THINK>draft {BOTH.replace('not_supported', 'supported')}</THINK>{BOTH}",
        f"{BOTH}\nOnce more:\n{BOTH}",
    ],
    ids=["reference behind", "object behind", "thoughts in capitals", "the same twice"],
)
def test_what_stands_beside_the_answer_is_none(text: str) -> None:
    """Lists and objects around the answer change nothing."""
    assert score_of(text).score == 0.5


@pytest.mark.parametrize(
    "text",
    [
        BOTH + json.dumps({"verdicts": [verdict(1), verdict(2)]}),
        '{"verdicts":' + json.dumps([verdict(1), verdict(2, "not_supported")])
        + ',"verdicts":' + json.dumps([verdict(1), verdict(2)]) + "}",
        BOTH.replace('"verdict": "not_supported"',
                     '"verdict": "not_supported", "verdict": "supported"'),
        BOTH.replace('"id": 2', f'"id": "{"9" * 5000}"'),
    ],
    ids=["two answers that differ", "two lists", "two labels", "a number of 5,000 digits"],
)  # fmt: skip
def test_contradictions_are_unscored(text: str) -> None:
    """A reply that says two things about a claim says nothing about it."""
    result = score_of(text)
    assert (result.status, result.score) == (Status.UNSCORED, None)


def test_tags_inside_a_quote_are_the_contexts_words() -> None:
    """A context that contains thinking tags cannot move a verdict to another claim."""
    first = verdict(1, "not_supported")
    first["citations"] = [{"context": 1, "quote": "<think>"}]
    second = verdict(2)
    second["citations"] = [{"context": 1, "quote": "</think>x"}]
    result = score_of(json.dumps({"verdicts": [first, second]}))
    assert [finding.verdict for finding in result.findings] == ["not_supported", "supported"]


def test_whole_verdicts_survive_a_cut_anywhere() -> None:
    """Wherever the reply ends, the verdicts before the cut are read."""
    for end in range(BOTH.index('"id": 2') - 2, len(BOTH)):
        assert verdict_objects(BOTH[:end])[:1] == [verdict(1)], BOTH[:end]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('{"items":["x","y"]}', ["x", "y"]),
        ('["x", "y"]', ["x", "y"]),
        ('```json\n["x"]\n```', ["x"]),
        ('As in ["1"], {"items":["x","y"]}', ["x", "y"]),
        ('{"items":["a"]} better: {"items":["a","b"]}', ["a", "b"]),
        ('{"items":["…", " x "]}', ["x"]),
        ('{"items":[["a","b"],["c', None),
        ('{"items":["a",', None),
        ("- a\n- b", None),
        ('{"items":[1]}', None),
    ],
)
def test_lists_of_items(text: str, items: list[str] | None) -> None:
    """The last whole list under its name; nothing is taken from what did not parse."""
    assert text_items(text) == items


HOSTILE = {
    "brackets": "[",
    "braces": "{",
    "nested": "[1,",
    "escapes": '\\"',
    "tags": "<think>",
    "empty thoughts": "<think></think>",
    "strings": '["',
    "objects": '{"id":1,',
    "objects in objects": '{"a":',
    "whole lists in an open one": "[[1],",
    "commas": ", ",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_hostile_replies_are_read_in_linear_work(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is decoded in search of an answer grows with the reply, not with its square."""
    read = 0
    real = replies._DECODER.raw_decode

    class Counting:
        def raw_decode(self, text: str) -> Any:
            nonlocal read
            read += len(text)
            return real(text)

    monkeypatch.setattr(replies, "_DECODER", Counting())
    work = []
    for count in (4_000, 16_000):
        read = 0
        assert verdict_objects(piece * count) == []
        work.append(read)
    assert work[1] <= 6 * work[0] + 100_000


def test_many_verdicts_in_many_forms() -> None:
    """200,000 verdicts are read, in one list, one a line, cut off, or said twice."""
    many = [{"id": number, "verdict": "supported"} for number in range(200_000)]
    whole = json.dumps({"verdicts": many})
    assert len(verdict_objects(whole)) == 200_000
    assert len(verdict_objects(whole[:-5])) == 199_999
    assert len(verdict_objects("\n".join(json.dumps(one) for one in many[:50_000]))) == 50_000
    assert len(verdict_objects(whole + whole)) == 200_000


def test_relevance_must_be_shown_on_the_context_itself() -> None:
    """A verdict on context 2 that cites context 1 is no verdict."""
    text = json.dumps({"verdicts": [verdict(1, "not_supported"), verdict(2, "supported", 1)]})
    judge = LLMJudge(ScriptedChatModel([text]), reasks=0)
    result = ContextPrecision(judge=judge).score(user_input="q", retrieved_contexts=["a", "b"])
    assert result.status is Status.UNSCORED
    assert "cites context 1" in result.reason


def test_windows_keep_the_earlier_rank() -> None:
    """Support by two contexts together in one window is not lost to a later single one."""

    def script(request: Any) -> str:
        contexts = request.messages[1].content
        if "AAA" in contexts:
            return json.dumps({"verdicts": [{**verdict(1, "supported", 1, 2), "together": True}]})
        return json.dumps({"verdicts": [verdict(1, "supported", 3)]})

    texts = ["AAA " * 12, "BBB " * 12, "CCC " * 20]
    judge = LLMJudge(ScriptedChatModel(script), window=110)
    result = ClaimRecall(judge=judge).score(retrieved_contexts=texts, reference_claims=["c"])
    assert [result[Recall @ k] for k in (1, 2, 3)] == [0.0, 1.0, 1.0]
    assert result.findings[0].ranks == (1, 2, 3)
