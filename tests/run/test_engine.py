"""Many samples are in flight, in any event loop, in order, and in bounded memory."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fullrecall import ClaimRecall, IdRecall, LLMJudge, Sample, aevaluate, evaluate
from fullrecall.errors import InputError
from fullrecall.judge.models import Completion
from fullrecall.judge.models.chat import ChatRequest
from fullrecall.scorers.result import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fullrecall.table.row import Row
from tests.run.delayed_model import DelayedModel, samples, scorer


class TestOrder:
    """Rows are in the samples' order, and the report is the same at any concurrency."""

    def test_reports_are_the_same_to_the_byte(self, tmp_path: Path) -> None:
        """Reports are byte-equal at 1, 4 and 16 in flight, for any order of replies."""
        saved = []
        for concurrency in (1, 4, 16):
            model = DelayedModel(lambda number: (number * 7 % 5) / 1000)
            asked = [scorer(model), IdRecall()]
            report = evaluate(samples(40), asked, max_concurrency=concurrency, progress=False)
            assert len(model.sent) == 60, "what two samples share is split once"
            assert concurrency // 4 < model.most <= concurrency
            report.save(tmp_path / "report.jsonl", replace=True)
            saved.append((tmp_path / "report.jsonl").read_bytes())
        model = DelayedModel(lambda number: (number * 3 % 5) / 1000)
        report = asyncio.run(aevaluate(samples(40), [scorer(model), IdRecall()], progress=False))
        report.save(tmp_path / "report.jsonl", replace=True)
        saved.append((tmp_path / "report.jsonl").read_bytes())
        assert len(set(saved)) == 1
        assert [row.label for row in report] == [f"s{number}" for number in range(40)]

    def test_two_scorers_of_one_judging_pay_once(self) -> None:
        """A request that two scorers share is sent once, and is in the usage of both."""
        model = DelayedModel()
        judge = LLMJudge(model)
        asked = [ClaimRecall(judge=judge), ClaimRecall(judge=judge, name="other")]
        report = evaluate(samples(2), asked, progress=False)
        assert len(model.sent) == 3
        assert [result.usage for row in report for result in row.results] == [(2, 18, 8)] * 4
        assert report.spent is not None
        assert (report.spent.calls, report.spent.prompt_tokens) == (3, 7 + 11 + 11)

    def test_a_stream_is_read_as_far_as_it_is_needed(self) -> None:
        """A stream is read ahead only by the samples in flight and those done."""
        drawn = finished = 0

        def stream() -> Iterator[Sample]:
            nonlocal drawn
            for sample in samples(60):
                drawn += 1
                assert drawn - finished <= 2 * 4
                yield sample

        def count(row: Row) -> None:
            nonlocal finished
            finished = row.position

        model = DelayedModel()
        report = evaluate(
            stream(),
            scorer(model),
            max_concurrency=4,
            progress=False,
            sink=count,
        )
        assert (len(report), finished) == (60, 60)

    def test_a_sample_is_read_before_there_is_room_for_it(self) -> None:
        """The third sample is read while two are in flight, and begins when one of them ends."""
        third_is_read = threading.Event()

        def stream() -> Iterator[Sample]:
            for number, sample in enumerate(samples(6), start=1):
                if number == 3:
                    third_is_read.set()
                yield sample

        class Patient(DelayedModel):
            async def acomplete(self, request: ChatRequest) -> Completion:
                assert await asyncio.to_thread(third_is_read.wait, 60)
                return await super().acomplete(request)

        model = Patient()
        report = evaluate(stream(), scorer(model), max_concurrency=2, progress=False)
        assert [row.results[0].status for row in report] == [Status.SCORED] * 6
        assert model.most <= 2

    def test_a_slow_first_sample_holds_up_no_other(self) -> None:
        """A slow first sample delays only the rows of the later samples, not their judging."""

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
            asked,
            scorer(model),
            max_concurrency=2,
            progress=False,
            retries=0,
            sink=lambda row: done.append((row.position, len(model.sent))),
        )
        assert done[0] == (1, 30)


