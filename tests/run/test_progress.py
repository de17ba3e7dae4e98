"""The progress bar of a run."""

from __future__ import annotations

import sys
import time
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from tests.run.delayed_model import DelayedModel, samples, scorer

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.judge.usage import Spent
from fullrecall.run.progress import Meter


class TestProgress:
    """A run's progress bar is shown or hidden."""

    def test_a_short_run_says_nothing(self, capfd: pytest.CaptureFixture[str]) -> None:
        """A short run shows no bar, and with `progress=False` no run does."""
        evaluate(samples(4), scorer(DelayedModel()))
        evaluate(samples(4), scorer(DelayedModel()), progress=False)
        assert capfd.readouterr() == ("", "")

    def test_a_bar_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The bar shows the number of samples and the spending."""
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

    def test_what_the_bar_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The bar counts single rows, parts, and the unscored rows among them."""
        report = evaluate([*samples(2), Sample()], IdRecall(), progress=False)
        written = StringIO()
        monkeypatch.setattr(written, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stderr", written)
        run: Any = SimpleNamespace(seconds=9.0, spent=Spent())
        meter = Meter(run, total=10)
        for row in report:
            meter.add(row)
        time.sleep(0.11)  # The bar is drawn at most every 0.1 s.
        meter.add_part(report.table.parts[0], 1)
        meter.close()
        assert "6/10" in written.getvalue()
        assert "2 unscored]" in written.getvalue()
