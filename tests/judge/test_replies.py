"""The answer is read from the right part of a reply, and other parts are ignored."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fullrecall import ClaimRecall, ContextPrecision, LLMJudge, Sample
from fullrecall.judge.flow import Done, advance
from fullrecall.judge.models import Completion, Failure
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.judge.replies import text_items, verdict_objects
from fullrecall.judge.verdicts import checked
from fullrecall.measures import Recall
from fullrecall.scorers.result import Status


def verdict(number: int, label: str = "supported", *contexts: int, **more: Any) -> dict[str, Any]:
    """Return one verdict as a model writes it."""
    cited = [{"context": n, "quote": ""} for n in contexts or (1,)]
    return {"id": number, "verdict": label, "citations": cited, "together": False, **more}


def score_of(text: str, **parameters: Any) -> Any:
    """Return the result for two claims over two contexts by a model that replies `text`."""
    judge = LLMJudge(ScriptedChatModel([text]), reasks=0)
    return ClaimRecall(judge=judge, **parameters).score(
        retrieved_contexts=["alpha", "beta"], reference_claims=["first", "second"]
    )


BOTH = json.dumps({"verdicts": [verdict(1), verdict(2, "not_supported")]})


def test_a_model_that_echoes_its_prompt_gives_no_verdict_and_no_claims() -> None:
    """The examples in the prompts give neither verdicts nor claims."""
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
def test_lists_beside_the_answer_are_ignored(text: str) -> None:
    """Lists and objects around the answer are ignored."""
    assert score_of(text).score == 0.5


@pytest.mark.parametrize(
    "text",
    [
        BOTH + json.dumps({"verdicts": [verdict(1), verdict(2)]}),
        '{"verdicts":'
        + json.dumps([verdict(1), verdict(2, "not_supported")])
        + ',"verdicts":'
        + json.dumps([verdict(1), verdict(2)])
        + "}",
        BOTH.replace(
            '"verdict": "not_supported"', '"verdict": "not_supported", "verdict": "supported"'
        ),
        BOTH.replace('"id": 2', f'"id": "{"9" * 5000}"'),
    ],
    ids=["two answers that differ", "two lists", "two labels", "a number of 5,000 digits"],
)
def test_contradictions_are_unscored(text: str) -> None:
    """A reply with two different verdicts on a claim gives no verdict on it."""
    result = score_of(text)
    assert (result.status, result.score) == (Status.UNSCORED, None)


def test_tags_inside_a_quote_are_the_contexts_words() -> None:
    """Thinking tags inside a quote move no verdict to another claim."""
    first = verdict(1, "not_supported")
    first["citations"] = [{"context": 1, "quote": "<think>"}]
    second = verdict(2)
    second["citations"] = [{"context": 1, "quote": "</think>x"}]
    result = score_of(json.dumps({"verdicts": [first, second]}))
    assert [finding.verdict for finding in result.findings] == ["not_supported", "supported"]


def test_the_verdicts_of_a_refusal_do_not_count() -> None:
    """Verdicts in a completion with a final failure are not read; its failure is the reason."""
    refused = Completion(BOTH, failure=Failure.REFUSED, detail="no")
    judge = LLMJudge(ScriptedChatModel([refused]), reasks=0)
    result = ClaimRecall(judge=judge).score(
        retrieved_contexts=["alpha", "beta"], reference_claims=["first", "second"]
    )
    assert result.status is Status.UNSCORED
    assert "refused: no" in result.reason


@pytest.mark.parametrize(
    "before",
    ["{x " * 300, "[" + "9" * 5_000, '{"verdicts": [{"id": [1], "verdict": "supported"}]}'],
    ids=["many braces", "a number of 5,000 digits", "a list as id"],
)
def test_an_answer_after_values_that_cannot_be_read(before: str) -> None:
    """The answer is read after braces, long numbers, and verdicts with a list as `id`."""
    text = f"{before}{' ' * 2_000}{BOTH}"
    assert verdict_objects(text)[-2:] == [verdict(1), verdict(2, "not_supported")]


def test_whole_verdicts_survive_a_cut_anywhere() -> None:
    """If a reply is cut anywhere, the whole verdicts before the cut are read."""
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
    """The last whole list under its name counts; a list that does not parse is ignored."""
    assert text_items(text) == items


def test_many_verdicts_in_many_forms() -> None:
    """Hundreds of verdicts are read, in one list, one per line, cut off, or repeated."""
    many = [{"id": number, "verdict": "supported"} for number in range(4_000)]
    whole = json.dumps({"verdicts": many})
    assert len(verdict_objects(whole)) == 4_000
    short = json.dumps({"verdicts": many[:400]})
    assert len(verdict_objects(short[:-5])) == 399
    assert len(verdict_objects("\n".join(json.dumps(one) for one in many[:500]))) == 500
    assert len(verdict_objects(short + short)) == 400
    beyond = json.dumps({"verdicts": [{"id": number} for number in range(9_000)]})
    assert len(verdict_objects(beyond)) == 4_000


SLOW = (
    ("{", '{"id":1}'), ("", "{["), ("", "[]"), ("", "[{}</think>{"), ("", "[1,]tru"), ("", ",]"),
    ('"]', "\n"), ("x", " "), ("", ", ]{a"), ("", '"\\"",]'), ("", '{"id":1}{"a":'), ("", '{"a":'),
    ("", "["), ("", "{"), ("", "[1,"), ("", '\\"'), ("", "<think>"), ("", "<think></think>"),
    ("", '["'), ("", '{"id":1,'), ("", "[[1],"), ("", ", "), ("[" * 500, "1,"),
)  # fmt: skip
"""Beginnings, and pieces repeated after them: each took 0.2 s or more at 200,000 characters."""


@pytest.mark.parametrize(("beginning", "piece"), SLOW)
def test_no_reply_holds_up_an_event_loop(beginning: str, piece: str) -> None:
    """A reply of the longest allowed length is searched in 50 ms of CPU."""
    text = (beginning + piece * 200_000)[:200_000]
    for read in (verdict_objects, text_items):
        assert least_cpu(lambda read=read: read(text)) < bound()


@pytest.mark.parametrize("piece", ["the tower ", "…the ", "“ß ", "\\u200b"])
@pytest.mark.parametrize("size", [40_000, 4_000, 390, 40])
def test_no_quote_holds_up_an_event_loop(piece: str, size: int) -> None:
    """With many long quotes, similar to five contexts, each step takes at most 50 ms."""
    near = "the tower was finished in 1372 by Bonanno, and stands "
    contexts = [(near + f"number {n} ") * 40 for n in range(5)]
    quote = (piece * size)[: size // 2] + (contexts[0][: size // 2 - 9] + "leaning.")[: size // 2]
    cited = [{"context": n % 5 + 1, "quote": quote} for n in range(min(200, 40_000 // size))]
    given = {**verdict(1), "citations": cited}
    judge = LLMJudge(ScriptedChatModel([""]), reasks=0)
    sample = Sample(retrieved_contexts=contexts, reference_claims=["The tower was finished."])
    completion = Completion(json.dumps({"verdicts": [given]}))

    def steps() -> Iterator[float]:
        """Run the flow to its end, and yield the CPU seconds of each step."""
        flow = ClaimRecall(judge=judge).flow(sample)
        asked: Any = advance(flow, None)
        while not isinstance(asked, Done):
            began = time.thread_time()
            for ask in asked:
                assert ask.accepts is not None
                ask.accepts(completion)
            yield time.thread_time() - began
            began = time.thread_time()
            asked = advance(flow, [completion] * len(asked))
            yield time.thread_time() - began

    assert min(max(steps()) for _ in range(3)) < bound()


def test_more_quotes_than_are_looked_up_void_a_reply() -> None:
    """A reply with more quotes than allowed is void, and the reason names the limit."""
    text = json.dumps(
        {"verdicts": [{**verdict(1), "citations": [{"context": 1, "quote": "x"}] * 201}]}
    )
    result = score_of(text)
    assert result.status is Status.UNSCORED
    assert "201 citations with 201 characters, at most 200 with 40,000" in result.reason
    most = [{"context": 1, "quote": "x" * 200}] * 200
    assert checked([{**verdict(1), "citations": most}], {1: "first"}, (1,))[1].label == "supported"


def bound() -> float:
    """Return 50 ms, or the time that counting takes now: other processes disturb the caches."""

    def count() -> None:
        for _ in range(2_000_000):
            pass

    began = time.thread_time()
    count()
    return max(0.05, time.thread_time() - began)


def least_cpu(act: Callable[[], object]) -> float:
    """Return the least CPU seconds of five calls, to exclude the load of a busy machine."""
    least = float("inf")
    for _ in range(5):
        began = time.thread_time()
        act()
        least = min(least, time.thread_time() - began)
        if least < 0.05:
            break
    return least


def test_relevance_must_be_shown_on_the_context_itself() -> None:
    """A verdict on context 2 that cites context 1 does not count."""
    text = json.dumps({"verdicts": [verdict(1, "not_supported"), verdict(2, "supported", 1)]})
    judge = LLMJudge(ScriptedChatModel([text]), reasks=0)
    result = ContextPrecision(judge=judge).score(user_input="q", retrieved_contexts=["a", "b"])
    assert result.status is Status.UNSCORED
    assert "cites context 1" in result.reason


def test_windows_keep_the_earlier_rank() -> None:
    """Support by two contexts together in one window keeps its rank beside a later window."""

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


EXAMPLE = (
    '{"verdicts":[{"id":1,"begins":"…","citations":[{"context":2,"quote":"…"}],'
    '"together":false,"verdict":"…"}]}'
)


def both(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the verdicts of `BOTH` with their echoes, each with its changes."""
    told = [verdict(1, begins="first"), verdict(2, "not_supported", begins="second")]
    return [{**one, **change} for one, change in zip(told, changes or ({}, {}), strict=True)]


