"""Errors carry what their messages say as attributes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from fullrecall import Gate, IdRecall, TextRecall, evaluate
from fullrecall.errors import ParameterError
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


def test_a_parameter_may_be_given_by_its_name() -> None:
    """The message of a pickled and restored error still begins with the parameter's name."""
    error = ParameterError("must be 1", parameter="k")
    assert str(pickle.loads(pickle.dumps(error))) == "k must be 1"  # noqa: S301 - ours


def test_a_message_about_several_parameters_has_no_name() -> None:
    """An error about several parameters has only its problem as the message."""
    with pytest.raises(ParameterError) as raised:
        Gate()
    assert raised.value.parameter is None
    assert str(raised.value) == raised.value.problem
