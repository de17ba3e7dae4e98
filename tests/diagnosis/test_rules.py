"""Each rule that names a cause: its detail and rank, and where it does not decide."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import (
    ClaimRecall,
    Context,
    EntityRecall,
    IdRecall,
    Retrieval,
    Sample,
    SpanRecall,
    TextRecall,
    evaluate,
)
from fullrecall.diagnosis import diagnose
from fullrecall.measures import calls, seconds
from fullrecall.samples.calls import Call

TEXTS = {
    "mill": "The old mill was built by hand near the river, and its keeper wrote lists of guests.",
    "tower": "Sailors saw a tall tower at noon because its copper roof burned like a second sun.",
    "bridge": "Nobody may cross this bridge after dark without paying two coins to the guard.",
    "castle": "Three kings died within these walls while their wives played chess in cold rooms.",
}
MILL = TEXTS["mill"]
HALVES = [Context(MILL[:50], id="a"), Context(MILL[50:], id="b")]
BEYOND = "of the list, beyond k = 2"
COPIES = "of the contexts before it are duplicates of others"
NOT_DEEPER = (
    "in the corpus, and not among the 1 retrieved; retrieve deeper to learn its rank: retriever="
)
SPLIT = (
    "it is split across 2 chunks of the corpus, none with more than 59% of it; 59% of it was "
    "retrieved (rank 1); not retrieved: 'b'"
)
LOOKALIKE = (
    "the context 'x' at rank 1 looks like it (similarity 0.99) and differs: other numbers: 1889 "
    "for 1891"
)
NO_K = (
    "in the corpus, but not among the 2 that the retriever returns: it takes no k to search deeper"
)


def contexts(names: str) -> list[Context]:
    """Return contexts by their names; a number makes a copy of the mill."""
    return [Context(TEXTS.get(name, MILL), id=name) for name in names.split()]


def by_id(listed: list[Context] | str, wanted: str) -> Sample:
    """Return a sample with one expected ID."""
    listed = contexts(listed) if isinstance(listed, str) else listed
    return Sample(user_input="q", retrieved_contexts=listed, reference_context_ids=[wanted])


def by_text(listed: list[Context], text: str = MILL, own_id: str | None = None) -> Sample:
    """Return a sample with one expected text."""
    wanted = [Context(text, id=own_id)]
    return Sample(user_input="q", retrieved_contexts=listed, reference_contexts=wanted)


def staged(final: str, wanted: str) -> Sample:
    """Return a sample whose search found the mill, the tower and the bridge, before a reranker."""
    search = Call("search", contexts=tuple(contexts("mill tower bridge")))
    last = Call("reranker", contexts=tuple(contexts(final)), children=(search,))
    record = Retrieval(contexts(final), calls=[last])
    return Sample(user_input="q", retrieval=record, reference_context_ids=[wanted])


def called(*made: Call, listed: str, wanted: str) -> Sample:
    """Return a sample with several calls."""
    record = Retrieval(contexts(listed), calls=made)
    return Sample(user_input="q", retrieval=record, reference_context_ids=[wanted])


def claimed(claim: str) -> Sample:
    """Return a sample with one claim."""
    return Sample(user_input="q", retrieved_contexts=contexts("mill"), reference_claims=[claim])


def told(sample: Sample, scorer: Any = None, **options: Any) -> tuple[str, str, int | None]:
    """Return the cause of the only miss, its detail, and its rank."""
    report = evaluate([sample], scorer or IdRecall(), progress=False)
    (miss,) = diagnose(report, **options).misses
    return str(miss.cause), miss.detail, miss.rank


@pytest.mark.parametrize(
    ("sample", "k", "cause", "detail", "rank"),
    [
        (by_id("mill tower bridge", "bridge"), 2, "beyond_k", f"at rank 3 {BEYOND}", 3),
        (by_id("1 2 tower", "tower"), 2, "crowded_out", f"at rank 3 {BEYOND}; 1 {COPIES}", 3),
        (by_id("1 2 bridge tower", "tower"), 2, "beyond_k",
         f"at rank 4 {BEYOND}; 1 {COPIES}", 4),
        (by_id("1 2 3 tower", "tower"), 2, "crowded_out", f"at rank 4 {BEYOND}; 2 {COPIES}", 4),
        (staged("mill tower", "bridge"), None, "dropped_by_stage",
         "search had it at rank 3, the final list no longer has it", 3),
        (staged("mill bridge tower", "tower"), 2, "demoted_by_stage",
         f"search had it at rank 2; now it is at rank 3 {BEYOND}", 3),
        (staged("mill tower bridge", "bridge"), 2, "beyond_k", f"at rank 3 {BEYOND}", 3),
        (called(Call("a", contexts=tuple(contexts("mill"))), Call("b", "q", error="timed out"),
                Call("c", "q", error="down"), listed="mill", wanted="castle"),
         None, "failed_call", "2 calls failed (b: timed out; c: down)", None),
        (called(Call("a", contexts=tuple(contexts("mill"))),
                Call("b", contexts=tuple(contexts("tower"))), listed="mill tower", wanted="tower"),
         calls(1), "beyond_k", "at rank 2 after 2 calls, beyond 1 call", 2),
        (by_id("", "castle"), None, "nothing_retrieved",
         "the retriever returned an empty list", None),
        (by_id("mill tower", "castle"), None, "unknown",
         "to find the cause, pass corpus= and retriever=", None),
    ],
)  # fmt: skip
def test_causes_in_the_record(
    sample: Sample, k: Any, cause: str, detail: str, rank: int | None
) -> None:
    """Ranks beyond k, duplicates, stages, failed calls, and empty lists."""
    assert told(sample, k=k) == (cause, detail, rank)


@pytest.mark.parametrize(
    ("found", "corpus", "cause", "detail", "rank"),
    [
        ("mill tower castle", None, "beyond_k", "at rank 3 when retrieving 3", 3),
        ("1 2 castle", None, "beyond_k", f"at rank 3 when retrieving 3; 1 {COPIES}", 3),
        ("mill tower", "castle mill", "never_retrieved",
         "in the corpus, but not among the 2 returned of 3", None),
        ("mill tower bridge", "castle mill", "never_retrieved",
         "in the corpus, but not in the top 3", None),
        ("mill tower", "mill", "not_in_corpus",
         "no context of the corpus has the ID 'castle'", None),
    ],
)  # fmt: skip
def test_causes_by_a_deeper_search(
    found: str, corpus: str | None, cause: str, detail: str, rank: int | None
) -> None:
    """The deeper list has the item at a rank, or the corpus has it, or neither."""

    def search(_: str, k: int) -> list[Context]:
        return contexts(found)[:k]

    own = None if corpus is None else contexts(corpus)
    first = found.split(maxsplit=1)[0]
    options = {"k": 1, "retriever": search, "deep_k": 3, "corpus": own}
    assert told(by_id(first, "castle"), **options) == (cause, detail, rank)


def test_causes_of_other_retrievers() -> None:
    """A retriever may take no k, or fail; without one, the advice names it."""

    def fails(_: str, k: int) -> list[Context]:
        raise OSError(f"no {k}")

    def takes_no_k(_: str) -> list[Context]:
        return contexts("mill tower")

    sample = by_id("mill", "castle")
    assert told(sample, retriever=fails, deep_k=3)[:2] == (
        "failed_call", "the retriever failed: OSError: no 3")  # fmt: skip

    def is_cut_off(_: str) -> Retrieval:
        return Retrieval(contexts("castle"), error="it is down")

    assert told(sample, retriever=is_cut_off)[:2] == (
        "failed_call", "the retriever failed: it is down")  # fmt: skip
    assert told(sample, retriever=takes_no_k, corpus=contexts("castle mill"))[:2] == (
        "never_retrieved",
        NO_K,
    )
    assert told(sample, corpus=contexts("castle mill"))[:2] == (
        "never_retrieved",
        NOT_DEEPER,
    )
    assert told(sample, retriever=takes_no_k, corpus=[Context(TEXTS["tower"])])[:2] == (
        "unknown",
        "to find the cause, pass a corpus with IDs and retriever= with a function that takes k",
    )


NEAR = "The mill of the old town was built by hand in {} near the wide river."


@pytest.mark.parametrize(
    ("listed", "own_id", "corpus", "cause", "detail", "rank"),
    [
        ([Context(MILL.replace("hand", "machine"), id="mill")], "mill", None, "text_differs",
         "the context 'mill' at rank 1 has another text", 1),
        ([Context(MILL[:40], id="mill")], "mill", None, "text_differs",
         "the context 'mill' at rank 1 has a part of its text", 1),
        # Half of the letters are the same.
        ([Context(MILL[:40] + "~" * (120 - len(MILL)), id="mill")], "mill", None, "text_differs",
         "the context 'mill' at rank 1 has another text", 1),
        ([Context(MILL.replace("guests.", "guests!"), id="x")], "mill", None, "near_duplicate",
         "the context 'x' at rank 1 has nearly its text (similarity 1.00)", 1),
        ([Context(MILL[:50]), Context(MILL[50:])], None, None, "split_across_chunks",
         "all of it was retrieved, in parts, at ranks 1, 2", 2),
        (HALVES[:1], None, HALVES,
         "split_across_chunks",
         SPLIT, 1),
        # A retrieved chunk is known by its ID, or else by its text.
        ([Context(f"{MILL[:50]} x", id="a")], None, HALVES, "split_across_chunks", SPLIT, 1),
        ([Context(MILL[:50])], None, HALVES, "split_across_chunks", SPLIT, 1),
        ([Context("x y z", id="q")], "mill", [Context(MILL.replace("hand", "machine"), id="mill")],
         "text_differs", "the corpus has 'mill' with another text", None),
        ([Context("x y z")], None, contexts("tower"), "not_in_corpus",
         "none of its text is in the corpus", None),
        ([Context("x y z")], None, [Context(MILL[:60])], "not_in_corpus",
         "only 71% of its text is in the corpus", None),
        ([Context("x y z")], None, contexts("mill"), "never_retrieved",
         NOT_DEEPER, None),
    ],
)  # fmt: skip
def test_causes_of_texts(  # noqa: PLR0917 - the columns of a table
    listed: list[Context], own_id: str | None, corpus: Any, cause: str, detail: str, rank: Any
) -> None:
    """Other versions, near duplicates, and texts that are split or absent."""
    exact = TextRecall(threshold=1.0)
    assert told(by_text(listed, own_id=own_id), exact, corpus=corpus) == (cause, detail, rank)


def test_the_nearest_of_texts_with_other_facts_is_named() -> None:
    """The most similar text is named, not the last; one without another fact comes first."""
    listed = [
        Context(NEAR.format(1889), id="x"),
        Context(NEAR.format(1890).replace("wide ", ""), id="y"),
    ]
    exact = TextRecall(threshold=1.0)
    assert told(by_text(listed, NEAR.format(1891)), exact) == (
        "lookalike",
        LOOKALIKE,
        1,
    )
    listed.append(Context(NEAR.format(1891).replace("wide", "broad"), id="z"))
    assert told(by_text(listed, NEAR.format(1891)), exact)[0] == "near_duplicate"


def test_causes_of_ids_and_claims() -> None:
    """The text under another ID, a reference without an answer, a claim, and a part of a span."""
    corpus = contexts("mill tower")
    found = told(by_id([Context(MILL, id="other")], "mill"), corpus=corpus)
    detail = "the context at rank 1 has exactly its text, and the ID 'other'"
    assert found == ("id_mismatch", detail, 1)
    found = told(claimed("The text does not say."), ClaimRecall())
    detail = "it says that there is no answer, which no context supports"
    assert found == ("reference_abstains", detail, None)
    cause, detail, _ = told(claimed("Quokkas eat leaves."), ClaimRecall())
    assert cause == "unknown"
    assert detail.startswith("the judge finds no support in what was retrieved; to find out")
    nothing = Sample(retrieved_contexts=[], reference_claims=["Quokkas eat leaves."])
    assert told(nothing, ClaimRecall(), corpus=corpus)[0] == "nothing_retrieved"
    untimed = evaluate([by_id("mill", "castle")], IdRecall(), progress=False)
    assert diagnose(untimed, k=seconds(1)).misses == ()
    entity = Sample(retrieved_contexts=["Bo"], reference_entities=["Ann"])
    found = told(entity, EntityRecall(), corpus=corpus)
    assert found == ("not_in_corpus", "none of its text is in the corpus", None)
    found = told(by_text([Context(MILL[:60])]), SpanRecall())
    detail = "71% of it was retrieved; to find the cause, pass corpus= and retriever="
    assert found == ("unknown", detail, None)


@pytest.mark.parametrize(
    ("number", "indexed", "cause"),
    [
        (9, "tower", "not_in_corpus"),
        (10, "tower", "id_mismatch"),
        (11, "tower", "id_mismatch"),
        (11, "A-AAAAA", "not_in_corpus"),
    ],
)
def test_a_corpus_that_has_none_of_many_ids_was_named_anew(
    number: int, indexed: str, cause: str
) -> None:
    """From ten expected IDs on, a corpus without any of them has IDs of its own."""
    names = "".join(chr(ord("A") + n) for n in range(number))
    samples = [by_id("mill", f"{name}-{name * 5}") for name in names]
    corpus = [Context(TEXTS["tower"], id=indexed)]
    report = evaluate(samples, IdRecall(), progress=False)
    last = diagnose(report, corpus=corpus).misses[-1]
    assert last.cause == cause


def test_a_text_of_another_form_in_the_corpus() -> None:
    """A document that the corpus has by ID is not split; longer runs are the scorer's rule."""
    sample = Sample(
        retrieved_contexts=HALVES[:1],
        reference_context_ids=["mill"],
        reference_contexts=[Context(MILL, id="mill")],
    )
    corpus = [Context("x y z", id="mill"), *HALVES]
    assert told(sample, corpus=corpus)[0] == "never_retrieved"
    other = [Context(TEXTS["tower"], id="tower"), Context(MILL, id="mill")]
    sample = Sample(
        retrieved_contexts=[Context(MILL, id="x"), other[0]],
        reference_context_ids=["tower", "mill"],
        reference_contexts=other,
    )
    found = told(sample, corpus=contexts("bridge castle"))
    assert found == ("id_mismatch", "the context at rank 1 is its text, under the ID 'x'", 1)
    rest = "~" * 60
    wrapped = [Context(f"{rest}{half}{rest}") for half in (MILL[:44], MILL[44:])]
    assert told(by_text(wrapped), SpanRecall(min_run=60))[0] == "unknown"


