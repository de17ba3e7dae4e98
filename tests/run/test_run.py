"""`evaluate` checks its options, calls its sink, counts its totals, and resumes."""

from __future__ import annotations

import asyncio
import gc
import inspect
import re
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from tests.run.paid import VERDICTS

from fullrecall import ClaimRecall, IdRecall, LLMJudge, Report, Sample, aevaluate, evaluate
from fullrecall.errors import ParameterError
from fullrecall.judge.models import ChatRequest, Completion
from fullrecall.judge.models.retries import MOST_CHARACTERS, Retries, token_count
from fullrecall.run.evaluate import EvaluateOptions
from fullrecall.run.limits import Limits
from fullrecall.table.row import Row

QUICK = Retries(2, first_wait=0.001)


class HttpError(Exception):
    """A client's exception for an HTTP status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status_code = status


class Model:
    """A model that answers, or raises `fails(claim, requests)`, by claim and requests so far."""

    def __init__(self, fails: Any = lambda _number, _times: None) -> None:
        self.name = "model"
        self.fails = fails
        self.asked: Counter[int] = Counter()

    def complete(self, request: ChatRequest) -> Completion:
        """Answer a claim."""
        number = int(re.findall(r"Claim (\d+)", request.messages[1].content)[0])
        self.asked[number] += 1
        error = self.fails(number, self.asked[number])
        if error is not None:
            raise error
        return Completion(VERDICTS, 10, 5)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Answer a claim after a turn of the loop."""
        await asyncio.sleep(0)
        return self.complete(request)


def run(model: Model, count: int = 40, **options: Any) -> Report:
    """Evaluate samples of one claim each."""
    samples = [
        Sample(reference_claims=[f"Claim {n}."], retrieved_contexts=["c"]) for n in range(count)
    ]
    scorer = ClaimRecall(judge=LLMJudge(model, reasks=0))
    return evaluate(samples, scorer, **{"progress": False, "retries": QUICK, **options})


class TestOptions:
    """Every option of `evaluate` is checked and passed on."""

    @pytest.mark.parametrize("function", [evaluate, aevaluate])
    def test_help_shows_every_option(self, function: Any) -> None:
        """Each option has its name and default in the signature."""
        parameters = dict(inspect.signature(function).parameters)
        assert list(parameters)[:2] == ["samples", "scorers"]
        shown = {name: parameters[name].default for name in list(parameters)[2:]}
        _, *own = fields(EvaluateOptions)
        assert shown == {each.name: each.default for each in (*fields(Limits), *own)}

    @pytest.mark.rooms
    def test_an_unknown_option_is_refused(self) -> None:
        """An unknown option is refused, and the error suggests the right name."""
        with pytest.raises(ParameterError, match="did you mean max_concurrency"):
            evaluate([], IdRecall(), max_concurency=3)  # type: ignore[call-arg]
        with pytest.raises(ParameterError, match="sink must be a function or None, got 3"):
            evaluate([], IdRecall(), sink=3)  # type: ignore[arg-type]


class TestSink:
    """The sink gets rows as they are scored."""

    def test_each_row_once_and_in_order(self) -> None:
        """The sink gets each row once, in order."""
        rows: list[Row] = []
        run(Model(), 20, sink=rows.append)
        assert [row.position for row in rows] == list(range(1, 21))

    def test_in_an_event_loop_too(self) -> None:
        """`aevaluate` calls the sink in the loop."""
        rows: list[Row] = []
        samples = [Sample(retrieved_context_ids=[1], reference_context_ids=[1])] * 3
        asyncio.run(aevaluate(samples, IdRecall(), progress=False, sink=rows.append))
        assert [row.position for row in rows] == [1, 2, 3]

    def test_an_exception_of_the_sink_ends_the_run(self) -> None:
        """An exception of the sink ends the run, with the report of all rows so far."""

        def full(row: Row) -> None:
            if row.position == 3:
                raise OSError("the disk is full")

        with pytest.raises(OSError, match="the disk is full") as caught:
            run(Model(), 20, sink=full)
        assert len(caught.value.report) == 3  # type: ignore[attr-defined]


class TestResume:
    """The same call with its store resumes an incomplete run."""

    def test_what_fails_no_more_is_answered(self, tmp_path: Path) -> None:
        """A failure noted in the store does not prevent a new request."""
        run(Model(lambda number, _: HttpError(400) if number < 3 else None), store=tmp_path / "s")
        model = Model()
        report = run(model, store=tmp_path / "s")
        assert report.summary()["claim_recall"].scored == 40
        assert set(model.asked) == {0, 1, 2}


