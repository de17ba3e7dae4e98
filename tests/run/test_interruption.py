"""Exceptions and Ctrl-C end a run early, and carry its report."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, Self

import pytest

from fullrecall import Budget, IdRecall, Report, Sample, aevaluate, evaluate
from fullrecall.errors import Interrupted
from fullrecall.judge.models import Completion
from fullrecall.judge.models.chat import ChatRequest
from fullrecall.scorers.result import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

    from fullrecall.table.row import Row
from tests.run.delayed_model import DelayedModel, samples, scorer


class TestExceptions:
    """Exceptions of users' code lose no row, and end the run if they must."""

    @pytest.mark.parametrize("asked", [IdRecall(), None], ids=["ids", "judged"])
    def test_samples_that_raise_midway(self, asked: IdRecall | None) -> None:
        """The exception is the user's own, and has the report of the samples before it."""

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
        """A callback that raises ends the run, its requests in flight, and its connections."""
        model = DelayedModel(lambda number: 60.0 if number > 6 else 0.0)

        def failing(row: Row) -> None:
            if row.position == 2:
                raise LookupError("no display")

        with pytest.raises(LookupError, match="no display") as caught:
            evaluate(samples(9), scorer(model), progress=False, sink=failing)
        assert len(caught.value.report) == 2  # type: ignore[attr-defined]
        assert (model.at_once, model.closed) == (0, 1)

    def test_a_callback_that_evaluates(self) -> None:
        """A callback may run another evaluation, in a loop of its own."""
        means = []

        def another(row: Row) -> None:
            if row.position == 2:
                inner = evaluate(samples(4), scorer(DelayedModel()), progress=False)
                means.append(inner.summary()[0].mean)

        outer = evaluate(samples(6), scorer(DelayedModel()), progress=False, sink=another)
        assert (means, len(outer)) == ([0.5], 6)

    @pytest.mark.parametrize("budget", [None, Budget(tokens=5_000)])
    def test_a_model_that_counts_no_tokens(self, tmp_path: Path, budget: Budget | None) -> None:
        """A usage of None counts as no tokens: the run continues, with a store and a budget too."""

        class Uncounted(DelayedModel):
            async def acomplete(self, request: ChatRequest) -> Completion:
                answer = await super().acomplete(request)
                return replace(answer, prompt_tokens=None, completion_tokens=None)  # type: ignore[arg-type]

        report = evaluate(
            samples(4), scorer(Uncounted()), progress=False, budget=budget, store=tmp_path / "s"
        )
        assert {row.results[0].status for row in report} == {Status.SCORED}
        assert {row.results[0].usage for row in report} == {(2, 0, 0)}


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX systems")
class TestCtrlC:
    """The first Ctrl-C ends a run with the partial report, the second at once."""

    def test_the_partial_report_comes_with_it(self) -> None:
        """Samples in flight are unscored, finished ones kept, and the handler is restored."""
        before = signal.getsignal(signal.SIGINT)

        def pressed(number: int) -> float:
            if number == 13:  # This sample is in flight at any load of the machine.
                os.kill(os.getpid(), signal.SIGINT)
            return 60.0 if number > 12 else 0.0

        model = DelayedModel(pressed)
        with pytest.raises(Interrupted) as caught:
            # The input has more samples than are read while the first are asked.
            evaluate(samples(2_000), scorer(model), progress=False, max_concurrency=2)
        rows = caught.value.report.rows
        assert [row.position for row in rows] == list(range(1, len(rows) + 1))
        assert [row.results[0].score for row in rows[:4]] == [0.0, 0.0, 1.0, 1.0]
        assert "the run was interrupted" in rows[-1].results[0].reason
        assert len(rows) < 2_000
        assert model.at_once == 0
        assert signal.getsignal(signal.SIGINT) is before
        assert isinstance(caught.value, KeyboardInterrupt)

    def test_while_a_request_is_on_its_way(self) -> None:
        """Ctrl-C ends a run without waiting for the reply in flight."""
        model = DelayedModel(lambda _: 60.0)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(Interrupted):
            evaluate(samples(4), scorer(model), progress=False)

    def test_between_two_scores_without_a_model(self) -> None:
        """Deterministic scorers stop between two samples."""

        def press(row: Row) -> None:
            if row.position == 2:
                os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(Interrupted) as caught:
            evaluate(samples(9), IdRecall(), progress=False, sink=press)
        assert len(caught.value.report) == 2

    def test_in_another_thread_nothing_is_handled(self) -> None:
        """In another thread no signal handler is set, because no signal arrives there."""
        done = []
        thread = threading.Thread(
            target=lambda: done.append(evaluate(samples(4), scorer(DelayedModel()), progress=False))
        )
        thread.start()
        thread.join()
        assert len(done[0]) == 4


