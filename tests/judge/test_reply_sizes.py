"""A reply with too many values is refused before it is read."""

from __future__ import annotations

import pytest

from fullrecall.judge import OpenAIChatModel
from fullrecall.judge.models.chat import Failure


@pytest.mark.parametrize(
    ("commas", "failure"), [(99_999, Failure.MALFORMED), (100_000, Failure.TOO_LARGE)]
)
def test_a_reply_with_too_many_values(commas: int, failure: Failure) -> None:
    """Up to 100,000 commas and brackets are read."""
    model = OpenAIChatModel("m", base_url="http://127.0.0.1:1", api_key="k")
    completion = model._completion(b"[" + b"," * commas)
    assert completion.failure is failure
