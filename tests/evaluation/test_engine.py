"""Many samples in flight: order, determinism, limits, what ends a run early, and what shows it."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import signal
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fullrecall import Budget, ClaimRecall, IdRecall, LLMJudge, Sample
from fullrecall.errors import InputError, Interrupted, ParameterError, RunStopped
from fullrecall.evaluation import aevaluate, evaluate
from fullrecall.evaluation.event_loop import EventLoop
from fullrecall.models import Completion, Failure
from fullrecall.models.chat import ChatRequest
from fullrecall.models.retries import Retries
from fullrecall.result import Status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from fullrecall.evaluation.progress import Progress

QUICK = Retries(first_wait=0.001)


class DelayedModel:
    """Answers after a delay that `seconds` gives for each request; counts what goes on.

    `fails` may return an exception for a request, by its number from 1.
    """

    def __init__(
        self,
        seconds: Callable[[int], float] = lambda _: 0.0,
        fails: Callable[[int], Exception | None] = lambda _: None,
        name: str = "delayed",
    ) -> None:
        self.name = name
        self.sent: list[ChatRequest] = []
        self.at_once = self.most = 0
        self.closed = 0
        self._seconds = seconds
        self._fails = fails

    def complete(self, request: ChatRequest) -> Completion:
        """Refuse: the engine is to use the other one."""
        raise AssertionError(request)

    async def acomplete(self, request: ChatRequest) -> Completion:
        """Return the answer that the request's own words decide."""
        self.sent.append(request)
        number = len(self.sent)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await asyncio.sleep(self._seconds(number))
            error = self._fails(number)
            if error is not None:
                raise error
            return answer_to(request)
        finally:
            self.at_once -= 1

    async def aclose(self) -> None:
        """Count that the connections were closed."""
        self.closed += 1


def answer_to(request: ChatRequest) -> Completion:
    """Return two claims for a text, a verdict for each claim: supported where its number is odd."""
    words = request.messages[1].content
    if request.schema_name == "items":
        number = re.findall(r"\d+", words)[0]
        return Completion(json.dumps({"items": [f"One {number}.", f"Two {number}."]}), 7, 3)
    verdicts = []
    for place, claim in re.findall(r"^(\d+) \"(.*)\"$", words.split("claims:\n")[1], re.MULTILINE):
        odd = int(re.findall(r"\d+", claim)[0]) % 2
        cited = [{"context": 1, "quote": "the context says"}] if odd else []
        verdict = "supported" if odd else "not_supported"
        verdicts.append({"id": int(place), "begins": claim, "verdict": verdict, "citations": cited})
    return Completion(json.dumps({"verdicts": verdicts}), 11, 5)


def samples(count: int) -> list[Sample]:
    """Return samples of which each two share a question and its reference."""
    return [
        Sample(
            id=f"s{number}",
            user_input=f"q{number // 2}",
            retrieved_contexts=[f"All of this is what the context says of {number}."],
            retrieved_context_ids=[number],
            reference=f"Reference {number // 2}.",
            reference_context_ids=[number],
        )
        for number in range(count)
    ]


def scorer(model: DelayedModel, **options: Any) -> ClaimRecall:
    """Return claim recall over a judge of its own."""
    return ClaimRecall(judge=LLMJudge(model), **options)


