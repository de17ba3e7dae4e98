"""The progress bar of a run."""

from __future__ import annotations

import sys

import pytest
from tests.run.delayed_model import DelayedModel, samples, scorer

from fullrecall import evaluate


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
