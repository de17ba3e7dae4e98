"""A run's requests in flight and its time, and the endpoints that it gives up."""

from __future__ import annotations

import asyncio
import inspect
import time
from dataclasses import fields
from typing import Any

import pytest
from tests.run.delayed_model import QUICK, DelayedModel, HttpError, samples, scorer

from fullrecall import IdRecall, evaluate
from fullrecall.errors import ParameterError, RunStopped
from fullrecall.judge.models import Completion, Failure
from fullrecall.judge.models.chat import ChatRequest
from fullrecall.judge.models.retries import Retries
from fullrecall.run.limits import Limits
from fullrecall.scorers.result import Status


class LimitedModel(DelayedModel):
    """A model whose first answer is a rate limit, in a completion."""

    def __init__(self, wait: float) -> None:
        super().__init__()
        self.wait = wait
        self.times: list[float] = []

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Answer all requests but the first."""
        self.times.append(time.monotonic())
        if len(self.times) == 1:
            return Completion("", failure=Failure.RATE_LIMIT, wait=self.wait)
        return await super().acomplete(request)


class TestLimits:
    """Rate limits, timeouts, and deadlines bound a run."""

    def test_a_rate_limit_lowers_the_concurrency(self) -> None:
        """With an endpoint of two requests at a time, every sample is scored."""

        def fails(_: int) -> Exception | None:
            return HttpError(429) if model.at_once > 2 else None

        model = DelayedModel(lambda _: 0.002, fails)
        report = evaluate(samples(60), scorer(model), progress=False, retries=Retries(8, 0.004))
        assert {row.results[0].status for row in report} == {Status.SCORED}
        assert report.spent is not None
        assert 0 < report.spent.retries < 60

    def test_retry_after_holds_back_everybody(self) -> None:
        """After a Retry-After, no request of the run is sent until then."""
        times: list[float] = []

        def fails(number: int) -> Exception | None:
            times.append(time.monotonic())
            return HttpError(429, **{"retry-after": "0.3"}) if number == 3 else None

        model = DelayedModel(lambda _: 0.0, fails)
        evaluate(samples(20), scorer(model), progress=False, max_concurrency=2, retries=QUICK)
        assert times[4] - times[2] >= 0.29, "one more may have been on its way"

    def test_a_model_of_ones_own_says_how_long_to_wait(self) -> None:
        """`Completion.wait` delays requests as `Retry-After` does, unless it is absurdly long."""
        for wait, least in [(0.3, 0.29), (10**400, 0.0)]:
            model = LimitedModel(wait)
            report = evaluate(samples(2), scorer(model), progress=False, retries=QUICK)
            assert {row.results[0].status for row in report} == {Status.SCORED}
            assert model.times[-1] - model.times[0] >= least

    def test_a_wait_that_is_too_long_is_not_waited(self) -> None:
        """A `Retry-After` of an hour ends the request at once."""
        model = DelayedModel(fails=lambda _: HttpError(429, **{"retry-after": "3600"}))
        with pytest.raises(RunStopped, match=r"rate limit.*it asks to wait 3,600 seconds"):
            evaluate(samples(8), scorer(model), progress=False, max_concurrency=8, deadline=5)
        assert len(model.sent) <= 8

    def test_a_request_that_hangs_is_sent_once_more(self) -> None:
        """A request that times out is sent once more, and then its sample is unscored."""
        model = DelayedModel(lambda number: 60.0 if number in (3, 9) else 0.0)
        report = evaluate(samples(6), scorer(model), progress=False, timeout=0.1, retries=QUICK)
        assert {row.results[0].status for row in report} == {Status.SCORED}
        stuck = DelayedModel(lambda _: 60.0)
        with pytest.raises(RunStopped, match=r"no answer within 0\.05 s; timeout=… allows more"):
            evaluate(samples(40), scorer(stuck), progress=False, timeout=0.05, retries=QUICK)
        assert len(stuck.sent) <= 2 * 16

    def test_the_deadline_ends_the_run_and_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The deadline ends the run, and samples that were too late are in the report, unscored."""
        real, shift = time.monotonic, [0.0]
        monkeypatch.setattr(time, "monotonic", lambda: real() + shift[0])

        def seconds(number: int) -> float:
            if number > 6:
                shift[0] = 1e6  # The deadline passes, however slow the machine is.
            return 60.0 if number > 6 else 0.0

        model = DelayedModel(seconds)
        report = evaluate(
            samples(8), [scorer(model), IdRecall()], progress=False, deadline=1e5, max_concurrency=1
        )
        reasons = [row.results[0].reason for row in report if row.results[0].score is None]
        assert len(report) == 8
        assert 1 <= len(reasons) < 8
        assert set(reasons) == {"the run's deadline passed before it was judged"}

    @pytest.mark.parametrize(
        ("option", "value"),
        [("max_concurrency", 0), ("max_concurrency", 2.5), ("timeout", 0), ("deadline", -1),
         ("retries", -1), ("retries", "many")],
    )  # fmt: skip
    def test_options_out_of_range(self, option: str, value: Any) -> None:
        """Each option out of range is refused by name before the first request."""
        model = DelayedModel()
        with pytest.raises(ParameterError, match=option):
            evaluate(samples(1), scorer(model), progress=False, **{option: value})
        assert model.sent == []


