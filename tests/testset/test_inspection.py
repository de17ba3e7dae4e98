"""A drafted question is accepted or rejected by its form, its quotes, its words and its verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fullrecall.testset.seeds import Seed, SeedPassage
from fullrecall.testset.verification import _by_position, inspected, items_in, located

MILL = SeedPassage("a", 100, "The old mill burned in May. Nobody was hurt, and it was built anew.")
TOWER = SeedPassage("b", 0, "The tall tower was sold to Bo Holst in June for nine crowns.")
CLAIM = {"claim": "The mill burned in May.", "quote": "mill burned in May", "document": 1}
OTHER = {"claim": "The tower was sold.", "quote": "tower was sold", "document": 2}
WHOLE = {
    "question": "When did the mill burn?",
    "kind": "one_fact",
    "answer": "In May",
    "claims": [CLAIM],
}


@pytest.mark.parametrize(
    ("quote", "number", "place"),
    [
        ("burned in May", 1, ("a", 113, "burned in May")),
        ("BURNED in  may", 1, ("a", 113, "burned in May")),
        ("tower was sold", 2, ("b", 9, "tower was sold")),
        ("tower was sold", 1, None),
        ("tower was sold", 0, None),
        ("tower was sold", 3, None),
        ("tower was sold", "2", None),
        ("tower was sold", None, None),
        (" ", 1, None),
        (7, 1, None),
    ],
)
def test_the_place_of_a_quote(quote: object, number: object, place: Any) -> None:
    """A quote is in the passage that its number names, counted from 1."""
    assert located(quote, number, [MILL, TOWER]) == (place and SeedPassage(*place))


@pytest.mark.parametrize("number", [1, 0, 7, None, "x"])
def test_a_single_passage_needs_no_number(number: object) -> None:
    """The number of an only passage is ignored."""
    assert located("burned in May", number, [MILL]) == SeedPassage("a", 113, "burned in May")


@pytest.mark.parametrize(
    ("changes", "passages", "kind", "rejection"),
    [
        ({}, [MILL], "one_fact", None),
        ({"kind": "several_facts"}, [MILL], "several_facts", None),
        ({"kind": "across_documents"}, [MILL], "one_fact", None),
        ({"kind": "unknown"}, [MILL], "one_fact", None),
        ({"kind": ["one_fact"]}, [MILL], "one_fact", None),
        ({"claims": [CLAIM, OTHER]}, [MILL, TOWER], "across_documents", None),
        ({}, [MILL, TOWER], "across_documents", ("one document is enough",
                                                 "all quotes are from a")),
        ({"question": "When?"}, [MILL], "one_fact", ("incomplete draft", "")),
        ({"question": "When then?"}, [MILL], "one_fact", None),
        ({"question": "what " * 80}, [MILL], "one_fact", None),
        ({"question": "what " * 81}, [MILL], "one_fact", ("incomplete draft", "")),
        ({"question": 7}, [MILL], "one_fact", ("incomplete draft", "")),
        ({"answer": " "}, [MILL], "one_fact", ("incomplete draft", "")),
        ({"claims": []}, [MILL], "one_fact", ("incomplete draft", "")),
        ({"claims": None}, [MILL], "one_fact", ("incomplete draft", "")),
        ({"claims": ["x"]}, [MILL], "one_fact", ("incomplete draft", "")),
        ({"claims": [CLAIM, {**CLAIM, "claim": ""}]}, [MILL], "one_fact",
         ("incomplete draft", "")),
        ({"claims": [{**CLAIM, "quote": "mill burned in  June"}]}, [MILL], "one_fact",
         ("quote not in the document", "mill burned in June")),
        ({"claims": [{**CLAIM, "quote": None}]}, [MILL], "one_fact",
         ("quote not in the document", "")),
        ({"claims": [CLAIM, CLAIM]}, [MILL], "one_fact", None),
        ({"question": "Was nobody was hurt, and it was built by?"}, [MILL], "one_fact",
         ("copied words", "nobody was hurt and it was built")),
        ({"question": "Was hurt, and it was built by them?"}, [MILL], "one_fact", None),
        ({"question": "What does the passage say of the mill?"}, [MILL], "one_fact",
         ("points at the text", "the passage say")),
    ],
)  # fmt: skip
def test_a_draft(
    changes: dict[str, Any], passages: list[SeedPassage], kind: str, rejection: Any
) -> None:
    """A draft has the kind that its passages allow, its distinct claims, or a rejection."""
    planned: Any = "one_fact" if len(passages) == 1 else "across_documents"
    draft = inspected({**WHOLE, **changes}, planned, Seed(tuple(passages)))
    assert draft.kind == kind
    found = draft.rejection and (str(draft.rejection.problem), draft.rejection.detail)
    assert found == rejection
    if rejection is None:
        wanted = dict.fromkeys(each["claim"] for each in changes.get("claims", [CLAIM]))
        assert [backed.claim for backed in draft.claims] == [*wanted]


@pytest.mark.parametrize(
    ("reply", "items"),
    [
        ('{"questions": [{"a": 1}, 2, {"b": 2}]}', [{"a": 1}, {"b": 2}]),
        ('{"questions": [{"a": 1}]} {"questions": [{"a": 2}]}', [{"a": 2}]),
        ('{"questions": [{"a": 1}]} [{"a": 2}]', [{"a": 1}]),
        ('[{"a": 1}] [{"a": 2}]', [{"a": 2}]),
        ('{"questions": {"a": 1}} [{"a": 2}]', [{"a": 2}]),
        ('{"others": [{"a": 1}]}', []),
        ("no JSON", []),
    ],
)
def test_the_items_of_a_reply(reply: str, items: list[Any]) -> None:
    """The last list of the name counts; a reply may be only the list."""
    assert items_in(reply, "questions") == items


def verdict(number: object, **changes: Any) -> dict[str, Any]:
    """Return a verdict on one context."""
    return {"id": number, "verdict": "same", **changes}


FORM = {"id": 1, "verdict": "x"}


@pytest.mark.parametrize(
    ("numbers", "known"),
    [
        ([1, 2], [0, 1]),
        ([2], [1]),
        ([1, 1, 2], [1]),
        ([0, 1], []),
        ([1, 3], []),
        ([True, 2], []),
        (["1", 2], []),
        ([], []),
    ],
)
def test_the_verdicts_by_position(
    numbers: list[Any], known: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verdicts are counted from 1; one number out of range voids the reply."""
    from fullrecall.testset import instructions

    monkeypatch.setattr(instructions, "form_of", lambda _: {"contexts": [FORM]})
    text = json.dumps({"contexts": [verdict(number) for number in numbers]})
    assert [*_by_position(text, "elsewhere", "contexts", 2)] == known
    text = json.dumps({"contexts": [verdict(1, verdict=7), verdict(2)]})
    assert [*_by_position(text, "elsewhere", "contexts", 2)] == [1]