class TestLoops:
    """`evaluate` works with an event loop, without one, and inside a running one."""

    def test_evaluate_inside_a_running_loop(self) -> None:
        """`evaluate` works inside a running loop, as in a notebook's cell or a server's handler."""
        model = DelayedModel()

        async def cell() -> float | None:
            return evaluate(samples(4), scorer(model), progress=False).summary()[0].mean

        assert asyncio.run(cell()) == 0.5
        assert model.closed == 1, "the connections of the loop that was made are closed"

    def test_aevaluate_blocks_nothing(self) -> None:
        """The loop runs on while `aevaluate` reads samples, and while a scorer computes."""
        turns, turned = 0, threading.Semaphore(0)

        def slow() -> Iterator[Sample]:
            for sample in samples(3):
                assert turned.acquire(timeout=60)
                yield sample

        class SlowRecall(IdRecall):
            def score(self, *arguments: Any, **fields: Any) -> Any:
                assert turned.acquire(timeout=60)
                return super().score(*arguments, **fields)

        async def main() -> None:
            nonlocal turns
            model = DelayedModel()
            running = asyncio.create_task(
                aevaluate(slow(), [scorer(model), SlowRecall()], progress=False)
            )
            while not running.done():
                turns += 1
                if turns % 20 == 0:
                    turned.release()
                await asyncio.sleep(0.001)
            assert model.closed == 0, "connections of the user's loop are the user's"
            assert len(running.result()) == 3

        asyncio.run(main())
        assert turns >= 6 * 20

    @pytest.mark.parametrize("seconds", [0.0, 0.002], ids=["ready", "slow"])
    def test_a_cancelled_task_leaves_nothing_behind(self, seconds: float) -> None:
        """Canceling `aevaluate` ends it, the requests in flight, and the reading of samples."""
        model = DelayedModel(lambda _: 60.0)

        def read() -> Iterator[Sample]:
            for sample in samples(400 if seconds else 4):
                time.sleep(seconds)
                yield sample

        async def main() -> None:
            running = asyncio.create_task(aevaluate(read(), scorer(model), progress=False))
            while not model.at_once:  # noqa: ASYNC110 - a double has no event
                await asyncio.sleep(0.001)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert model.at_once == 0
            assert asyncio.all_tasks() == {asyncio.current_task()}

        asyncio.run(main())

    @pytest.mark.rooms
    def test_scorers_that_ask_nobody_need_no_loop(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Scorers without a model, by ID or with the built-in judge, start no event loop."""
        monkeypatch.setattr(asyncio, "new_event_loop", None)
        report = evaluate(samples(3), [IdRecall(), ClaimRecall()], progress=False)
        assert [row.results[1].status for row in report] == [Status.SCORED] * 3

    def test_an_exception_of_the_samples_comes_after_what_is_in_flight(self) -> None:
        """An exception of the input is raised after the samples before it are judged and kept."""
        asked = [*samples(5), None]
        with pytest.raises(InputError, match="sample 6") as caught:
            evaluate(asked, scorer(DelayedModel(lambda _: 0.01)), progress=False)  # type: ignore[list-item]
        assert caught.value.report is not None
        assert [row.results[0].score for row in caught.value.report] == [0.0, 0.0, 1.0, 1.0, 0.0]


def test_memory_stays_flat_however_long_the_stream(tmp_path: Path) -> None:
    """With `output=` the engine frees the samples that were judged."""
    alive: list[int] = []
    model = DelayedModel()

    def stream() -> Iterator[Sample]:
        for number in range(300):
            if number % 100 == 99:
                gc.collect()
                alive.append(sum(isinstance(thing, Sample) for thing in gc.get_objects()))
            yield Sample(reference_claims=[f"One {number}."], retrieved_contexts=["c"])

    output = tmp_path / "judged.jsonl"
    evaluate(stream(), scorer(model), progress=False, max_concurrency=4, output=output)
    assert max(alive) - min(alive) < 20
