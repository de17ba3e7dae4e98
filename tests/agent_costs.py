"""Random searches of agents, and the costs of their documents, counted by hand."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.measures import Recall, calls, seconds, tokens
from fullrecall.samples import Retrieval

_LENGTHS = {name: 4 * (20 + 7 * nth) for nth, name in enumerate("abcdefghij")}
"""The characters of each document: whole tokens, and no two sums of them alike by chance."""


class Paid(NamedTuple):
    """The cost of a document: the call that returned it, and the tokens read until then."""

    call: int
    tokens: float


class Clock:
    """A clock of the search, with the beginnings, and each document's end."""

    def __init__(self) -> None:
        self.began: list[float] = []
        self.ended: dict[str, float] = {}


def drawn(rng: random.Random) -> list[list[str]]:
    """Return the searches of an agent, by turn: parallel, repeated, empty and failing ones."""
    known = ["".join(rng.sample("abcdefghij", rng.randint(0, 4))) for _ in range(4)]
    queries = [f"{ids}." for ids in known] + ["broken"]
    return [
        [rng.choice(queries) for _ in range(rng.randint(1, 3))] for _ in range(rng.randint(1, 4))
    ]


def text_of(name: str) -> str:
    """Return the text of a document."""
    return f"{name} " * (_LENGTHS[name] // 2)


def counted(turns: list[list[str]]) -> dict[str, Paid]:
    """Return each document's cost, counted by hand: its first call, and all tokens read before."""
    paid: dict[str, Paid] = {}
    read = 0.0
    for number, query in enumerate((query for turn in turns for query in turn), start=1):
        for name in "" if query == "broken" else query.rstrip("."):
            read += _LENGTHS[name] / 4
            paid.setdefault(name, Paid(number, read))
    return paid


def check_costs(turns: list[list[str]], found: Retrieval, clock: Clock, took: float) -> None:
    """Check the costs of a record against those counted by hand; the agent `took` seconds."""
    expected: Mapping[str, Paid] = counted(turns)
    if not expected:
        assert not found.contexts, turns
        return
    assert found.error is None, (turns, found.error)
    sample = Sample(reference_context_ids=sorted(expected), retrieval=found)
    result = IdRecall().score(sample)
    total = sum(map(len, turns))
    for number in range(1, total + 1):
        share = sum(paid.call <= number for paid in expected.values()) / len(expected)
        assert result[Recall @ calls(number)] == pytest.approx(share), (turns, number)
    for paid in expected.values():
        share = sum(each.tokens <= paid.tokens for each in expected.values()) / len(expected)
        assert result[Recall @ tokens(int(paid.tokens))] == pytest.approx(share), turns
    for context, ended in zip(found.contexts or (), found.seconds or (), strict=True):
        assert ended is not None
        assert clock.ended[str(context.id)] - clock.began[0] <= ended <= took
    assert result[Recall @ seconds(took)] == 1.0
    (part,) = evaluate([sample], IdRecall(), progress=False).table.parts
    assert part.costs.calls_made[0] == total