@pytest.mark.parametrize(
    ("place", "cause"),
    [({"metadata": {"page": "7"}}, "unknown"), ({"source": "7"}, "wrong_id_level")],
)
def test_a_short_number_in_a_field_of_one_sample(place: dict[str, Any], cause: str) -> None:
    """A short number is the document's ID as a source, and chance in another field."""
    first = by_id([Context("t", id="u", **place)], "7")
    others = [by_id([Context("t", id=f"u{n}")], str(n)) for n in range(3)]
    report = evaluate([first, *others], IdRecall(), progress=False)
    assert diagnose(report).misses[0].cause == cause


def test_of_alternatives_with_one_cause_one_with_a_rank_is_named() -> None:
    """If two alternatives have other versions, the retrieved one explains the miss."""
    other = TEXTS["tower"]
    wanted = [[Context(other, id="tower"), Context(MILL, id="mill")]]
    listed = [Context(MILL.replace("hand", "machine"), id="mill")]
    sample = Sample(retrieved_contexts=listed, reference_contexts=wanted)
    corpus = [Context(other.replace("noon", "night"), id="tower")]
    cause, detail, rank = told(sample, TextRecall(threshold=1.0), corpus=corpus)
    assert (cause, rank) == ("text_differs", 1)
    assert detail.endswith(": the context 'mill' at rank 1 has another text")
