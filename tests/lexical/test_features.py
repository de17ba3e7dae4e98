"""The features of a claim, and the details that decide without weights, for small texts."""

from __future__ import annotations

from math import exp

import pytest

from fullrecall.lexical.features import differing_detail, features
from fullrecall.lexical.matching import match_of, read_passage
from fullrecall.lexical.support import judged, matched

DIFFERING = {
    ("The door is open.", "The door is open."): False,
    ("The door is open.", "The door is closed."): True,
    # too little of the claim is covered: the sentence is about something else
    ("The door is open in the large old house near the northern sea.", "The door is closed."):
        False,
    ("Use `ls`.", "Use it."): True,
    ("Use `ls`.", "Use ls."): False,
    ("It has 5 doors.", "It has doors."): True,
    ("It has 5 doors.", "It has 6 doors.|There are 5 windows."): False,
    ("It has five doors.", "It has doors."): False,
    ("It weighs 1.3 million tons.", "It weighs 1,312,000 tons."): False,
    ("It opened in May.", "It opened in spring."): True,
    ("It opened in May.", "It opened in May."): False,
    ("It opened in May.", "It opened.|It closed in May."): False,
    ("All doors are open.", "Some doors are open."): True,
    ("SSH uses port 443.", "SSH uses port 22 and HTTPS uses port 443."): True,
    ("The mill is open.", "The mill is not open."): True,
    ("The mill is not open.", "The mill is open."): True,
    ("The mill is not open.", "The mill is not open at night."): False,
    ("It is not true that the mill burned.", "It is a myth that the mill burned."): False,
    ("The basic plan costs more.", "The old plan costs more."): True,
    ("The basic plan costs more.", "The old plan costs more. The basic plan costs more."): False,
    ("Ann wrote the first novel.", "In May Bo wrote the very first novel in Rome."): True,
}  # fmt: skip


@pytest.mark.parametrize("pair", DIFFERING)
def test_a_detail_decides_without_weights(pair: tuple[str, str]) -> None:
    """Code, numbers, months, opposites, amounts, items, denials, words, and agents."""
    claim, contexts = pair
    assert differing_detail(*matched(claim, contexts.split("|"))) is DIFFERING[pair]


def features_of(claim: str, *contexts: str) -> dict[str, float]:
    """Return the features of a claim in its own words."""
    own, read = read_passage(claim), [read_passage(text) for text in contexts]
    return features(own, match_of(own, read))


def test_features_of_whole_and_absent_claims() -> None:
    """A claim that a text has is wholly covered, and near; one that no text has is not."""
    whole = features_of("Ann Lee built the dam.", "Ann Lee built the dam.")
    assert whole == {"coverage": 1, "coverage_region": 1, "rarest_three_region": 1,
                     "names_missing": 0, "close": 1}  # fmt: skip
    absent = features_of("Ann Lee built the dam.", "Cats sleep.")
    assert absent == pytest.approx(
        {"coverage": 0, "coverage_region": 0, "rarest_three_region": 0,
         "names_missing": 2**0.5, "close": 0.5})  # fmt: skip
    assert features_of("Ann Lee built it.", "Ann built it.")["names_missing"] == pytest.approx(
        1 / 2**0.5
    )


def test_regions_are_around_the_best_sentence() -> None:
    """Coverage counts all texts; the region is the best sentence, its neighbors and the first."""
    claim = "The mill burned in Rome."
    near = features_of(claim, "The mill burned. It was in Rome.")
    far = features_of(claim, f"Cats sleep. The mill burned.{' Cats sleep.' * 3} Rome is big.")
    first = features_of(claim, f"Rome is big.{' Cats sleep.' * 3} The mill burned.")
    other = features_of(claim, "The mill burned.", "Rome is big.")
    assert near["coverage_region"] > 0.9
    assert far["coverage"] == other["coverage"] > far["coverage_region"]
    assert first["coverage"] == first["coverage_region"]
    assert far["coverage_region"] == other["coverage_region"]


def test_closeness_fades_with_the_distance() -> None:
    """A pair is as close as in the claim, or fades to 1/e over twelve more words."""
    claim = "Ravens nest."
    texts = [f"Ravens {'so ' * gap}nest." for gap in (0, 1, 2, 13, 14)]
    close = [features_of(claim, text)["close"] for text in texts]
    assert close == pytest.approx([1, 1, exp(-1 / 12), exp(-1), exp(-13 / 12)])
    assert features_of("Ravens", "Ravens")["close"] == 0.5
    assert features_of(claim, "Ravens.", "Nest.")["close"] == 0.5


@pytest.mark.parametrize(
    ("claim", "contexts", "label", "quotes"),
    [
        ("The old mill was sold to Bo in 1889.",
         ["The old mill was built by Ann.", "It was sold to Bo in 1889. The old mill is red."],
         "supported", [(1, "It was sold to Bo in 1889. The old mill is red.")]),
        ("Ann Lee built the dam near Rome.",
         ["Ann Lee built it.", "The dam near Rome was built by Ann Lee."],
         "supported", [(1, "The dam near Rome was built by Ann Lee.")]),
        ("The dam near Rome holds 98 tonnes.",
         ["The dam is near Rome.", "The dam holds 98 tonnes."],
         "supported", [(1, "The dam holds 98 tonnes.")]),
        ("Quokkas eat leaves.", ["Quokkas live in Rome.", "Cats eat leaves."],
         "not_supported", []),
        ("1. The dam is near Rome.", ["The dam is near Rome."],
         "supported", [(0, "The dam is near Rome.")]),
        ("Quokkas eat leaves.", [], "not_supported", []),
    ],
)  # fmt: skip
def test_the_best_stretch_is_cited(
    claim: str, contexts: list[str], label: str, quotes: list[tuple[int, str]]
) -> None:
    """The shortest stretch that covers nearly as much as its neighborhood is the quote."""
    verdict = judged(claim, contexts, threshold=0.5).verdict(0.5)
    assert verdict.label == label
    assert [(each.context, each.quote) for each in verdict.citations] == quotes
