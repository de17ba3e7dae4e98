"""`Ranking` ranks texts by BM25; the expected scores are computed by the formula."""

from __future__ import annotations

from math import log

import pytest
from fullrecall._util.ranking import Ranking

TEXTS = ["tower bridge tower", "bridge", "harbor wall of stone", "Bridges and a harbor"]
CONTENT = [["tower", "bridg", "tower"], ["bridg"], ["harbor", "wall", "ston"], ["bridg", "harbor"]]


def bm25(term: str, own: list[str]) -> float:
    """Return the weight of a term in a text: k1 = 1.5, b = 0.75, in Lucene's form."""
    having = sum(term in each for each in CONTENT)
    rarity = log(1 + (len(CONTENT) - having + 0.5) / (having + 0.5))
    mean = sum(map(len, CONTENT)) / len(CONTENT)
    count = own.count(term)
    return rarity * count / (count + 1.5 * (0.25 + 0.75 * len(own) / mean))


def test_scores_are_those_of_the_formula() -> None:
    """A text's score is the sum of the weights of the question's words in that text."""
    expected = [bm25("bridg", own) + bm25("harbor", own) for own in CONTENT]
    found = Ranking(TEXTS).scores("Which bridge has a harbor, or a lighthouse?")
    assert found.tolist() == pytest.approx(expected, rel=1e-5)


def test_the_best_come_first_and_ties_keep_their_order() -> None:
    """The best texts come first, and texts without a common word are left out."""
    ranking = Ranking(TEXTS)
    assert ranking.best("bridge", 5) == [1, 3, 0]
    assert ranking.best("bridge", 2) == [1, 3]
    assert ranking.best("lighthouse", 5) == []
    assert Ranking(["a bridge", "the bridge", "Bridge"]).best("bridges", 3) == [0, 1, 2]
    assert Ranking([]).best("bridge", 3) == []
    assert Ranking(["of the", ""]).best("of", 3) == []


def test_terms_may_be_split_by_a_function() -> None:
    """Terms may be letters, which split texts in scripts without spaces."""
    assert Ranking(["ab", "bc"], terms=list).best("c", 2) == [1]