class _SignalAtLine:
    """Sends Ctrl-C before the nth line that the main thread runs in `folders`.

    A run that waits before that line gets Ctrl-C while it waits. With `more`, the first Ctrl-C
    comes at that point, the second before the nth line after that, and the rest of `more` before
    the following lines. A run that continues after the last has `hung`.
    """

    def __init__(
        self, nth: int, release: Callable[[], object], *folders: str, more: int = 0
    ) -> None:
        self.lines_left, self.hung = nth, False
        self._release, self._folders, self._more = release, folders, more
        self._lines = 0
        self._counts = not more
        self._over = threading.Event()
        self._unpressed = iter((True,))
        self._main = threading.get_ident()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    @property
    def was_reached(self) -> bool:
        return self.lines_left <= 0

    def __enter__(self) -> Self:
        self._watcher.start()
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        self._over.set()
        self._release()
        self._watcher.join()  # This tracer must not send Ctrl-C in the next run.

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        is_traced = any(folder in frame.f_code.co_filename for folder in self._folders)
        return self._line if is_traced else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        self._lines += 1
        self.lines_left -= event == "line" and self._counts
        is_due = event == "line" and self._counts and -max(1, self._more) < self.lines_left <= 0
        if is_due and (self._more or next(self._unpressed, False)):
            # The handler is called as Python would: `signal.raise_signal` would pass it this frame.
            handler: Any = signal.getsignal(signal.SIGINT)
            handler(signal.SIGINT, frame)
        return self._line

    def _watch(self) -> None:
        before = -1
        while not self._over.wait(0.1) and not self.was_reached and self._lines != before:
            before = self._lines
        # On a busy machine a run may only seem to have stopped, and still reach the line.
        if not self._over.is_set() and next(self._unpressed, False):
            signal.pthread_kill(self._main, signal.SIGINT)
            self._counts = True
        self.hung = not self._over.wait(60)
        while not self._over.wait(1):
            self._release()
            signal.pthread_kill(self._main, signal.SIGINT)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX systems")
@pytest.mark.parametrize("kind", ["retriever in threads", "retriever in a loop", "judge"])
def test_ctrl_c_before_any_line(kind: str) -> None:
    """Ctrl-C before any line ends the run at once, though its retriever or model never answers.

    A loop that waits for a model never stops executing lines, since it wakes up every second; the
    first 300 lines include a part of the wait.
    """
    for nth in range(1, 301) if kind == "judge" else count(1):
        over = threading.Event()

        def search(question: str, over: threading.Event = over) -> list[str]:
            if question == "q1":
                over.wait()
            return [question]

        async def asearch(question: str) -> list[str]:
            if question == "q1":
                await asyncio.sleep(600)
            return [question]

        asked: Any = [{"user_input": f"q{n}", "reference_context_ids": [f"q{n}"]} for n in range(2)]
        options: Any = {"retriever": search if "threads" in kind else asearch}
        scorers: Any = IdRecall()
        if kind == "judge":
            asked, options, scorers = samples(2), {}, scorer(DelayedModel(lambda _: 600.0))
        with (
            pytest.raises(KeyboardInterrupt),
            _SignalAtLine(nth, over.set, "/fullrecall/run/") as sent,
        ):
            evaluate(asked, scorers, progress=False, timeout=None, **options)
        assert not sent.hung, f"Ctrl-C before line {nth} ended nothing"
        if not sent.was_reached:
            break


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX systems")
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("more", [1, 3])
def test_more_of_ctrl_c_before_any_line(more: int) -> None:
    """Further Ctrl-C before any line interrupt the cleanup that the first one began."""
    folders = ("/fullrecall/run/", "/fullrecall/judge/models/", "/concurrent/", "/threading.py")
    for nth in range(1, 1_500, 2 * more):
        judged = scorer(DelayedModel(lambda _: 600.0))
        pressed = _SignalAtLine(nth, lambda: None, *folders, more=more)
        with pytest.raises(KeyboardInterrupt), pressed:
            evaluate(samples(2), judged, progress=False, timeout=None)
        assert not pressed.hung, f"Ctrl-C before line {nth} ended nothing"
        if not pressed.was_reached:
            break


