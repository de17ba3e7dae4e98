"""Verdicts of one request are checked together, and those of several windows are merged."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall.errors import ParameterError
from fullrecall.judge import Cascade, Citation, LLMJudge, Verdict
from fullrecall.judge.flow import Done, advance, run
from fullrecall.judge.judge import LABELS
from fullrecall.judge.models import Completion
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.judge.quotes import Quotes
from fullrecall.judge.replies import text_items
from fullrecall.judge.verdicts import checked, merged

TARGETS = {1: "The mill is by the lock.", 2: "The mine is by the lock.", 3: "It has 12 wheels."}
FOREIGN = "the judge gave a verdict on '4', which was not asked for"
NONE, DENIED = "the judge gave no verdict", "not_supported"
REPEAT = "the judge's verdict begins 'The', as 1, 2 do: repeat more"


def misfit(number: int, begins: str) -> list[str]:
    """Return the problem of all verdicts of a reply in which one begins like no target."""
    return [f"the judge's verdict {number} begins {begins!r}, and {number} does not"] * 3


@pytest.mark.parametrize(
    ("begins", "outcome"),
    [
        ([(1, "The mill is"), (2, "The mine is"), (3, "It has")], [DENIED] * 3),
        ([(1, "THE MILL, is"), (2, "the mine"), (3, "It has 12 wheels. And?")], [DENIED] * 3),
        ([(1, "The mlil is by the"), (2, "The mine is"), (3, "It")], [DENIED] * 3),
        ([(1, "The"), (2, "The mine"), (3, "It")], [REPEAT, DENIED, DENIED]),
        ([(1, ""), (2, "The mine"), (3, "It")],
         ["the judge's verdict does not repeat how its target begins ('begins')", DENIED, DENIED]),
        ([(1, "The mine is"), (2, "The mine"), (3, "It")], misfit(1, "The mine is")),
        ([(1, "The mill"), (2, "The mine"), (3, "It has 13 wheels")],
         misfit(3, "It has 13 wheels")),
        ([(1, "Nothing"), (2, "The mine"), (3, "It")], misfit(1, "Nothing")),
        ([(1, "The mill"), (2, "The mine")], [DENIED, DENIED, NONE]),
        ([(1, "The mill"), (1, "The mill"), (2, "The mine")],
         ["the judge gave 2 verdicts", DENIED, NONE]),
        ([(1, "The mill"), (4, "The mine"), (3, "It")], [FOREIGN] * 3),
    ],
)  # fmt: skip
def test_each_verdict_repeats_the_beginning_of_its_target(
    begins: list[tuple[int, str]], outcome: list[str]
) -> None:
    """A misspelled beginning is accepted; that of another target makes all verdicts void."""
    verdicts = [
        {"id": number, "verdict": DENIED, "citations": [], "begins": text}
        for number, text in begins
    ]
    found = checked(verdicts, TARGETS, (1, 2))
    assert [each.label or each.problem for each in found.values()] == outcome


@pytest.mark.parametrize(
    ("label", "contexts", "outcome"),
    [
        ("supported", [2], "supported"),
        ("supported", [], "the judge cites no context for its verdict"),
        ("supported", [3], "the judge cites context 3, which is not there"),
        ("supported", [0], "the judge cites context 0: contexts are counted from 1"),
        ("contradicted", [], "contradicted"),
        ("maybe", [2], f"the judge's verdict 'maybe' is none of {', '.join(LABELS)}"),
    ],
)  # fmt: skip
def test_a_supported_target_cites_contexts_of_the_request(
    label: str, contexts: list[int], outcome: str
) -> None:
    """A verdict of support without a citation, or of a context that is not there, is void."""
    cited = [{"context": number, "quote": "q"} for number in contexts]
    verdict = {"id": 1, "verdict": label, "citations": cited, "together": False}
    (found,) = checked([verdict], {1: "The mill."}, (1, 2)).values()
    assert (found.label or found.problem) == outcome


A, B, C = (Citation(number, quote) for number, quote in enumerate("abc"))
VOID = Verdict(None, problem="p")
UNSURE = Verdict("not_supported", support=0.25)


@pytest.mark.parametrize(
    ("verdicts", "best"),
    [
        ([UNSURE], UNSURE),
        ([UNSURE, UNSURE], Verdict("not_supported")),
        ([UNSURE, VOID], VOID),
        ([Verdict("partial", (A,)), VOID], VOID),
        (
            [Verdict("partial", (A,)), Verdict("not_supported", contested="x")],
            Verdict("partial", (A,), contested="x"),
        ),
        (
            [
                Verdict("partial", (A,)),
                Verdict("supported", (B,), others=(Verdict("partial", (C,)),)),
                VOID,
            ],
            Verdict("supported", (B,), others=(Verdict("partial", (A,)), Verdict("partial", (C,)))),
        ),
        (
            [Verdict("contradicted", (A,)), UNSURE, Verdict("contradicted", (B,))],
            Verdict("contradicted", (A, B)),
        ),
    ],
)
def test_verdicts_of_several_windows(verdicts: list[Verdict], best: Verdict) -> None:
    """The best verdict counts, and a window without one leaves the target undecided."""
    assert merged(verdicts) == best


@pytest.mark.parametrize(
    ("reply", "items"),
    [
        ('["a"]', ["a"]),
        ('{"items": ["a", " a ", "?", "b"]}', ["a", "b"]),
        ('{"x": {"y": {"items": ["a"]}}}', ["a"]),
        ('{"x": 1, "items": ["a"]}', ["a"]),
        ('{"x": 7}', None),
        ('{"x": ["a"]}', None),
        ('{"items": "a"}', None),
        ('[["a"]]', None),
        ("7", None),
    ],
)
def test_items_of_a_reply(reply: str, items: list[str] | None) -> None:
    """Items are the texts of a bare list, or of the key `items`, also inside another object."""
    assert text_items(reply) == items


@pytest.mark.parametrize("unsure", [0.5, (0.1,), (0.1, 0.2, 0.3), (0.6, 0.4)])
def test_the_range_of_a_cascade_is_a_pair(unsure: Any) -> None:
    """The range in which the second judge decides has two ends, the lower one first."""
    judge = LLMJudge(ScriptedChatModel([""]))
    with pytest.raises(ParameterError) as raised:
        Cascade(judge, judge, unsure=unsure)
    assert raised.value.problem == f"must be (low, high) within [0, 1], got {unsure!r}"


def test_a_quote_that_is_in_no_context() -> None:
    """The objection to a quote that does not occur in its context is that it is not there."""
    verdict = Verdict("supported", (Citation(0, "The mine is by the lock."),))
    quotes = Quotes({0: "The mill is by the weir."})
    (citation,) = verdict.citations
    assert quotes.objection(citation, verdict, "The mine is by the lock.", "claim") == (
        "is not there"
    )


def test_a_judge_that_requires_quotes_shares_the_splits() -> None:
    """A text that the judge has split is not split again by the judge that requires quotes."""
    model = ScriptedChatModel(['["It opens."]', '["Another."]'])
    judge = LLMJudge(model)
    for asked in (judge, judge.requiring_quotes()):
        assert run(asked.split("It opens at noon.", kind="claims"))[0] == ("It opens.",)
    assert len(model.requests) == 1


def test_two_splits_at_the_same_time_use_the_first_answer() -> None:
    """If two samples split one text at the same time, both have the claims that came first."""
    judge = LLMJudge(ScriptedChatModel([""]))
    flows = [judge.split("It opens at noon.", kind="claims") for _ in range(2)]
    for flow in flows:
        (ask,) = advance(flow, None)  # type: ignore[misc]
        assert ask.accepts is not None
        assert not ask.accepts(Completion("no list"))
    first, second = (
        advance(flow, [Completion(f'["{items}"]')])
        for flow, items in zip(flows, ["It opens.", "It is noon."], strict=True)
    )
    assert isinstance(first, Done)
    assert isinstance(second, Done)
    assert (first.value, second.value) == (("It opens.",), ("It opens.",))
