"""Questions are written from passages of the right size, spread over the whole collection."""

from __future__ import annotations

from collections import Counter

import pytest

from fullrecall.samples.corpus import Document
from fullrecall.testset.seeds import SeedPassage, pairs, passages, sampled, singles


def words(count: int, word: str = "word") -> str:
    """Return a paragraph of some words."""
    return " ".join([word] * count)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (words(14), []),
        (words(15), [15]),
        (words(500), [500]),
        (f"{words(60)}\n\n{words(450)}", [60, 450]),
        (f"{words(60)}\n\n{words(39)}\n\n{words(20)}", [119]),
        (f"{words(60)}\n\n{words(40)}\n\n{words(20)}", [100, 20]),
        (f"{words(60)}\n\n{words(40)}\n\n{words(14)}", [100]),
        (" ".join(f"{words(59)} end." for _ in range(5)), [120, 120, 60]),
        (words(501), [100, 100, 100, 100, 100]),
    ],
)
def test_paragraphs_are_joined_and_cut(text: str, sizes: list[int]) -> None:
    """Paragraphs are joined up to 100 words; a long one is cut between sentences or words."""
    made = [*passages(Document("d", text))]
    assert [len(each.text.split()) for each in made] == sizes
    assert all(text[each.start : each.end] == each.text for each in made)


def test_passages_of_one_document_meet_where_they_share_characters() -> None:
    """Passages meet only if they share characters of the same document."""
    first = SeedPassage("d", 0, "abc")
    assert first.meets(SeedPassage("d", 2, "c"))
    assert not first.meets(SeedPassage("d", 3, "d"))
    assert not SeedPassage("d", 3, "d").meets(first)
    assert not first.meets(SeedPassage("e", 0, "abc"))


def test_no_document_has_more_than_a_tenth_of_the_first_seeds() -> None:
    """A large document's other passages come last, and no passage is lost."""
    large = [SeedPassage("large", n, f"part {n}") for n in range(100)]
    others = [SeedPassage(f"d{n}", 0, f"text {n}") for n in range(36)]
    order = [*singles([*large, *others], 40, seed=3)]
    assert Counter(each.source for each in order[:40])["large"] == 4
    assert sorted(order) == sorted([*large, *others])
    assert order != [*singles([*large, *others], 40, seed=4)]
    few = [*singles([*large, *others[:1]], 10, seed=3)]  # Each of two documents may have half.
    assert Counter(each.source for each in few[:6]) == {"large": 5, "d0": 1}


def test_nearly_equal_passages_are_taken_once() -> None:
    """Copies of a document, as in two versions of a manual, give one passage."""
    texts = [" ".join(f"w{n}x{at}" for at in range(40)) for n in range(3)]
    documents = [Document(f"d{n}", text) for n, text in enumerate([*texts, texts[0]])]
    assert [each.source for each in sampled(documents, 2, seed=0)] == ["d0", "d1", "d2"]


def test_pairs_share_a_name_that_few_passages_have() -> None:
    """A pair has two documents that share a rare name, and each passage is used once."""

    def of(source: str, *names: str) -> SeedPassage:
        return SeedPassage(source, 0, " ".join(f"The plan of {name} was kept." for name in names))

    rare = [of("a", "Quorn"), of("b", "Quorn"), of("c", "Quorn")]
    common = [of(f"m{n}", "Garwick") for n in range(9)]
    one_source = [of("s", "Tolby"), SeedPassage("s", 90, "The hall of Tolby was kept.")]
    made = [*pairs([*rare, *common, *one_source], seed=1)]
    assert [(seed.term, {part.source for part in seed.passages}) for seed in made] == [
        ("Quorn", {"a", "b"})
    ]
    twice = [of("a", "Quorn", "Tolby"), of("b", "Quorn", "Tolby"), of("c", "Tolby")]
    seeds = [*pairs(twice, seed=1)]
    assert len(seeds) == 1
    assert len({part.source for part in seeds[0].passages}) == 2