class TestOrder:
    """Rows in the samples' order, the same report whatever the concurrency."""

    def test_reports_are_the_same_to_the_byte(self, tmp_path: Path) -> None:
        """At 1, 4 and 16 in flight, with replies in any order, sync and async."""
        saved = []
        for concurrency in (1, 4, 16):
            model = DelayedModel(lambda number: (number * 7 % 5) / 1000)
            asked = [scorer(model), IdRecall()]
            report = evaluate(samples(40), asked, max_concurrency=concurrency, progress=False)
            assert len(model.sent) == 60, "what two samples share is split once"
            assert concurrency // 4 < model.most <= concurrency
            report.save(tmp_path / "report")
            saved.append((tmp_path / "report").read_bytes())
        model = DelayedModel(lambda number: (number * 3 % 5) / 1000)
        report = asyncio.run(aevaluate(samples(40), [scorer(model), IdRecall()], progress=False))
        report.save(tmp_path / "report")
        saved.append((tmp_path / "report").read_bytes())
        assert len(set(saved)) == 1
        assert [row.label for row in report] == [f"s{number}" for number in range(40)]

    def test_two_scorers_of_one_judging_pay_once(self) -> None:
        """What two scorers ask in the same words is asked once, and is in the usage of both."""
        model = DelayedModel()
        judge = LLMJudge(model)
        asked = [ClaimRecall(judge=judge), ClaimRecall(judge=judge, name="other")]
        report = evaluate(samples(2), asked, progress=False)
        assert len(model.sent) == 3
        assert [result.usage for row in report for result in row.results] == [(2, 18, 8)] * 4
        assert report.spent is not None
        assert (report.spent.calls, report.spent.prompt_tokens) == (3, 7 + 11 + 11)

    def test_a_stream_is_read_as_far_as_it_is_needed(self) -> None:
        """Of a stream no more is read ahead than what is in flight, and rows are let go."""
        drawn = finished = 0

        def stream() -> Iterator[Sample]:
            nonlocal drawn
            for sample in samples(60):
                drawn += 1
                assert drawn - finished <= 4 + 1
                yield sample

        def count(progress: Progress) -> None:
            nonlocal finished
            finished = progress.done

        model = DelayedModel()
        report = evaluate(
            stream(), scorer(model), max_concurrency=4, progress=False, keep="summary",
            on_progress=count,
        )  # fmt: skip
        assert (len(report), finished) == (60, 60)

    def test_a_slow_first_sample_holds_up_no_other(self) -> None:
        """The others are judged meanwhile; only their rows wait."""

        class FirstIsLast(DelayedModel):
            async def acomplete(self, request: ChatRequest) -> Completion:
                is_first = not self.sent
                completion = await super().acomplete(request)
                if len(self.sent) == 30:
                    others.set()
                if is_first:
                    await others.wait()
                return completion

        others = asyncio.Event()
        model = FirstIsLast()
        done = []
        asked = [
            Sample(reference_claims=[f"One {n}."], retrieved_contexts=["c"]) for n in range(30)
        ]
        evaluate(
            asked, scorer(model), max_concurrency=2, progress=False, retries=0,
            on_progress=lambda progress: done.append((progress.done, len(model.sent))),
        )  # fmt: skip
        assert done[0] == (1, 30)


