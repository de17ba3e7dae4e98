"""The sentence of a choice names the winners, their costs, or why there are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fullrecall.stats.choice import Choice, Standing

WINNER = Standing(
    "a", 0.9, (0.85, 0.95), 40, 0, "", is_dropped=False, is_named=True, tokens=None, seconds=None
)
LEFT = replace(WINNER, name="b", mean=0.8, is_named=False)
DROPPED = replace(LEFT, name="c", is_dropped=True)
UNKNOWN = "CANNOT TELL which has the best recall"
MORE = "about 7 more would settle it if the lead stays"
NEVER = "and no number of questions would settle their order"
SURE = "no other has a better recall (95% confidence, 40 questions)"


def choice(*standings: Standing, **changes: Any) -> Choice:
    """Return the choice of these standings."""
    options = {"needed": 7, "confidence": 0.95, "within": 0.0, "questions": 40, "calls": 1}
    return Choice(label="recall", standings=standings, **{**options, **changes})


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (choice(WINNER, LEFT), f"a: {SURE}; recall 0.850 to 0.950"),
        (
            choice(replace(WINNER, tokens=1234.4), LEFT),
            f"a: {SURE}; recall 0.850 to 0.950, 1,234 tokens",
        ),
        (
            choice(replace(WINNER, tokens=9.0, seconds=(0.5, 1.0))),
            f"a: {SURE}; recall 0.850 to 0.950, 9 tokens, 0.5 s per question",
        ),
        (
            choice(WINNER, replace(LEFT, is_named=True)),
            f"a, b: {SURE}; the cheapest, a: recall 0.850 to 0.950",
        ),
        (
            choice(LEFT, replace(LEFT, name="c")),
            f"{UNKNOWN} after 40 questions: 2 are left; {MORE}",
        ),
        (
            choice(LEFT, DROPPED, needed=None, within=0.01),
            f"{UNKNOWN} within 0.01 after 40 questions: 1 is left, {NEVER}",
        ),
        (
            choice(LEFT, questions=0),
            f"{UNKNOWN} after 0 questions: there was none to ask",
        ),
    ],
)  # fmt: skip
def test_the_sentence(found: Choice, sentence: str) -> None:
    """Costs that are unknown are left out."""
    assert found.sentence == sentence
    assert found.outcome == ("cannot_tell" if sentence.startswith("CANNOT") else "chosen")
    assert found.winner == ("a" if found.outcome == "chosen" else None)
