"""Each edit makes a claim false in one detail, the same for the same seed."""

from __future__ import annotations

import pytest

from fullrecall.lexical.cross_encoder import _windows
from fullrecall.lexical.falsification import falsified

CLAIMS = [
    (
        "Ann Lee opened the mill in May 1932.",
        [
            "Ann Lee opened the mill in May 1932. It cost 40 crowns.",
            "Bo Holst paid 12 crowns in June.",
        ],
    ),
    (
        "Bo Holst sold 12 old boats to Rome.",
        ["Bo Holst sold 12 old boats to Rome. In 1950 he left."],
    ),
    ("The tower is not open in winter.", ["The tower is not open in winter."]),
    ("Cats sleep.", ["Cats sleep."]),
]
FALSE = {
    "Ann Lee opened the mill in May 1932.": {
        "number": "Ann Lee opened the mill in May 7159.",
        "month": "Ann Lee opened the mill in September 1932.",
        "name": "Rome opened the mill in May 1932.",
        "myth": "It is false that Ann Lee opened the mill in May 1932.",
        "attribution": "In the opinion of the owners, Ann Lee opened the mill in May 1932.",
        "plan": "It was planned, and later given up, that Ann Lee opened the mill in May 1932.",
        "doubt": "It is unknown whether Ann Lee opened the mill in May 1932.",
        "added detail": "Ann Lee opened the mill in May 1932 in front of a large crowd.",
        "cause": "Ann Lee opened the mill in May 1932 because of a strike.",
        "condition": "Ann Lee opened the mill in May 1932 if the weather allows.",
        "order in time": "Ann Lee opened the mill in May 1932 until the reform.",
        "comparison": "Ann Lee opened the mill in May 1932 earlier than all others.",
        "purpose": "Ann Lee opened the mill in May 1932 in order to save money.",
        "extent": "Ann Lee opened the mill in May 1932 almost everywhere else, too.",
    },
    "Bo Holst sold 12 old boats to Rome.": {
        "number": "Bo Holst sold 26 old boats to Rome.",
        "name": "Bo Holst sold 12 old boats to Ann Lee.",
        "role": "Rome sold 12 old boats to Bo Holst.",
        "opposite": "Bo Holst sold 12 young boats to Rome.",
        "myth": "It is wrongly said that Bo Holst sold 12 old boats to Rome.",
        "attribution": "Critics argue that Bo Holst sold 12 old boats to Rome.",
        "plan": "A proposal said that Bo Holst sold 12 old boats to Rome.",
        "doubt": "Experts disagree whether Bo Holst sold 12 old boats to Rome.",
        "added detail": "Bo Holst sold 12 old boats to Rome with the help of volunteers.",
        "cause": "Bo Holst sold 12 old boats to Rome as a result of the drought.",
        "condition": "Bo Holst sold 12 old boats to Rome if the weather allows.",
        "order in time": "Bo Holst sold 12 old boats to Rome before the war.",
        "comparison": "Bo Holst sold 12 old boats to Rome for the first time ever.",
        "purpose": "Bo Holst sold 12 old boats to Rome to win a bet.",
        "extent": "Bo Holst sold 12 old boats to Rome but only in part.",
    },
    "The tower is not open in winter.": {
        "negation": "The tower is open in winter.",
        "opposite": "The tower is not open in summer.",
        "rival": "The tower is not open in autumn.",
        "myth": "It is false that the tower is not open in winter.",
        "attribution": "In the opinion of the owners, the tower is not open in winter.",
        "plan": "It was planned, and later given up, that the tower is not open in winter.",
        "doubt": "It is unknown whether the tower is not open in winter.",
        "added detail": "The tower is not open in winter at the request of the owners.",
        "cause": "The tower is not open in winter because of a strike.",
        "condition": "The tower is not open in winter if the weather allows.",
        "order in time": "The tower is not open in winter until the reform.",
        "comparison": "The tower is not open in winter earlier than all others.",
        "purpose": "The tower is not open in winter in order to save money.",
        "extent": "The tower is not open in winter but only in part.",
    },
    "Cats sleep.": {
        "myth": "It is false that cats sleep.",
        "attribution": "In the opinion of the owners, cats sleep.",
        "plan": "A proposal said that cats sleep.",
        "doubt": "It is unknown whether cats sleep.",
        "added detail": "Cats sleep in front of a large crowd.",
        "cause": "Cats sleep as a result of the drought.",
        "condition": "Cats sleep unless the owners object.",
        "order in time": "Cats sleep until the reform.",
        "comparison": "Cats sleep more than anybody else.",
        "purpose": "Cats sleep to win a bet.",
        "extent": "Cats sleep but only in part.",
    },
}


@pytest.mark.parametrize("claim", FALSE)
def test_a_claim_with_one_detail_made_false(claim: str) -> None:
    """Numbers, names, roles and words are exchanged; other words are added."""
    made = [each for each in falsified(CLAIMS) if each.claim == claim]
    assert {each.detail: each.false for each in made} == FALSE[claim]
    assert {each.contexts for each in made} == {tuple(dict(CLAIMS)[claim])}


def test_a_detail_is_exchanged_for_one_of_its_kind() -> None:
    """A name gets a name of as many words; a unit is beside a number; other languages have numbers.

    Names of two letters are only given to claims without them, and are in no exchange of roles.
    """
    claims = [
        "All doors were open for 3 days, by days.",
        "Ann Lee and Al saw Rome.",
        "Bo Holst saw Lund.",
        "La tour est haute de 3 pieds et elle n'est pas vieille.",
    ]
    made: dict[tuple[int, str], set[str]] = {}
    for seed in range(10):
        for each in falsified([(claim, ["x"]) for claim in claims], seed=seed):
            made.setdefault((claims.index(each.claim), each.detail), set()).add(each.false)
    assert made[0, "unit"] == {"All doors were open for 3 weeks, by days."}
    assert made[0, "quantity"] == {"Some doors were open for 3 days, by days."}
    assert made[0, "only"] == {"All doors were only open for 3 days, by days."}
    assert "All doors were open for 3 days, by days to win a bet." in made[0, "purpose"]
    assert made[1, "name"] == {"Bo Holst and Al saw Rome.", "Ann Lee and Al saw Lund."}
    assert made[1, "role"] == {"Rome and Al saw Ann Lee."}
    assert {detail for claim, detail in made if claim == 3} == {"number"}


@pytest.mark.parametrize(
    ("size", "windows"),
    [
        (1, ["0", "1", "2", "3", "4"]),
        (2, ["01", "12", "23", "34"]),
        (3, ["012", "234"]),
        (4, ["0123", "34"]),
        (5, ["01234"]),
        (6, ["01234"]),
    ],
)
def test_the_windows_of_a_cross_encoder(size: int, windows: list[str]) -> None:
    """A window shares its last sentence with the next one, and the last one may be shorter."""
    text = " ".join(f"Sentence number {n} is here." for n in range(5))
    made = _windows(text, size)
    assert ["".join(filter(str.isdigit, window)) for window in made] == windows
    assert _windows("", size) == ()
