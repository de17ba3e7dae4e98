"""A scripted model that writes and checks questions about made-up documents."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from tests.payloads import PAYLOADS

from fullrecall.judge.models import ChatRequest, Completion
from fullrecall.testing import ScriptedChatModel

TOWNS = (
    "Aldham Bexley Corvane Dunmore Elmsworth Fairholt Garwick Halden Inverly Jarrow Kelby Larne "
    "Morvale Norwick Oakham Penrith Quorn Redmire Selby Thornham Ulverton Varley Wexmoor Yarmley"
).split()
THINGS = (
    "bridge harbor library mill abbey market lighthouse theater foundry canal observatory orchard "
    "quarry tannery windmill brewery museum garden viaduct chapel"
).split()
FILLER = (
    "Records of the parish council describe the work in detail, from the carts of stone to the "
    "wages of masons, and complain about rain that held up deliveries for weeks on end."
)


def document(number: int) -> tuple[str, str]:
    """Return the ID and text of a made-up document with its own fact, year, and builder."""
    draw = random.Random(number)
    town, thing = TOWNS[number % len(TOWNS)], THINGS[number // len(TOWNS) % len(THINGS)]
    year = 1200 + number
    builder = f"{draw.choice('BCDFGKLMPRST')}{draw.choice('aeiou')}rn{number}son"
    guild = f"Guild{'abcdefghij'[number // 2 % 10]}{number // 20}mark"  # Two documents share one.
    padding = " ".join(f"detail{number}x{n}" for n in range(12))
    text = (
        f"The {thing} of {town} was completed in {year}. {FILLER} It was designed by {builder}, "
        f"whose workshop stood nearby. The {guild} paid. Other notes: {padding}."
    )
    return f"doc-{number}", text


@pytest.fixture
def documents() -> dict[str, str]:
    """Return two hundred different documents."""
    return dict(document(number) for number in range(200))


Change = Callable[[dict[str, Any]], None]


class Author:
    """Writes correct questions from the prompt's passages and checks them truthfully.

    `change` may spoil a question that is written, `verdict` one that is checked.
    """

    def __init__(self) -> None:
        self.change: Change = lambda _: None
        self.verdict: Callable[[dict[str, Any]], None] = lambda _: None
        self.statement: Callable[[dict[str, Any], str], None] = lambda _, __: None
        self.reply: Callable[[ChatRequest], str | Completion | Exception | None] = lambda _: None
        self.same = True
        self.model = ScriptedChatModel(self.answer, name="author")

    def answer(self, request: ChatRequest) -> str | Completion | Exception:
        """Return the scripted reply, or else one that fits the request's schema."""
        special = self.reply(request)
        if special is not None:
            return special
        asked = request.messages[1].content
        if request.schema_name == "questions":
            text = json.dumps({"questions": self._written(asked)})
        elif request.schema_name == "contexts":
            count = len(re.findall(r"^\d+ .* - context: ", asked, re.MULTILINE))
            text = json.dumps(
                {"contexts": [{"id": n, "same": self.same} for n in range(1, count + 1)]}
            )
        else:
            text = json.dumps(self._checked(asked))
        return Completion(text, len(asked) // 4, len(text) // 4)

    def _written(self, asked: str) -> list[dict[str, Any]]:
        texts = _texts(asked, "Documents")
        count, kind = re.search(r'Write (\d) questions of the kind "(\w+)":', asked).groups()
        questions = []
        for position in range(int(count)):
            facts = [_facts(text) for text in texts]
            item = deepcopy(_question(kind, position, facts))
            self.change(item)
            questions.append(item)
        return questions

    def _checked(self, asked: str) -> dict[str, Any]:
        texts = _texts(asked, "Documents")
        questions = []
        for number, _ in enumerate(_texts(asked, "Questions"), start=1):
            quotes = [
                {"document": n, "quote": quote}
                for n, text in enumerate(texts, start=1)
                for quote in (_facts(text)["built"], _facts(text)["designed"])
            ]
            item = {
                "id": number,
                "stands_alone": True,
                "answerable": True,
                "answer": "as documented",
                "quotes": quotes,
                "several": False,
            }
            self.verdict(item)
            questions.append(item)
        statements = []
        for line in re.findall(r"^\d+ .* - quote: .*$", asked, re.MULTILINE):
            number, claim, quote = re.fullmatch(r'(\d+) (".*") - quote: (".*")', line).groups()
            stated = [n for n, text in enumerate(texts, start=1) if json.loads(quote) in text]
            item = {"id": int(number), "supported": True, "documents": stated}
            self.statement(item, json.loads(claim))
            statements.append(item)
        return {"questions": questions, "statements": statements}


def _texts(asked: str, name: str) -> list[str]:
    block = asked.split(f"{name}:\n", 1)[1].split("\n\n", 1)[0]
    return [json.loads(line.split(" ", 1)[1]) for line in block.splitlines()]


def _facts(text: str) -> dict[str, str]:
    built = re.search(r"The (\w+) of (\w+) was completed in (\d+)\.", text)
    designed = re.search(r"It was designed by (\w+)", text)
    if built is None or designed is None:
        return {
            "built": text[:60],
            "designed": text[:60],
            "thing": "",
            "town": "",
            "year": "",
            "by": "",
        }
    return {
        "built": built[0],
        "thing": built[1],
        "town": built[2],
        "year": built[3],
        "designed": designed[0],
        "by": designed[1],
    }


def _question(kind: str, position: int, facts: list[dict[str, str]]) -> dict[str, Any]:
    one = facts[0]
    built = {
        "claim": f"{one['town']}'s {one['thing']} dates from {one['year']}.",
        "document": 1,
        "quote": one["built"],
    }
    by = {
        "claim": f"{one['by']} designed {one['town']}'s {one['thing']}.",
        "document": 1,
        "quote": one["designed"],
    }
    name = f"{one['town']}'s {one['thing']}"
    asked = (
        f"When did workers finish {name}?",
        f"Who drew up plans for {name}?",
        f"Which year saw {name} open, roughly speaking?",
        f"Whose office planned how {name} would look?",
    )[position % 4]
    if kind == "across_documents" and len(facts) > 1:
        two = facts[1]
        other = {
            "claim": f"{two['town']}'s {two['thing']} dates from {two['year']}.",
            "document": 2,
            "quote": two["built"],
        }
        return {
            "kind": kind,
            "answer": f"{one['year']} and {two['year']}",
            "question": f"{asked[:-1]} ({position}), and {two['town']}'s {two['thing']}?",
            "claims": [built, other],
        }
    claims = [built, by] if kind == "several_facts" else [(built, by, built, by)[position % 4]]
    answer = one["year"] if "dates" in claims[0]["claim"] else one["by"]
    return {"kind": kind, "question": asked, "answer": answer, "claims": claims}


@pytest.fixture
def author() -> Author:
    """Return a model that writes correct questions, which a test may spoil."""
    return Author()


@pytest.fixture
def payloads() -> tuple[str, ...]:
    """Return texts that would run, load, or reorder content if they were markup."""
    return PAYLOADS
