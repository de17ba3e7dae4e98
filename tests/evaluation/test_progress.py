"""What shows a run while it goes on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from fullrecall import IdRecall
from fullrecall.evaluation.run import evaluate

if TYPE_CHECKING:
    from fullrecall.run.progress import Progress
from tests.evaluation.delayed_model import QUICK, DelayedModel, HttpError, samples, scorer


class TestProgress:
    """A bar, callbacks for other displays, or nothing."""

    def test_a_short_run_says_nothing(self, capfd: pytest.CaptureFixture[str]) -> None:
        """No bar, and with `progress=False` never."""
        evaluate(samples(4), scorer(DelayedModel()))
        evaluate(samples(4), scorer(DelayedModel()), progress=False)
        assert capfd.readouterr() == ("", "")

    def test_callbacks_get_a_snapshot_after_each_sample(self) -> None:
        """With scores, calls, retries and tokens so far."""
        seen: list[Progress] = []
        model = DelayedModel(fails=lambda number: HttpError(503) if number == 2 else None)
        evaluate(
            samples(6),
            [scorer(model), IdRecall()],
            progress=False,
            on_progress=seen.append,
            retries=QUICK,
        )
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
        evaluate(samples(20), scorer(model), max_concurrency=4)
        assert "calls" in "".join(written)
        assert "20" in "".join(written)
