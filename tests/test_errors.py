"""Errors carry what their messages say as attributes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from fullrecall import Gate, IdRecall, TextRecall, evaluate
from fullrecall.errors import InputError, Interrupted, MissingExtraError, ParameterError
from fullrecall.measures import Recall


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: TextRecall(threshold=3), "threshold"),
        (lambda: TextRecall(similarity="nearly"), "similarity"),
        (lambda: Gate(Recall >= 0.9, confidence=1), "confidence"),
        (lambda: Gate(Recall, margin=7), "margin"),
        (lambda: evaluate([], IdRecall(), max_concurrency=0), "max_concurrency"),
        (lambda: evaluate([], IdRecall(), timeout=-1), "timeout"),
    ],
)
def test_the_wrong_parameter_is_an_attribute(call: Callable[[], Any], parameter: str) -> None:
    """The message begins with it, and a copy in another process has it too."""
    with pytest.raises(ParameterError) as raised:
        call()
    for error in (raised.value, pickle.loads(pickle.dumps(raised.value))):  # noqa: S301 - ours
        assert error.parameter == parameter
        assert str(error) == f"{parameter} {error.problem}"
        assert error.problem.startswith("must be ")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ParameterError("must be 1", parameter="k"), "k must be 1"),
        (Interrupted(range(2)), "interrupted after 2 samples; error.report has them"),
        (
            MissingExtraError("duckdb", "parquet", "a file"),
            "a file needs duckdb (extra parquet), not installed here: pip install duckdb",
        ),
        (InputError("no list"), "no list"),
        (InputError("no list", line=0), "sample 0: no list"),
        (InputError("no list", path="a.csv"), "a.csv: no list"),
        (InputError("no list").at(path="a.csv", line=3), "a.csv:3: no list"),
        (InputError("no list", path="b.csv", line=0).at(path="a.csv", line=3), "b.csv:0: no list"),
    ],
)
def test_a_message_is_whole_in_another_process(error: BaseException, message: str) -> None:
    """An error that a worker sends has the message and the type of the worker's."""
    sent = pickle.loads(pickle.dumps(error))  # noqa: S301 - ours
    assert (type(sent), str(sent), str(error)) == (type(error), message, message)


def test_a_message_about_several_parameters_has_no_name() -> None:
    """An error about several parameters has only its problem as the message."""
    with pytest.raises(ParameterError) as raised:
        Gate()
    assert raised.value.parameter is None
    assert str(raised.value) == raised.value.problem