class TestLoops:
    """With an event loop, without, and inside a running one."""

    def test_evaluate_inside_a_running_loop(self) -> None:
        """A notebook's cell and a server's handler may call `evaluate`."""
        model = DelayedModel()

        async def cell() -> float | None:
            return evaluate(samples(4), scorer(model), progress=False).summary()[0].mean

        assert asyncio.run(cell()) == 0.5
        assert model.closed == 1, "the connections of the loop that was made are closed"

    def test_aevaluate_blocks_nothing(self) -> None:
        """The loop turns while samples are read, and while a scorer computes."""
        turns = 0

        def slow() -> Iterator[Sample]:
            for sample in samples(3):
                time.sleep(0.05)
                yield sample

        class SlowRecall(IdRecall):
            def score(self, *arguments: Any, **fields: Any) -> Any:
                time.sleep(0.05)
                return super().score(*arguments, **fields)

        async def main() -> None:
            nonlocal turns
            model = DelayedModel()
            running = asyncio.create_task(
                aevaluate(slow(), [scorer(model), SlowRecall()], progress=False)
            )
            while not running.done():
                turns += 1
                await asyncio.sleep(0.001)
            assert model.closed == 0, "connections of the user's loop are the user's"
            assert len(running.result()) == 3

        asyncio.run(main())
        assert turns > 50

    def test_samples_from_an_asynchronous_iterable(self) -> None:
        """They come as they come; a bad one is named with what came before."""

        async def stream() -> AsyncIterator[Any]:
            for sample in samples(3):
                await asyncio.sleep(0)
                yield sample
            yield {"colour": "red"}

        with pytest.raises(InputError, match=r"sample 4: .*colour") as caught:
            asyncio.run(aevaluate(stream(), scorer(DelayedModel()), progress=False))
        assert caught.value.report is not None
        assert [row.results[0].score for row in caught.value.report] == [0.0, 0.0, 1.0]

    def test_a_cancelled_task_leaves_nothing_behind(self) -> None:
        """Cancelling `aevaluate` ends it, and what was in flight."""
        model = DelayedModel(lambda _: 60.0)

        async def main() -> None:
            running = asyncio.create_task(aevaluate(samples(4), scorer(model), progress=False))
            while not model.at_once:  # noqa: ASYNC110 - a double has no event
                await asyncio.sleep(0.001)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert model.at_once == 0
            assert asyncio.all_tasks() == {asyncio.current_task()}

        asyncio.run(main())

    def test_a_call_that_was_interrupted_leaves_the_next_one_alone(self) -> None:
        """A second Ctrl-C may come just as a call ends: what closes the run is run to its end."""

        def press() -> None:
            raise KeyboardInterrupt

        async def ending() -> None:
            asyncio.get_running_loop().call_soon(press)

        async def closing() -> int:
            await asyncio.sleep(0.01)
            return 7

        with EventLoop() as looping:
            with pytest.raises(KeyboardInterrupt):
                looping.call(ending())
            assert looping.call(closing()) == 7

    def test_scorers_that_ask_nobody_need_no_loop(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither IDs nor the built-in judge start one."""
        monkeypatch.setattr(asyncio, "Runner", None)
        report = evaluate(samples(3), [IdRecall(), ClaimRecall()], progress=False)
        assert [row.results[1].status for row in report] == [Status.SCORED] * 3

    def test_an_exception_of_the_samples_comes_after_what_is_in_flight(self) -> None:
        """What was read before a bad item is judged and kept."""
        asked = [*samples(5), None]
        with pytest.raises(InputError, match="sample 6") as caught:
            evaluate(asked, scorer(DelayedModel(lambda _: 0.01)), progress=False)  # type: ignore[list-item]
        assert caught.value.report is not None
        assert [row.results[0].score for row in caught.value.report] == [0.0, 0.0, 1.0, 1.0, 0.0]


class HttpError(Exception):
    """What a client raises: a status, and headers on a response."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"HTTP {status}")
        self.status_code = status
        self.response = type("Response", (), {"status_code": status, "headers": headers})()


class TestLimits:
    """Rate limits, timeouts, deadlines."""

    def test_a_rate_limit_lowers_the_concurrency(self) -> None:
        """An endpoint that takes two at a time gets there, and every sample is scored."""

        def fails(_: int) -> Exception | None:
            return HttpError(429) if model.at_once > 2 else None

        model = DelayedModel(lambda _: 0.002, fails)
        report = evaluate(samples(60), scorer(model), progress=False, retries=Retries(8, 0.004))
        assert {row.results[0].status for row in report} == {Status.SCORED}
        assert report.spent is not None
        assert 0 < report.spent.retries < 60

    def test_retry_after_holds_back_everybody(self) -> None:
        """After a Retry-After no request is sent until then."""
        times: list[float] = []

        def fails(number: int) -> Exception | None:
            times.append(time.monotonic())
            return HttpError(429, **{"retry-after": "0.3"}) if number == 3 else None

        model = DelayedModel(lambda _: 0.0, fails)
        evaluate(samples(20), scorer(model), progress=False, max_concurrency=2, retries=QUICK)
        assert times[4] - times[2] >= 0.29, "one more may have been on its way"

    def test_a_wait_that_is_too_long_is_not_waited(self) -> None:
        """A quota that is open again in an hour ends the request at once."""
        model = DelayedModel(fails=lambda _: HttpError(429, **{"retry-after": "3600"}))
        with pytest.raises(RunStopped, match="rate limit"):
            evaluate(samples(8), scorer(model), progress=False, max_concurrency=8, deadline=5)
        assert len(model.sent) <= 8

    def test_a_request_that_hangs_is_sent_once_more(self) -> None:
        """After its timeout, and then the sample is unscored with the way out."""
        model = DelayedModel(lambda number: 60.0 if number in (3, 9) else 0.0)
        report = evaluate(samples(6), scorer(model), progress=False, timeout=0.1, retries=QUICK)
        assert {row.results[0].status for row in report} == {Status.SCORED}
        stuck = DelayedModel(lambda _: 60.0)
        with pytest.raises(RunStopped, match=r"no answer within 0\.05 s; timeout=… allows more"):
            evaluate(samples(40), scorer(stuck), progress=False, timeout=0.05, retries=QUICK)
        assert len(stuck.sent) <= 2 * 16

    def test_the_deadline_ends_the_run_and_says_so(self) -> None:
        """Every sample is in the report; those that came too late are unscored."""
        model = DelayedModel(lambda number: 60.0 if number > 6 else 0.0)
        report = evaluate(
            samples(8), [scorer(model), IdRecall()], progress=False, deadline=0.3, max_concurrency=1
        )
        reasons = [row.results[0].reason for row in report if row.results[0].score is None]
        assert len(report) == 8
        assert 1 <= len(reasons) < 8
        assert set(reasons) == {"the run's deadline passed before it was judged"}

    @pytest.mark.parametrize(
        ("option", "value"),
        [("max_concurrency", 0), ("max_concurrency", 2.5), ("timeout", 0), ("deadline", -1),
         ("retries", -1), ("retries", "many"), ("keep", "all")],
    )  # fmt: skip
    def test_options_out_of_range(self, option: str, value: Any) -> None:
        """Each is refused by its name before anything is asked."""
        model = DelayedModel()
        with pytest.raises(ParameterError, match=option):
            evaluate(samples(1), scorer(model), progress=False, **{option: value})
        assert model.sent == []


class TestExceptions:
    """What users' own code raises ends the run, if it must, and loses nothing."""

    @pytest.mark.parametrize("asked", [IdRecall(), None], ids=["ids", "judged"])
    def test_samples_that_raise_midway(self, asked: IdRecall | None) -> None:
        """The exception is the user's own, and has the report of what was read before."""

        def stream() -> Iterator[Sample]:
            yield from samples(3)
            raise LookupError("the database is gone")

        chosen = asked or scorer(DelayedModel(lambda _: 0.01))
        with pytest.raises(LookupError, match="the database is gone") as caught:
            evaluate(stream(), chosen, progress=False)
        report = caught.value.report  # type: ignore[attr-defined]
        assert [row.results[0].status for row in report] == [Status.SCORED] * 3
        assert caught.value.__notes__ == [
            "It ended the run. error.report has the 3 samples so far."
        ]
        with pytest.raises(LookupError) as caught:
            asyncio.run(aevaluate(stream(), chosen, progress=False))
        assert len(caught.value.report) == 3  # type: ignore[attr-defined]

    def test_a_callback_that_raises(self) -> None:
        """It ends the run, and what is in flight; connections are closed."""
        model = DelayedModel(lambda number: 60.0 if number > 6 else 0.0)

        def failing(progress: Progress) -> None:
            if progress.done == 2:
                raise LookupError("no display")

        with pytest.raises(LookupError, match="no display") as caught:
            evaluate(samples(9), scorer(model), progress=False, on_progress=failing)
        assert len(caught.value.report) == 2  # type: ignore[attr-defined]
        assert (model.at_once, model.closed) == (0, 1)

    def test_a_callback_that_evaluates(self) -> None:
        """One run inside another, with a loop of its own."""
        means = []

        def another(progress: Progress) -> None:
            if progress.done == 2:
                inner = evaluate(samples(4), scorer(DelayedModel()), progress=False)
                means.append(inner.summary()[0].mean)

        outer = evaluate(samples(6), scorer(DelayedModel()), progress=False, on_progress=another)
        assert (means, len(outer)) == ([0.5], 6)

    @pytest.mark.parametrize("budget", [None, Budget(tokens=5_000)])
    def test_a_model_that_counts_no_tokens(self, tmp_path: Path, budget: Budget | None) -> None:
        """None is none: the run goes on, with a store and a budget too."""

        class Uncounted(DelayedModel):
            async def acomplete(self, request: ChatRequest) -> Completion:
                answer = await super().acomplete(request)
                return replace(answer, prompt_tokens=None, completion_tokens=None)  # type: ignore[arg-type]

        report = evaluate(
            samples(4), scorer(Uncounted()), progress=False, budget=budget, store=tmp_path / "s"
        )
        assert {row.results[0].status for row in report} == {Status.SCORED}
        assert {row.results[0].usage for row in report} == {(2, 0, 0)}


class TestStopping:
    """A model that answers nobody ends the run: once, clearly, and nothing is lost."""

    @pytest.mark.parametrize("status", [401, 403, 404])
    def test_no_key_no_model(self, status: int) -> None:
        """The first failures stop the run; what is in flight is all that was sent."""
        model = DelayedModel(lambda _: 0.01, lambda _: HttpError(status))
        with pytest.raises(RunStopped, match=f"delayed does not answer: .*HTTP {status}") as caught:
            evaluate(samples(200), scorer(model), progress=False, max_concurrency=4, retries=QUICK)
        assert len(model.sent) <= 2 + 1, "of two that were on their way one tried again for both"
        assert caught.value.report is not None
        assert {row.results[0].status for row in caught.value.report} == {Status.UNSCORED}

    def test_nobody_there(self) -> None:
        """An address where nobody listens is not tried for every sample."""
        model = DelayedModel(fails=lambda _: ConnectionRefusedError("nobody"))
        with pytest.raises(RunStopped, match="ConnectionRefusedError: nobody"):
            evaluate(samples(200), scorer(model), progress=False, max_concurrency=4, retries=QUICK)
        assert len(model.sent) <= 4 * 5

    def test_one_bad_sample_is_not_the_runs_problem(self) -> None:
        """A request that is always rejected, first of all too, costs its own sample alone."""
        model = DelayedModel(fails=lambda _: HttpError(400) if "says of 0." in told() else None)

        def told() -> str:
            return model.sent[-1].messages[1].content

        asked = samples(6)
        report = evaluate(asked, scorer(model), progress=False, max_concurrency=1, retries=QUICK)
        assert [row.results[0].status for row in report].count(Status.UNSCORED) == 1
        assert len(model.sent) == 3 + 6 + 1

    @pytest.mark.parametrize("status", [400, 401])
    def test_who_is_turned_away_waits_for_an_answer_to_another(self, status: int) -> None:
        """The first failure is known before the first answer: it is sent again after that."""
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

    def test_without_retries_nothing_is_sent_again(self) -> None:
        """Neither what fails for the moment nor what is turned away."""
        model = DelayedModel(fails=lambda number: HttpError(400) if number == 4 else None)
        report = evaluate(samples(6), scorer(model), progress=False, retries=0)
        assert report.spent is not None
        assert (report.spent.retries, report.summary()[0].unscored) == (0, 1)

    def test_an_endpoint_that_dies_midway(self) -> None:
        """What was scored before is in the error's report, and the rest is not asked for."""
        model = DelayedModel(fails=lambda number: HttpError(500) if number > 30 else None)
        with pytest.raises(RunStopped, match="in a row failed") as caught:
            evaluate(samples(400), scorer(model), progress=False, max_concurrency=4, retries=QUICK)
        report = caught.value.report
        assert report is not None
        scored = report.summary()[0].scored
        assert 15 <= scored < len(report) < 60
        assert len(model.sent) < 30 + 5 * (5 + 4) + 1

    def test_a_failure_of_the_model_itself_is_no_such_thing(self) -> None:
        """Refusals are answers: each sample is unscored, and the run goes on."""
        model = DelayedModel()
        refusing = Completion("", failure=Failure.REFUSED, detail="no")

        async def refuse(_: ChatRequest) -> Completion:
            return refusing

        model.acomplete = refuse  # type: ignore[method-assign]
        report = evaluate(samples(20), scorer(model), progress=False)
        assert report.summary()[0].unscored == 20


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX systems")
class TestCtrlC:
    """Once: a clean stop with the partial report. Twice: at once."""

    def test_the_partial_report_comes_with_it(self) -> None:
        """What is in flight is unscored, what was done is kept, the handler is as before."""
        before = signal.getsignal(signal.SIGINT)
        model = DelayedModel(lambda number: 60.0 if number > 9 else 0.0)

        def press(progress: Progress) -> None:
            if progress.done == 4:
                os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(Interrupted) as caught:
            evaluate(samples(40), scorer(model), progress=False, on_progress=press)
        rows = caught.value.report.rows
        assert [row.position for row in rows] == list(range(1, len(rows) + 1))
        assert [row.results[0].score for row in rows[:4]] == [0.0, 0.0, 1.0, 1.0]
        assert "the run was interrupted" in rows[-1].results[0].reason
        assert len(rows) < 40
        assert model.at_once == 0
        assert signal.getsignal(signal.SIGINT) is before
        assert isinstance(caught.value, KeyboardInterrupt)

    def test_while_a_request_is_on_its_way(self) -> None:
        """Nothing is waited for."""
        model = DelayedModel(lambda _: 60.0)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(Interrupted):
            evaluate(samples(4), scorer(model), progress=False)

    def test_between_two_scores_without_a_model(self) -> None:
        """Deterministic scorers stop between two samples."""

        def press(progress: Progress) -> None:
            if progress.done == 2:
                os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(Interrupted) as caught:
            evaluate(samples(9), IdRecall(), progress=False, on_progress=press)
        assert len(caught.value.report) == 2

    def test_in_another_thread_nothing_is_handled(self) -> None:
        """No signal arrives there, and none is asked for."""
        done = []
        thread = threading.Thread(
            target=lambda: done.append(evaluate(samples(4), scorer(DelayedModel()), progress=False))
        )
        thread.start()
        thread.join()
        assert len(done[0]) == 4


class TestProgress:
    """A bar on a terminal, lines elsewhere, callbacks for other displays, or nothing."""

    def test_lines_where_there_is_no_terminal(self, capfd: pytest.CaptureFixture[str]) -> None:
        """One line per interval, and a last one; each with what was spent."""
        model = DelayedModel(lambda _: 0.02)
        evaluate(samples(20), scorer(model), log_every=0.05, max_concurrency=4)
        lines = capfd.readouterr().err.splitlines()
        assert len(lines) > 2
        assert re.fullmatch(
            r"fullrecall: 20/20 samples, [\d.]+/s, 30 calls, \d+ tokens", lines[-1]
        ), lines[-1]

    def test_a_short_run_says_nothing(self, capfd: pytest.CaptureFixture[str]) -> None:
        """Neither a bar nor a line, and with `progress=False` never."""
        evaluate(samples(4), scorer(DelayedModel()))
        evaluate(samples(4), scorer(DelayedModel()), progress=False, log_every=0.0)
        assert capfd.readouterr() == ("", "")

    def test_callbacks_get_a_snapshot_after_each_sample(self) -> None:
        """With scores, calls, retries and tokens so far."""
        seen: list[Progress] = []
        model = DelayedModel(fails=lambda number: HttpError(503) if number == 2 else None)
        evaluate(
            samples(6), [scorer(model), IdRecall()], progress=False, on_progress=seen.append,
            retries=QUICK,
        )  # fmt: skip
        last = seen[-1]
        assert [progress.done for progress in seen] == [1, 2, 3, 4, 5, 6]
        assert (last.total, last.scored, last.unscored) == (6, 12, 0)
        assert (last.spent.calls, last.spent.retries, last.spent.cost) == (10, 1, None)
        assert last.spent.prompt_tokens == 3 * 7 + 6 * 11

    def test_a_bar_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It counts samples and tells what was spent."""
        written: list[str] = []

        class Terminal:
            encoding = "utf-8"

            def write(self, text: str) -> None:
                written.append(text)

            def flush(self) -> None:
                pass

            def isatty(self) -> bool:
                return True

        monkeypatch.setattr(sys, "stderr", Terminal())
        model = DelayedModel(lambda _: 0.15)
        evaluate(samples(20), scorer(model), max_concurrency=2)
        assert "calls" in "".join(written)
        assert "20" in "".join(written)


def test_memory_stays_flat_however_long_the_stream() -> None:
    """With `keep="summary"` the engine lets go of samples that were judged."""
    alive: list[int] = []
    model = DelayedModel()

    def stream() -> Iterator[Sample]:
        for number in range(300):
            if number % 100 == 99:
                gc.collect()
                alive.append(sum(isinstance(thing, Sample) for thing in gc.get_objects()))
            yield Sample(reference_claims=[f"One {number}."], retrieved_contexts=["c"])

    evaluate(stream(), scorer(model), progress=False, keep="summary", max_concurrency=4)
    assert max(alive) - min(alive) < 20
