"""The details in which a text can contradict a claim: each rule, and where it must not refuse."""

from __future__ import annotations

import pytest

from fullrecall.lexical.contrast import (
    in_amounts_of,
    in_words_of,
    opposite_keys,
    states_opposite,
    states_other_agent,
    states_other_amount,
    states_other_item,
    states_other_word,
)
from fullrecall.lexical.matching import read_passage

LONG = "in a very long sentence of more than fifteen words about it all today."
CONTRASTS = {
    # opposites: both denied, or neither, beside a word that both texts have
    ("The door is open at night.", "The door is closed at night."): "opposite word",
    ("The door is not open at night.", "The door is closed at night."): "",
    ("The door is not open at night.", "The door is not closed at night."): "opposite word",
    ("The door is open.", "The shop of Bo was closed in the year."): "",
    ("The plan is available in Rome.", "The plan is unavailable in Rome."): "opposite word",
    ("The plan is unavailable in Rome.", "The plan is available in Rome."): "opposite word",
    ("The door is open and closed at night.", "The door is closed at night."): "",
    ("Ann has a fixed rate.", "Ann has a variable rate."): "opposite word",
    (f"Ann has a fixed rate {LONG}", f"Ann has a variable rate {LONG}"): "opposite",
    # another word in a word's place
    ("The Basic plan costs more than before.", "The Pro plan costs more than before."): "word",
    ("The basic plan costs more.", "The old plan costs more."): "word",
    ("The Basic plan.", "The Basic or Pro plan."): "",
    ("The car is big.", "The car is large."): "",
    ("The car is red.", "The car is red."): "",
    ("It weighs 5 kg today.", "It weighs 6 kg today."): "word",
    ("It has 5 red doors.", "It has big red doors."): "",
    ("It weighs 5 tons today.", "It weighs 5 pounds today."): "",
    ("Use `ls -l` here now.", "Use `ls -a` here now."): "name",
    (f"Ann has the Big Old Red Hat rate {LONG}", f"Ann has the Pro rate {LONG}"): "name",
    ("Rome is big.", "Paris is big."): "word",
    ("Ann went home quickly.", "Ann went home slowly."): "word",
    # amounts
    ("All doors are open.", "Some doors are open."): "opposite amount",
    ("All doors are open.", "Not all doors are open."): "amount",
    ("All doors are open.", "All doors are open, some wide."): "",
    ("No doors are open.", "Some doors are open."): "amount",
    ("Many doors are open.", "Few doors are open."): "opposite word amount",
    ("Few doors are open.", "Many doors are open."): "opposite word amount",
    ("Some doors are open.", "All doors are open."): "opposite",
    # the number of another item
    ("SSH uses port 443.", "SSH uses port 22 and HTTPS uses port 443."): "item agent",
    ("HTTPS uses port 443.", "SSH uses port 22 and HTTPS uses port 443."): "",
    ("SSH uses port 22.", "SSH uses port 22, HTTPS port 443."): "",
    ("SSH uses port 443.", "SSH uses port 22, HTTPS port 443."): "item",
    ("SSH uses port 443.", "SSH uses port 22; HTTPS 443"): "item",
    ("SSH uses port 443.", "SSH uses port 22, and it has port 443."): "",
    ("SSH uses ports 22 and 443.", "SSH uses port 22; HTTPS 443"): "",
    ("SSH uses port 443.", "SSH uses 443."): "",
    (f"SSH uses port 443{' big' * 11}.", "SSH uses port 22; HTTPS 443"): "item",
    (f"SSH uses port 443{' big' * 12}.", "SSH uses port 22; HTTPS 443"): "",
    # another agent
    ("Ann wrote the first novel.", "Bo wrote the first novel."): "word agent",
    ("Ann wrote the first novel.", "She wrote the first novel."): "word",
    ("Ann wrote the first novel.", "Ann and Bo wrote the first novel."): "",
    ("Ann wrote the first novel.", "Bo wrote the first novel. Ann wrote the first novel."): "",
    ("The first novel was written by Ann.", "The first novel was written by Bo."): "word agent",
    ("The first novel was written by Ann.", "The first novel was written by an old man."): "agent",
    ("The woman wrote the first novel.", "Bo wrote the first novel."): "",
    ("Dr Ann wrote the first novel.", "Dr Bo wrote the first novel."): "word agent",
    ("Ann ran.", "Bo ran."): "word",
}


@pytest.mark.parametrize("pair", CONTRASTS)
def test_a_text_contradicts_a_claim(pair: tuple[str, str]) -> None:
    """Each rule decides by itself; "name" is another word that only names and code decide."""
    claim, text = pair
    is_other = states_other_word(claim, text), states_other_word(claim, text, of_names=False)
    holds = {
        "opposite": states_opposite(claim, text),
        "word": all(is_other),
        "name": is_other == (True, False),
        "amount": states_other_amount(claim, text),
        "item": states_other_item(claim, text),
        "agent": states_other_agent(claim, [text]),
    }
    assert " ".join(name for name, is_so in holds.items() if is_so) == CONTRASTS[pair]


def test_opposites_by_a_prefix() -> None:
    """A prefix negates words of at least four letters that are words without it."""
    assert "clos" in opposite_keys("open")
    assert {"availabl"} <= opposite_keys("unavailable")
    assert {"unavailabl", "inavailabl"} <= opposite_keys("available")
    assert opposite_keys("import") == {"export"}
    assert {"unabl", "disabl"} <= opposite_keys("able")
    assert opposite_keys("in") == opposite_keys("the") == frozenset()
    assert "do" in opposite_keys("undone")
    assert "trict" not in opposite_keys("district")


@pytest.mark.parametrize(
    ("claim", "contexts", "rewritten"),
    [
        ("It takes 250 ms.", ["It takes 0.25 seconds."], "It takes 0.25 seconds."),
        ("It takes 250 ms and 2 km.", ["0.25 seconds", "2,000 m"],
         "It takes 0.25 seconds and 2,000 m."),
        ("It takes 5.", ["5 km"], "It takes 5."),
        ("It takes 5 km.", ["6 km"], "It takes 5 km."),
        ("It takes 5 km.", ["5 km"], "It takes 5 km."),
        ("It takes 5 km, or 5,000 m.", ["5,000 m"], "It takes 5 km, or 5,000 m."),
    ],
)  # fmt: skip
def test_amounts_are_written_as_in_the_texts(
    claim: str, contexts: list[str], rewritten: str
) -> None:
    """An equal amount in another unit is replaced."""
    assert in_amounts_of(claim, contexts) == rewritten


@pytest.mark.parametrize(
    ("claim", "context", "rewritten"),
    [
        ("Ann is eager.", "Ann is not lazy.", "Ann is not lazy."),
        ("The plan is unavailable.", "The plan is not available.", "The plan is not available."),
        ("The plan is open.", "The plan is not closed.", "The plan is not closed."),
        ("The plan is open.", "The plan is closed.", "The plan is open."),
        ("The plan is open.", "The plan is open and not closed.", "The plan is open."),
        ("The plan is not open.", "The plan is closed.", "The plan is closed."),
        ("The plan isn't open.", "The plan is closed.", "The plan is closed."),
        ("The plan isn\u2019t open.", "The plan is closed.", "The plan is closed."),
        ("The knot cannot open.", "The knot can close.", "The knot can close."),
    ],
)
def test_a_negated_opposite_takes_a_words_place(claim: str, context: str, rewritten: str) -> None:
    """A word that the context lacks is replaced by its opposite, and a denial added or removed."""
    assert in_words_of(claim, [read_passage(context)]) == rewritten