# The signal may meet a callback of the garbage collector, such as Hypothesis's, which drops it; the
# run ends before its next sample.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
class TestReading:
    """Ctrl-C and a deadline end a run whose input hangs or never ends."""

    @pytest.fixture(autouse=True)
    def _soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("fullrecall.run.work._AFTER_DEADLINE", 0.01)

    @staticmethod
    def stuck(then: Callable[[], object] = lambda: None) -> Iterator[Sample]:
        """Yield two samples, and hang."""
        yield from samples(2)
        then()
        threading.Event().wait(60)
        pytest.fail("the run waited for the samples")

    @pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX systems")
    @pytest.mark.parametrize("chosen", [IdRecall(), None], ids=["ids", "judged"])
    def test_ctrl_c_while_samples_hang(self, chosen: IdRecall | None) -> None:
        """Ctrl-C ends a run whose input hangs, and the rows before are kept."""
        scorer_used = chosen or scorer(DelayedModel())
        with pytest.raises(Interrupted) as caught:
            evaluate(
                self.stuck(lambda: os.kill(os.getpid(), signal.SIGINT)), scorer_used, progress=False
            )
        assert len(caught.value.report) == 2

    @pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX systems")
    def test_the_deadline_while_samples_hang(self, tmp_path: Path) -> None:
        """The deadline ends a run whose input hangs; the next run finishes its output."""
        path = tmp_path / "rows.jsonl"
        report = evaluate(self.stuck(), IdRecall(), progress=False, deadline=0.05, output=path)
        assert (
            report.stopped
            == "the run was stopped: the deadline passed before all samples were read"
        )
        assert len(report) <= 2
        whole = evaluate(samples(9), IdRecall(), progress=False, output=path)
        assert (len(whole), whole.stopped) == (9, None)

    @pytest.mark.parametrize("chosen", [IdRecall(), None], ids=["ids", "judged"])
    @pytest.mark.parametrize("is_async", [False, True])
    def test_the_deadline_while_samples_never_end(
        self, chosen: IdRecall | None, *, is_async: bool
    ) -> None:
        """The deadline ends a run whose input never ends, after some unscored samples."""
        endless = (sample for _ in count() for sample in samples(2))
        options: Any = {"progress": False, "deadline": 1e-9}
        asked = chosen or scorer(DelayedModel())
        if is_async:
            report = asyncio.run(aevaluate(endless, asked, **options))
        else:
            report = evaluate(endless, asked, **options)
        assert {row.results[0].status for row in report} <= {Status.UNSCORED}
        assert "the deadline passed before all samples were read" in str(report.stopped)

    def test_the_deadline_of_an_awaited_run_whose_samples_hang(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The deadline ends an awaited run whose input hangs, and the rows before are kept."""
        over = threading.Event()
        real, shift = time.monotonic, [0.0]
        monkeypatch.setattr(time, "monotonic", lambda: real() + shift[0])

        async def main() -> Report:
            loop = asyncio.get_running_loop()

            def stuck() -> Iterator[Sample]:
                yield from samples(2)
                shift[0] = 1e6  # The deadline passes only now, however slow the machine is.
                loop.call_soon_threadsafe(lambda: None)
                over.wait()

            return await aevaluate(stuck(), IdRecall(), progress=False, deadline=1e5)

        try:
            report = asyncio.run(main())
        finally:
            over.set()
        assert (len(report), report.complete) == (2, False)

    @pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX systems")
    def test_ctrl_c_while_columns_are_compared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ctrl-C ends the comparison of columns within one sample of a million IDs."""

        def pressed(*_: object) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            pytest.fail("the run went on")

        monkeypatch.setattr("fullrecall.scorers.id_samples.score_ids", pressed)
        with pytest.raises(Interrupted):
            evaluate([{"reference_context_ids": ["a"], "retrieved_context_ids": ["a"]}], IdRecall())
