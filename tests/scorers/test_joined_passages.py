"""Passages that overlap are joined to one target, by their places or by their texts."""

from __future__ import annotations

import pytest
from tests.judge.scripted import reply, verdict

from fullrecall import ClaimRecall, Context, LLMJudge
from fullrecall.judge.models.scripted import ScriptedChatModel
from fullrecall.scorers.spans import Passage, merged

LETTERS = "abcdefghijklmnopqrst"


def place(start: int, end: int, source: str = "d", *, has_text: bool = False) -> Passage:
    """Return a passage of a document; its text is that part of the alphabet."""
    text = LETTERS[start:end] if has_text else None
    return Passage(text or f"{source}[{start}:{end}]", text, source, start, end)


@pytest.mark.parametrize(
    ("places", "joined"),
    [
        ([(0, 10), (5, 15)], [(0, 15)]),
        ([(5, 15), (0, 10)], [(0, 15)]),
        ([(0, 10), (2, 8)], [(0, 10)]),
        ([(0, 10), (2, 10)], [(0, 10)]),
        ([(0, 10), (0, 12)], [(0, 12)]),
        ([(0, 10), (9, 20)], [(0, 20)]),
        ([(0, 10), (10, 20)], [(0, 10), (10, 20)]),
        ([(0, 5), (8, 12), (4, 9)], [(0, 12)]),
    ],
)
def test_places_that_share_a_character_are_joined(
    places: list[tuple[int, int]], joined: list[tuple[int, int]]
) -> None:
    """Ranges that only touch stay apart, and a range joins those that it connects."""
    for has_text in (False, True):
        passages = [place(*each, has_text=has_text) for each in places]
        assert merged(passages, 5) == [place(*each, has_text=has_text) for each in joined]


def test_places_of_two_documents_stay_apart() -> None:
    """Only ranges of one document are joined, and the union has a text only if both have one."""
    apart = [place(0, 10), place(5, 15, "e")]
    assert merged(apart, 5) == apart
    assert merged([place(0, 10, has_text=True), place(5, 15)], 5) == [place(0, 15)]
    assert merged([place(0, 10), place(5, 15, has_text=True)], 5) == [place(0, 15)]


def test_a_place_and_a_text_stay_apart() -> None:
    """A passage with a place is not joined with one that has only a text, even the same text."""
    for text in (LETTERS[:10], LETTERS[2:8], LETTERS[5:15]):
        apart = [place(0, 10, has_text=True), Passage(text, text)]
        assert merged(apart, 4) == apart
        assert merged(apart[::-1], 4) == apart[::-1]


@pytest.mark.parametrize(
    ("texts", "joined"),
    [
        (("abcdefgh", "defghijk"), ["abcdefghijk"]),
        (("defghijk", "abcdefgh"), ["abcdefghijk"]),
        (("abcdefgh", "cde"), ["abcdefgh"]),
        (("abcdefgh", "efghij"), ["abcdefghij"]),
        (("abcdefgh", "fghij"), ["abcdefgh", "fghij"]),
        (("abcdefgh", "xefgh"), ["abcdefgh", "xefgh"]),
        (("ab cd ef gh", "e f g h i j"), ["ab cd ef gh i j"]),
        (("abcabcabc", "abcabcx"), ["abcabcabcx"]),
        (("abcdefgh", ""), ["abcdefgh"]),
    ],
)
def test_texts_that_share_a_run_are_joined(texts: tuple[str, str], joined: list[str]) -> None:
    """Four shared letters join the end of one text and the beginning of another."""
    assert [each.label for each in merged([Passage(text, text) for text in texts], 4)] == joined


def test_a_context_without_offsets_is_a_text() -> None:
    """A context that names its document, but not its place, is compared by its text."""
    assert Passage.of(Context("a b", source="d")) == Passage("a b", "a b")
    assert Passage.of(Context("a b", start=1, end=4)) == Passage("a b", "a b")
    assert Passage.of(Context(id="x", source="d", start=1, end=4)) == place(1, 4)


def test_a_claim_that_is_not_vital_has_half_the_grade() -> None:
    """A claim has grade 1 if it is vital, else 0.5, as a nugget of TREC RAG."""
    judge = LLMJudge(
        ScriptedChatModel([reply(verdict(1, "supported", 1), verdict(2, "not_supported"))]),
        reasks=0,
    )
    result = ClaimRecall(judge=judge).score(
        retrieved_contexts=["It opens."],
        reference_claims=[{"text": "It opens."}, {"text": "It is red.", "importance": "okay"}],
    )
    assert [target.grade for target in result.targets] == [1.0, 0.5]
    assert (result.is_judged, result.missed) == (True, ("It is red.",))
