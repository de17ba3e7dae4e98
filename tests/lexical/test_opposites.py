"""Opposites by a negating prefix, and words that only look as if they had one."""

from __future__ import annotations

import pytest

from fullrecall.lexical.contrast import opposite_keys, states_opposite


@pytest.mark.parametrize("word", ["inside", "until", "act"])
def test_words_without_a_negating_prefix_get_no_opposite_by_it(word: str) -> None:
    """`inside` does not deny `side`, and words of three letters are not negated at all."""
    assert not opposite_keys(word) & {"side", "til", "unact", "inact", "disact", "nonact"}


def test_a_place_is_not_an_opposite() -> None:
    """The sentence with `side` may prove a claim with `inside`; `unfair` denies `fair`."""
    assert not states_opposite("The wheel is inside the mill.", "The wheel is at the mill's side.")
    assert states_opposite("The trial was fair.", "The trial was unfair.")
