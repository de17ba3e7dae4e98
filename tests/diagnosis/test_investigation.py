"""What a diagnosis compares over all samples: changed texts, and documents that no list has."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fullrecall import Context
from fullrecall.diagnosis.corpus import Corpus
from fullrecall.diagnosis.investigation import change_of_texts, groups_of, not_searched

WORDS = [("mill", "built"), ("tower", "sold"), ("bridge", "burned"), ("castle", "founded")]
TEXTS = {
    f"d{n}": f"The {what} was {done} in the year of the {what} and {done} people came to see it."
    for n, (what, done) in enumerate(WORDS)
}
Change = Callable[[str], str]


def whole(text: str) -> str:
    """Return the text."""
    return text


def start(text: str) -> str:
    """Return the beginning of a text."""
    return text[:40]


def part(text: str) -> str:
    """Return a later part of a text."""
    return text[10:50]


def version(text: str) -> str:
    """Return another version of a text."""
    return text.replace("year", "month")


def half(text: str) -> str:
    """Return a text that has half of the letters of another."""
    letters = "".join(text.split())
    return letters[:30] + "~" * (90 - len(letters))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([whole] * 4, ""),
        ([start] * 4, "4 of 4 retrieved texts are the beginning of their text in the corpus"),
        ([version] * 4, "4 of 4 retrieved texts are another version of their text in the corpus"),
        ([half] * 4, "4 of 4 retrieved texts are another version of their text in the corpus"),
        ([version, version, whole, whole],
         "2 of 4 retrieved texts are another version of their text in the corpus"),
        ([version, whole, whole, whole], ""),
        # chunks of documents, some of which are their beginnings
        ([part] * 4, ""),
        ([start, start, part, part], ""),
        ([lambda _: "other words altogether"] * 4, ""),
    ],
)  # fmt: skip
def test_most_texts_changed_alike(changes: list[Change], told: str) -> None:
    """A change is told if at least half of the texts have it; chunks are no change."""
    lists = [
        [Context(change(text), id=own_id)]
        for change, (own_id, text) in zip(changes, TEXTS.items(), strict=True)
    ]
    assert change_of_texts(Corpus(TEXTS), lists) == told


def test_texts_that_cannot_be_compared() -> None:
    """An unknown ID, a missing text or list, and several texts of one ID are left out."""
    corpus = Corpus(TEXTS)
    assert change_of_texts(corpus, [[Context("x", id="z")], None, [Context(id="d0")]]) == ""
    two = [Context(version(TEXTS["d0"]), id="d0"), Context(start(TEXTS["d0"]), id="d0")]
    assert change_of_texts(corpus, [two]) == ""
    # A text that another ID has was not changed.
    swapped = [[Context(TEXTS["d1"], id="d0")], [Context(TEXTS["d0"], id="d1")]]
    assert change_of_texts(corpus, swapped) == ""


def test_the_groups_of_a_context() -> None:
    """Its folders, its document, and the fields that a filter may require."""
    metadata = {"kind": "x", "n": 1, "share": 1.5, "flag": True}
    context = Context("t", id="docs/a/b.md#1", source="docs", metadata=metadata)
    assert list(groups_of(context)) == [
        "docs/", "docs/a/", "docs/a/b.md#", "docs", "kind: x", "n: 1", "flag: True",
        "docs/a/b.md#1"]  # fmt: skip
    assert list(groups_of(Context("t", id="a", source="a"))) == ["a"]


def test_documents_that_no_list_has() -> None:
    """A group is absent by more than chance if enough lists were long enough to reach it."""
    folders = {f"{name}/p{n}": f"{name} {n}" for name in ("new", "old") for n in range(20)}

    def absent(lists: int) -> set[str]:
        found = [[Context("t", id=f"new/p{n % 20}")] for n in range(lists)]
        return set(not_searched(Corpus(folders), found).values())

    # 20 documents would be reached by so many lists with a chance of 1 - 0.01 / 42 groups.
    assert [absent(lists) for lists in (5, 16, 17, 200)] == [set(), set(), {"old/"}, {"old/"}]
    copies = [[Context("t", id="new/p1")] * 40]
    assert not_searched(Corpus(folders), copies) == {}
    assert not_searched(Corpus(()), []) == {}
    assert not_searched(Corpus(folders), [None]) == {}
