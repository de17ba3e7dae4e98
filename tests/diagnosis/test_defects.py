"""All lists of a report together show an index that was filled again, cut, or searched in part."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from fullrecall import Context, IdRecall, Retrieval, Sample, evaluate
from fullrecall.diagnosis import Cause, ChangeKind, Diagnosis, diagnose
from fullrecall.diagnosis.investigation import groups_of
from fullrecall.samples.calls import Call

WORDS = "amur danube elbe ganges indus jordan kolyma loire mekong niger oder parana".split()


def text_of(document: int, part: int) -> str:
    """Return a distinct text for each chunk."""
    word = WORDS[document % 12]
    return f"The {word} of year {document} has {part * 17 + document} bends; {word} no {part} ends."


CORPUS = [
    Context(text_of(d, n), id=f"{'ab'[d % 2]}/doc-{d}#{n}") for d in range(20) for n in range(5)
]


def diagnosed(found: Any, **options: Any) -> Diagnosis:
    """Return the diagnosis of 50 questions; `found` returns the list for each target's position."""
    samples = [
        Sample(user_input=f"q{n}", expected_ids=[CORPUS[2 * n].id]).with_retrieval(found(2 * n))
        for n in range(50)
    ]
    report = evaluate(samples, IdRecall(), progress=False)
    return diagnose(report, **{"corpus": CORPUS, **options})


def around(place: int) -> list[Context]:
    """Return the target's chunk behind an unrelated chunk."""
    return [CORPUS[(place + 37) % 100], CORPUS[place]]


def test_an_index_that_was_filled_again() -> None:
    """Known texts under new IDs are an index that was filled again, not duplicates."""
    found = diagnosed(lambda n: [Context(c.text, id=f"{hash(c.text):x}") for c in around(n)])
    assert found.counts() == {Cause.ID_MISMATCH: 50}
    assert "has exactly its text" in found.misses[0].detail
    (change,) = found.changes
    assert (change.kind, change.gain) == (ChangeKind.NORMALIZE_IDS, 1.0)


def test_a_single_copy_under_another_id_is_a_duplicate() -> None:
    """If most texts have the corpus' IDs, a text under another ID is a duplicate."""
    copy = Context(CORPUS[0].text, id="copy")
    found = diagnosed(lambda n: around(n) if n else [copy])
    assert found.counts() == {Cause.NEAR_DUPLICATE: 1}


def test_texts_that_the_index_cut() -> None:
    """If most retrieved texts are beginnings of the corpus' texts, the index has cut them."""
    found = diagnosed(
        lambda n: [Context(c.text[:20], id=c.id) for c in around(n)[: 1 + n % 4 // 2]]
    )
    assert found.counts() == {Cause.TEXT_DIFFERS: 25}
    assert "retrieved texts are the beginning of their text in the corpus" in found.misses[0].detail
    # Of several chunks under one document's ID, only one begins like the document.
    parts = diagnosed(
        lambda n: [Context(c.text[a : a + 9], id=c.id) for c in around(n)[:1] for a in (0, 9)]
    )
    assert Cause.TEXT_DIFFERS not in parts.counts()


@pytest.mark.parametrize("enough", [True, False])
def test_a_folder_that_no_list_has(*, enough: bool) -> None:
    """A folder that no list has is named, with the gain of searching it too."""
    searched = [c for c in CORPUS if c.id.startswith("a/")]

    def lists(n: int) -> list[Context]:
        target = CORPUS[n : n + 1] if CORPUS[n] in searched else []
        return [*target, *[searched[(n + 3 * more) % 50] for more in range(5)]]

    found = diagnosed(lists if enough else lambda n: lists(n)[:0] if n else lists(n))
    if enough:
        assert found.counts() == {Cause.NOT_SEARCHED: 20}
        assert found.misses[0].detail == "in the corpus, but no list has anything of 'b/'"
        (change,) = found.changes
        action = "search the sources that no list has: 'b/' (gain: as other targets)"
        assert change.action == action
        assert change.gain == pytest.approx(0.4)
        # If one document was retrieved under another ID, more may be.
        named = Context("t", id="x", source=CORPUS[6].id)
        found = diagnosed(lambda n: [*lists(n), named] if n == 6 else lists(n))
        assert Cause.NOT_SEARCHED not in found.counts()
    else:
        assert Cause.NOT_SEARCHED not in found.counts()


def test_the_list_before_a_stage_was_better() -> None:
    """The list before a worse stage is proposed, at the same number of contexts."""

    def reversed_(n: int) -> Retrieval:
        first = tuple(around(n))
        return Retrieval(
            first[:1],
            calls=[Call("rerank", "q", first[:1], children=(Call("s", "q", first[::-1]),))],
        )

    found = diagnosed(reversed_)
    (change,) = found.changes
    assert change.kind is ChangeKind.EARLIER_STAGE
    assert (change.gain, change.per_context) == (1.0, (True, 1.0))
    assert "the list of s as it is" in change.action


def test_a_corpus_that_was_chunked_anew_lacks_no_document() -> None:
    """If none of many expected IDs is in the corpus, the IDs differ, and no document is missing."""
    corpus = [Context(c.text[:30], id=f"chunk {n}") for n, c in enumerate(CORPUS)]
    found = diagnosed(lambda n: [corpus[n]], corpus=corpus)
    assert found.counts() == {Cause.ID_MISMATCH: 50}


@pytest.mark.long
def test_planted_defects_are_named() -> None:
    """At least 16 of the benchmark's twenty planted defects are named, and none wrongly."""
    folder = str(Path(__file__).parents[2] / "bench")
    sys.path.insert(0, folder)
    try:
        bench = import_module("diagnosis_defects")
        outcomes = list(bench.outcomes(bench.Collection(bench.chunks_of(bench.made_up()))))
    finally:
        sys.path.remove(folder)
        sys.modules.pop("diagnosis_defects", None)
    states = [outcome.state for outcome in outcomes]
    assert len(states) == 20
    assert states.count("named") >= 16
    assert "MISNAMED" not in states


@pytest.mark.parametrize(
    ("context", "groups"),
    [
        (Context("t", id="a"), ["a"]),
        (Context("t", id="a", source="a"), ["a"]),
        (Context("t", id="a", source="b"), ["b", "a"]),
        (Context("t", id="x::y", metadata={"n": 3, "f": 1.5, "tags": []}), ["x::", "n: 3", "x::y"]),
        (Context("t", id="docs/a.md#2", source="s"), ["docs/", "docs/a.md#", "s", "docs/a.md#2"]),
    ],
)
def test_a_context_is_in_groups_by_its_id_its_source_and_its_fields(
    context: Context, groups: list[str]
) -> None:
    """A context belongs to each folder of its ID, to another source, and to plain metadata."""
    assert list(groups_of(context)) == groups