@pytest.mark.parametrize(
    "reply",
    [
        {"result": {"verdicts": both()}},
        {"status": "ok", "response": {"data": {"verdicts": both()}}},
        {"results": both()},
        [{"verdicts": both()}],
        {"verdicts": both({"id": "claim 1"}, {"id": "Claim 2"})},
        {"verdicts": both({"id": 1.0}, {"id": "2.0"})},
        {"verdicts": both({"id": "#1"}, {"id": "2."})},
        {"verdicts": both({"verdict": True}, {"verdict": False})},
        {"verdicts": both({"verdict": "**Supported**"}, {"verdict": "__Not supported__"})},
        {"verdicts": both({"citations": [{"context": "context 1", "quote": ""}]}, {})},
    ],
    ids=[
        "wrapped",
        "wrapped twice",
        "another name",
        "in a list",
        "claim 1",
        "1.0",
        "#1",
        "booleans",
        "bold",
        "context 1",
    ],
)
def test_unambiguous_replies_are_read(reply: Any) -> None:
    """Wrappers, numbers in other forms, booleans and bold type cost no second request."""
    assert score_of(json.dumps(reply)).score == 0.5
    assert score_of(f"{EXAMPLE}\n{json.dumps(reply)}").score == 0.5


@pytest.mark.parametrize(
    "reply",
    [
        {"draft": {"verdicts": both()}, "final": {"verdicts": both({"verdict": "partial"}, {})}},
        {"verdicts": both({"id": 1.5}, {"id": 2})},
        {"verdicts": both({"id": "claim 1"}, {"id": "claim 3"})},
        {"verdicts": both({"id": "1-2"}, {})},
        {"verdicts": both({"verdict": "…"}, {})},
    ],
    ids=["two answers", "1.5", "claim 3", "1-2", "no word"],
)
def test_ambiguous_replies_are_not_read(reply: Any) -> None:
    """Two different answers, invalid numbers, and an undecided verdict stay unscored."""
    assert score_of(json.dumps(reply)).status is Status.UNSCORED


def test_an_echoed_example_lists_no_claims() -> None:
    """The list that follows the prompt's own example counts, wrapped or not."""
    assert text_items('{"items":["…"]}\n{"result": {"items": ["a"]}}') == ["a"]