class TestUsage:
    """The usage of each sample and of the run counts every request sent."""

    def test_requests_that_were_sent_again_count(self, tmp_path: Path) -> None:
        """Five rate-limited requests and an answered one are six calls, also in the store."""
        model = Model(lambda _, times: HttpError(429) if times <= 5 else None)
        scorer = ClaimRecall(judge=LLMJudge(model, reasks=0))
        sample = Sample(reference_claims=["Claim 1."], retrieved_contexts=["c"])
        retries = Retries(5, first_wait=0.001)
        for _ in range(2):
            report = evaluate(
                [sample], scorer, retries=retries, store=tmp_path / "s", progress=False
            )
            assert report.rows[0].results[0].usage == (6, 10, 5)
        other = ClaimRecall(judge=LLMJudge(model, reasks=0), min_measured=0.5)
        report = evaluate([sample], other, store=tmp_path / "s", progress=False)
        assert report.rows[0].results[0].usage == (6, 10, 5), "from the kept answer"

    def test_a_sample_that_stays_unscored_tells_what_it_took(self) -> None:
        """The requests of an unscored sample are in its usage and in the run's."""
        model = Model(lambda number, _: HttpError(500) if number == 3 else None)
        report = run(model, 12)
        usages = [row.results[0].usage.calls for row in report]
        assert usages == [3 if n == 3 else 1 for n in range(12)]
        assert report.spent is not None
        assert (report.spent.calls, report.spent.retries) == (sum(usages), 2)

    def test_score_tells_it_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """`score` without a run counts the requests too."""
        monkeypatch.setattr("fullrecall.judge.flow.Retries", lambda: QUICK)
        scorer = ClaimRecall(
            judge=LLMJudge(Model(lambda _, times: HttpError(503) if times < 3 else None))
        )
        sample = Sample(reference_claims=["Claim 1."], retrieved_contexts=["c"])
        assert scorer.score(sample).usage == (3, 10, 5)
        assert asyncio.run(scorer.ascore(sample)).usage == (1, 10, 5)

    @pytest.mark.parametrize(
        ("told", "count"),
        [
            (7, 7),
            (7.0, 7),
            ("7", 7),
            (0, 0),
            (None, 0),
            (True, 0),
            (-7, 0),
            (7.5, 0),
            ("7.0", 0),
            ("-7", 0),
            (float("nan"), 0),
            (float("inf"), 0),
            (2**63, 0),
            ([7], 0),
            ({}, 0),
            ("٧", 0),
        ],
    )
    def test_whole_numbers_count(self, told: object, count: int) -> None:
        """Whole numbers of any type count; other values do not."""
        assert token_count(told) == count


class TestReplies:
    """The replies of every model are checked in the same way."""

    @pytest.mark.parametrize("text", ["x" * (MOST_CHARACTERS + 1), None, 7, b"{}"])
    def test_a_reply_of_another_type_or_too_long_is_unscored(self, text: Any) -> None:
        """A reply that is not a text, or is too long, leaves its sample unscored."""

        class Odd(Model):
            def complete(self, request: ChatRequest) -> Completion:
                return (
                    Completion(text)
                    if "Claim 3." in request.messages[1].content
                    else super().complete(request)
                )

        report = run(Odd(), 9)
        assert [row.results[0].score for row in report].count(None) == 1
        assert (
            "reply" in report.rows[3].results[0].reason
            or "answer" in report.rows[3].results[0].reason
        )

    def test_replies_do_not_outlive_the_run(self) -> None:
        """After the run, neither a cache nor a judge holds the texts of replies."""

        class Marked(str):
            __slots__ = ()

        class Long(Model):
            def complete(self, request: ChatRequest) -> Completion:
                return Completion(Marked(super().complete(request).text + " " * 50_000), 1, 1)

        scorer = ClaimRecall(judge=LLMJudge(Long(), reasks=0))
        samples = [
            Sample(reference_claims=[f"Claim {n}."], retrieved_contexts=["c"]) for n in range(30)
        ]
        report = evaluate(samples, scorer, progress=False)
        gc.collect()
        assert len(report) == 30
        assert not [
            thing
            for thing in gc.get_objects()
            if isinstance(thing, Completion) and len(thing.text) > 50_000
        ]
