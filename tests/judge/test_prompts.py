"""Prompts of one's own must have placeholders that can be filled."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall.errors import ParameterError
from fullrecall.judge.prompts import Prompts


@pytest.mark.parametrize("name", ["attribute", "relevance", "again"])
@pytest.mark.parametrize("text", ["{unknown}", "{", "}", "{0}"])
def test_placeholders_that_cannot_be_filled(name: str, text: str) -> None:
    """Each text is checked when the prompts are made, not at the first request."""
    with pytest.raises(ParameterError, match="placeholders cannot be filled"):
        Prompts(version="mine", **{name: text})


@pytest.mark.parametrize(
    ("kind", "question", "beginning"),
    [("claims", "q", 'question: "q"\ntext: '), ("claims", None, "text: "),
     ("questions", "q", "text: ")],
)  # fmt: skip
def test_only_claims_are_split_with_their_question(
    kind: Any, question: str | None, beginning: str
) -> None:
    """The question is beside a text that answers it, not beside a question to split."""
    _, user = Prompts().split("t", kind=kind, question=question).messages
    assert user.content == f'{beginning}"t"'


def test_other_words_have_another_name() -> None:
    """New words without a new version are another judge; a version of one's own is its name."""
    assert (
        Prompts(version="mine", again="{{}} {problems} {items}").name
        != Prompts(version="mine").name
        == "mine"
    )
    assert len({Prompts(again=text).name for text in ("{items}", "{problems}")}) == 2
    assert Prompts(again="{items}").name == Prompts(again="{items}").name
