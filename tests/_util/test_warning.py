"""Warnings show the line of the user's program that led to them."""

from __future__ import annotations

import pytest

from fullrecall import IdRecall, evaluate
from fullrecall._util.warning import warn


def test_a_warning_shows_the_callers_line() -> None:
    """The line outside fullrecall is shown, for any number of calls inside fullrecall."""
    with pytest.warns(UserWarning, match="here") as direct:
        warn("here")

    def search(question: str) -> list[str]:
        warn(question)
        return ["d1"]

    sample = {"user_input": "why?", "reference_context_ids": ["d1"]}
    with pytest.warns(UserWarning, match="why") as nested:
        evaluate([sample], IdRecall(), retriever=search, progress=False)
    assert [each[0].filename for each in (direct, nested)] == [__file__, __file__]
