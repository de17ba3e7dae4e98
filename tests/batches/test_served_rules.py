"""The rules of an account on a server are those of `run.spending`, for any order of changes.

Opt-in, `-m engines`: it needs `pip install redis` and Debian's redis-server.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest

from fullrecall.batches.redis import RedisLedger, name_of
from fullrecall.errors import StoreError
from fullrecall.run import spending
from fullrecall.run.ledger import AccountLostError

pytestmark = pytest.mark.engines

BOUNDS = (
    {"calls": 20},
    {"tokens": 40_000},
    {"cost": 30_000_000},
    {"calls": 25, "tokens": 90_000, "cost": 200_000_000},
)


@pytest.mark.parametrize("bounds", BOUNDS, ids="-".join)
@pytest.mark.parametrize("seed", range(8))
def test_the_server_and_python_agree(redis_url: str, bounds: dict[str, float], seed: int) -> None:
    """The server and Python give the same outcomes and counts for two hundred changes."""
    chance = random.Random(seed)
    state, on_their_way = spending.opened(), list[str]()
    with RedisLedger(redis_url, f"job {seed} {bounds}") as ledger:
        ledger.open_account()

        def both(rule: str, **arguments: Any) -> dict[str, Any]:
            ours = spending.RULES[rule](state, 0.0, **arguments)
            theirs = ledger.spend(rule, arguments).result()
            assert isinstance(theirs, dict)
            assert {**theirs, "again": None} == {**ours, "again": None}, (rule, arguments)
            return ours

        for number in range(200):
            if on_their_way and chance.random() < 0.55:
                name = on_their_way.pop(chance.randrange(len(on_their_way)))
                prompt, answer = chance.randint(0, 3_000), chance.randint(0, 900)
                prices = (1.5, 6.0)
                size = spending.size_of(prompt, answer, prices)
                amounts = {"settled": 1, "prompt_tokens": prompt, **size}
                # A change is sent again if its answer was lost.
                for _ in range(chance.randint(1, 2)):
                    both("settle", name=name, amounts=amounts, answer=answer)
                continue
            prompt_tokens = (chance.random() * 1_500, chance.randint(1, 9_000))
            asked: dict[str, Any] = {"name": str(number), "bounds": bounds, "prompt": prompt_tokens}
            asked |= {"prices": (1.5, 6.0), "seconds": 60.0}
            if "wait" in both("reserve", **asked):
                on_their_way.append(str(number))
            if chance.random() < 0.1 and on_their_way:
                both("reserve", **{**asked, "name": on_their_way[0]})
        assert both("read")["calls"] > 0


def test_rates_and_ends_of_reserves(redis_url: str) -> None:
    """Turns are assigned one after another, and no request waits for a reserve that has expired."""
    asked: dict[str, Any] = {"bounds": {"rate": 0.5}, "prompt": (1, 1), "prices": (0.0, 0.0)}
    with RedisLedger(redis_url, "a rate") as ledger:
        ledger.open_account()

        def ask(name: str, **changes: Any) -> Any:
            arguments = {**asked, "name": name, "seconds": 60.0, **changes}
            return ledger.spend("reserve", arguments).result()

        waits = [ask(str(number))["wait"] for number in range(4)]
        gaps = [after - before for before, after in pairwise(waits)]
        assert waits[0] == 0.0
        assert gaps == pytest.approx([2.0] * 3, abs=1.0)
    for seconds, answer in ((60.0, {"again": True}), (-1.0, {"wait": 0.0})):
        with RedisLedger(redis_url, f"ends {seconds}") as ledger:
            ledger.open_account()
            bounds = {"tokens": 10**6}
            assert ask("first", bounds=bounds, seconds=seconds) == {"wait": 0.0}
            assert ask("second", bounds=bounds) == answer


def test_an_account_that_is_gone(redis_url: str) -> None:
    """A missing account raises an error; an account that is opened again keeps its counts.

    The server drops an account after a time, even if nothing is spent.
    """
    with RedisLedger(redis_url, "lost") as ledger:
        gone = ledger.spend("read", {}).result()
        ledger.open_account()
        assert ledger._client.pttl(name_of(ledger.account_key)) > 0
        asked = {"bounds": {"calls": 1}, "prompt": (1, 1), "prices": (0.0, 0.0), "seconds": 60.0}
        ledger.spend("reserve", {"name": "first", **asked}).result()
        ledger.open_account()
        ours = ledger.spend("read", {}).result()
    assert isinstance(gone, AccountLostError)
    assert "is gone" in str(gone)
    assert isinstance(ours, dict)
    assert ours["calls"] == 1


def test_a_server_that_is_too_old(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget on a server with an old version of Redis is an error that names both versions."""
    with RedisLedger(redis_url, "old") as ledger:
        monkeypatch.setattr(ledger._client, "info", lambda _: {"redis_version": "6.2.1"})
        with pytest.raises(StoreError, match=r"a budget needs Redis 7, got 6\.2\.1"):
            ledger.open_account()
