"""Splitting and judging can be ended between two pieces; texts over a bound are unscored."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fullrecall import ClaimRecall
from fullrecall._util.pieces import watched
from fullrecall.lexical import judge, sentences
from fullrecall.lexical.clauses import facts_of
from fullrecall.lexical.sentences import parts
from fullrecall.scorers import EntityRecall
from fullrecall.scorers.result import Status

TEXT = " ".join(f"The tower {n} was built in {n} by an engineer of Lyon." for n in range(1, 400))
CONTEXT = ["The tower was built in 1889."]


class EndedError(Exception):
    """The computation was asked to end."""


@pytest.mark.parametrize(
    "compute",
    [
        lambda: parts("埃菲尔铁塔建于一八八九年。" * 400),
        lambda: parts("\u201c" * 5_000),
        lambda: parts('"a" ' * 1_200),
        lambda: facts_of("tower and hill " * 400),
        lambda: facts_of(TEXT),
        lambda: ClaimRecall().score(retrieved_contexts=CONTEXT, reference_claims=[TEXT[:300]] * 3),
        lambda: ClaimRecall().score(retrieved_contexts=[TEXT], reference_claims=["A tower."]),
        lambda: EntityRecall().score(
            retrieved_contexts=CONTEXT, reference_entities=[f"{n} km" for n in range(50)]
        ),
    ],
)
def test_long_work_can_be_ended(
    compute: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work on any text ends by the third pause."""
    monkeypatch.setattr(sentences, "_PIECE", 1_000)
    pauses: list[int] = []

    def check() -> None:
        pauses.append(len(pauses))
        if len(pauses) > 2:
            raise EndedError

    with watched(check), pytest.raises(EndedError):
        compute()


@pytest.mark.parametrize("size", [300, 700, 5_000])
def test_pieces_change_no_sentence(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ordinary text is cut alike, and a sentence longer than a piece stays whole."""
    whole, endless = parts(TEXT), "tower and hill " * 100
    monkeypatch.setattr(sentences, "_PIECE", size)
    assert parts(TEXT) == whole
    assert [part.text for part in parts(endless)] == [endless.strip()]


def test_texts_over_a_bound_are_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference, context or claim over its bound is unscored with the reason."""
    monkeypatch.setattr(sentences, "MOST_CHARACTERS", 500)
    monkeypatch.setattr(judge, "MOST_CHARACTERS", 500)
    monkeypatch.setattr(judge, "_LONGEST_CLAIM", 200)
    scored = [
        ClaimRecall().score(retrieved_contexts=contexts, **reference)
        for contexts, reference in (
            (CONTEXT, {"reference": TEXT}),
            ([TEXT], {"reference_claims": ["The tower was built in 1889."]}),
            (CONTEXT, {"reference_claims": ["tower " * 50]}),
        )
    ]
    assert [result.score for result in scored] == [None] * 3
    assert [
        f"at most {most} characters" in result.note
        for result, most in zip(scored, (500, 500, 200), strict=True)
    ] == [True] * 3
    longest = "The tower was built in 1889. " * 20
    for reference in ({"reference": longest[:500]}, {"reference_claims": [longest[:200]]}):
        result = ClaimRecall().score(retrieved_contexts=[longest[:500]], **reference)
        assert result.status is Status.SCORED