class TestStopping:
    """A model that never answers ends the run with one error, and no row is lost."""

    def test_an_address_that_refuses_connections(self) -> None:
        """An address that refuses connections is not tried for every sample."""
        model = DelayedModel(fails=lambda _: ConnectionRefusedError("nobody"))
        with pytest.raises(RunStopped, match="ConnectionRefusedError: nobody"):
            evaluate(samples(200), scorer(model), progress=False, max_concurrency=4, retries=QUICK)
        assert len(model.sent) <= 4 * 5

    def test_one_bad_sample_is_not_the_runs_problem(self) -> None:
        """A request that is always rejected, even as the first, costs its own sample alone."""
        model = DelayedModel(fails=lambda _: HttpError(400) if "says of 0." in told() else None)

        def told() -> str:
            return model.sent[-1].messages[1].content

        asked = samples(6)
        report = evaluate(asked, scorer(model), progress=False, max_concurrency=1, retries=QUICK)
        assert [row.results[0].status for row in report].count(Status.UNSCORED) == 1
        assert len(model.sent) == 3 + 6 + 1

    @pytest.mark.parametrize("status", [400, 401])
    def test_a_request_rejected_before_the_first_answer_is_sent_again(self, status: int) -> None:
        """Requests that are rejected before the first answer are sent again after it."""
        model = DelayedModel(
            lambda number: 0.0 if number == 1 else 0.05,
            lambda number: HttpError(status) if number == 1 else None,
        )
        report = evaluate(
            samples(12), scorer(model), progress=False, max_concurrency=4, retries=QUICK
        )
        assert {row.results[0].status for row in report} == {Status.SCORED}
        assert report.spent is not None
        assert report.spent.retries == 1

    def test_an_absurd_wait_costs_one_sample(self) -> None:
        """A request that would wait for years costs its own sample, after other answers."""
        answered: list[Completion] = []
        others = asyncio.Event()

        class LastTurnedAway(DelayedModel):
            async def acomplete(self, request: ChatRequest) -> Completion:
                if "says of 0." in request.messages[1].content:
                    self.sent.append(request)
                    await others.wait()
                    return Completion("", failure=Failure.RATE_LIMIT, wait=1e9)
                answer = await super().acomplete(request)
                answered.append(answer)
                if len(answered) == 3 + 5:  # a split for each two samples, and five judgments
                    others.set()
                return answer

        model = LastTurnedAway()
        report = evaluate(samples(6), scorer(model), progress=False, max_concurrency=8)
        assert [row.results[0].status for row in report] == [
            Status.UNSCORED,
            *[Status.SCORED] * 5,
        ]

    def test_without_retries_nothing_is_sent_again(self) -> None:
        """With `retries=0`, neither a failed nor a rate-limited request is sent again."""
        model = DelayedModel(fails=lambda number: HttpError(400) if number == 9 else None)
        report = evaluate(samples(6), scorer(model), progress=False, retries=0)
        assert report.spent is not None
        assert (report.spent.retries, report.summary()[0].unscored) == (0, 1)

    def test_an_endpoint_that_dies_midway(self) -> None:
        """If an endpoint dies midway, the error's report has the samples scored before."""
        model = DelayedModel(fails=lambda number: HttpError(500) if number > 30 else None)
        with pytest.raises(RunStopped, match="in a row failed") as caught:
            evaluate(samples(400), scorer(model), progress=False, max_concurrency=4, retries=QUICK)
        report = caught.value.report
        assert report is not None
        scored = report.summary()[0].scored
        assert 15 <= scored < len(report) < 60
        assert len(model.sent) < 30 + 5 * (5 + 4) + 1


def test_the_defaults_of_a_run_are_those_of_its_limits() -> None:
    """`evaluate` shows the defaults in its signature: they are the limits' own."""
    shown = inspect.signature(evaluate).parameters
    defaults = {each.name: each.default for each in fields(Limits) if each.name in shown}
    assert {name: shown[name].default for name in defaults} == defaults
    assert defaults["timeout"] == 60.0
    assert defaults["max_concurrency"] == 16
