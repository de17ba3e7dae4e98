"""How often a failed request is sent: by its failure, and by the failures of earlier runs."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from tests.run.paid import VERDICTS, samples, scorer

from fullrecall import evaluate
from fullrecall.errors import StoreError
from fullrecall.judge.models import ChatRequest, Completion, Failure
from fullrecall.judge.models.retries import Retries
from fullrecall.run.sqlite import SQLiteLedger


class Failing:
    """A model whose requests about claim 0 fail in one way; it answers all other requests."""

    name = "failing"

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        self.sent: Counter[str] = Counter()

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Answer, or fail."""
        claim = request.messages[1].content.rpartition("Claim ")[2].partition(".")[0]
        self.sent[claim] += 1
        await asyncio.sleep(0)
        if claim == "0":
            return Completion("", failure=self.failure, detail="as told")
        return Completion(VERDICTS)

    def complete(self, request: ChatRequest) -> Completion:
        """Raise: the engine must use `acomplete`."""
        raise AssertionError(request)


ONCE = {Failure.EMPTY: 0, Failure.CUT_OFF: 0}
"""Replies after which a judge may ask in other words: the run does not send them again."""

REPLIES = {Failure.REFUSED: 1, Failure.AMBIGUOUS: 1}
"""Replies that are sent once more, in every run."""

FINAL = {
    Failure.DENIED, Failure.UNKNOWN, Failure.INVALID, Failure.MOVED, Failure.TOO_LARGE,
    Failure.TRANSPORT,
}  # fmt: skip
"""Failures that are sent once more, unless an earlier run saw that only this request fails."""


@pytest.mark.parametrize("retries", [0, 3])
@pytest.mark.parametrize("failure", Failure, ids=lambda each: each.name)
def test_how_often_a_request_is_sent(failure: Failure, retries: int, tmp_path: Path) -> None:
    """Temporary failures use all retries, a timeout one, and other failures one at most."""
    most = {Failure.TIMEOUT: 1, **ONCE, **REPLIES, **dict.fromkeys(FINAL, 1)}.get(failure, 3)
    for again in (False, True):
        model = Failing(failure)
        report = evaluate(
            samples([1, 0, 2]),
            scorer(model),
            store=tmp_path / "store.sqlite",
            retries=Retries(retries, first_wait=0.0),
            progress=False,
        )
        sends = 1 if again and failure in FINAL else 1 + min(most, retries)
        others = {} if again else {"1": 1, "2": 1}
        assert model.sent == {"0": sends, **others}
        results = [row.results[0] for row in report]
        assert [each.status.value for each in results] == ["scored", "unscored", "scored"]
        assert results[1].note == f"1 of 1 not judged: {failure.value}: as told"
        assert [each.usage.calls for each in results] == [1, sends, 1]
        assert report.spent is not None
        assert report.spent.calls == model.sent.total()
        assert report.spent.reused == (2 if again else 0)


def test_a_request_that_failed_is_free_for_other_runs(tmp_path: Path) -> None:
    """No lease of a request stays after its end, whether it was answered or failed."""
    path = tmp_path / "store.sqlite"
    with SQLiteLedger(path) as ledger:
        evaluate(
            samples([1, 0, 2]),
            scorer(Failing(Failure.DENIED)),
            store=ledger,
            retries=Retries(0),
            progress=False,
        )
        ledger.put("answer:last", "{}").result(60)
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("SELECT key FROM leases").fetchall() == []
            assert len(connection.execute("SELECT key FROM asks").fetchall()) == 4


def test_a_closed_store_serves_no_answer(tmp_path: Path) -> None:
    """A store that was closed must be opened again."""
    path = tmp_path / "store.sqlite"
    with SQLiteLedger(path) as ledger:
        ledger.put("answer:1", "{}").result(60)
        assert ledger.get("answer:1") == "{}"
    with pytest.raises(StoreError, match="is closed: open it again"):
        ledger.get("answer:1")
    with SQLiteLedger(path) as ledger:
        assert ledger.get("answer:1") == "{}"
