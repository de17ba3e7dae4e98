"""Diagnosis by hand: each rule, the order of rules, and the answer if no rule applies."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.containment_judge import ContainmentJudge

from fullrecall import (
    ClaimRecall,
    Context,
    EntityRecall,
    IdRecall,
    Sample,
    SpanRecall,
    TextRecall,
    evaluate,
)
from fullrecall.diagnosis import Cause, Diagnosed, Diagnosis, diagnose
from fullrecall.diagnosis.causes import FIXES
from fullrecall.errors import InputError, ParameterError
from fullrecall.judge.judge import Citation, Verdict
from fullrecall.report import Report
from fullrecall.scorers import Scorer

TEXT = "The Eiffel Tower was finished in 1889 after two years, two months and five days of work."


def report_of(scorer: Scorer, *samples: Sample) -> Report:
    """Return the report of some samples."""
    return evaluate(samples, scorer, progress=False)


def one(diagnosis: Diagnosis) -> Diagnosed:
    """Return the only miss."""
    (miss,) = diagnosis.misses
    return miss


def test_every_cause_suggests_a_fix() -> None:
    """Every cause suggests a fix."""
    assert set(FIXES) == set(Cause)


def test_nothing_missed() -> None:
    """A report without misses has an empty diagnosis that says so."""
    report = report_of(IdRecall(), Sample(retrieved_ids=["a"], expected_ids=["a"]))
    found = diagnose(report)
    assert (len(found), found.counts()) == (0, {})
    assert str(found) == "Nothing was missed in 1 sample.\n"


def test_only_scored_recall_is_diagnosed() -> None:
    """Unscored samples have no misses, and neither has precision."""
    samples = [Sample(expected_ids=["a"]), Sample(retrieved_ids=["b"], expected_ids=[])]
    assert diagnose(report_of(IdRecall(), *samples)).misses == ()


def test_a_stage_that_moved_it_down() -> None:
    """A reranker that moved an item down is named beside its rank."""
    sample = Sample(
        retrieved_ids=["a", "b", "c"],
        expected_ids=["c"],
        retrieval={"calls": [{"source": "dense", "contexts": [{"id": "c"}, {"id": "a"}]}]},
    )
    miss = one(diagnose(report_of(IdRecall(), sample), k=2))
    assert (miss.cause, miss.rank) == (Cause.DEMOTED_BY_STAGE, 3)
    assert miss.detail == "dense had it at rank 1; now it is at rank 3 of the list, beyond k = 2"


@pytest.mark.parametrize("by", ["rerank", "the final list"])
def test_the_stage_that_dropped_it(by: str) -> None:
    """The detail names the stage that dropped the item; without one, "the final list"."""
    dense = {"source": "dense", "contexts": [{"id": "c"}, {"id": "a"}]}
    rerank = {"source": "rerank", "contexts": [{"id": "a"}, {"id": "b"}], "children": [dense]}
    sample = Sample(
        retrieved_ids=["a", "b"],
        expected_ids=["c"],
        retrieval={"calls": [rerank if by == "rerank" else dense]},
    )
    miss = one(diagnose(report_of(IdRecall(), sample)))
    assert miss.cause == Cause.DROPPED_BY_STAGE
    assert miss.detail == f"dense had it at rank 1, {by} no longer has it"


def test_another_k() -> None:
    """`k` diagnoses the misses at another k than the scorer's, and labels them by it."""
    sample = Sample(retrieved_ids=["a", "b", "c"], expected_ids=["c"])
    report = report_of(IdRecall(), sample)
    assert diagnose(report).misses == ()
    assert one(diagnose(report, k=1)).score == "id_recall@1"


def test_unknown_says_what_would_tell() -> None:
    """Without a corpus or a retriever, the advice is to pass one."""
    miss = one(diagnose(report_of(IdRecall(), Sample(retrieved_ids=["a"], expected_ids=["b"]))))
    assert (miss.cause, miss.rank) == (Cause.UNKNOWN, None)
    assert miss.detail == "to find the cause, pass corpus= and retriever="


def test_a_corpus_without_ids_cannot_tell_of_ids() -> None:
    """A corpus without IDs cannot show whether it has an item that is known by its ID."""
    report = report_of(IdRecall(), Sample(retrieved_ids=["a"], expected_ids=["b"]))
    miss = one(diagnose(report, corpus=["one text"], retriever=lambda _, __: []))
    assert (miss.cause, miss.detail) == (Cause.UNKNOWN, "to find the cause, pass a corpus with IDs")


def test_in_the_corpus_and_never_brought() -> None:
    """A target in the corpus and in no list was never retrieved; a larger k does not help."""
    report = report_of(IdRecall(), Sample(query="q", retrieved_ids=["a"], expected_ids=["b"]))
    corpus = {"a": "one text", "b": "another text"}
    miss = one(diagnose(report, corpus=corpus))
    assert (miss.cause, miss.rank) == (Cause.NEVER_RETRIEVED, None)
    assert "not among the 1 retrieved" in miss.detail
    miss = one(diagnose(report, corpus=corpus, retriever=lambda _, __: ["one text"], deep_k=7))
    assert miss.detail == "in the corpus, but not among the 1 returned of 7"


def test_the_retriever_is_asked_once_for_what_the_list_does_not_tell() -> None:
    """The retriever is asked once a sample, and only for targets that the list does not have."""
    asked: list[tuple[str, int]] = []

    def search(question: str, k: int) -> list[Context]:
        asked.append((question, k))
        return [Context(id=f"x{n}") for n in range(7)] + [Context(id="c"), Context(id="d")]

    samples = [
        Sample(query="known", retrieved_ids=["a", "b", "c"], expected_ids=["c"]),
        Sample(query="deeper", retrieved_ids=["a", "b"], expected_ids=["c", "d"]),
    ]
    report = report_of(IdRecall(), *samples)
    misses = diagnose(report, k=2, retriever=search, deep_k=50).misses
    assert [(miss.cause, miss.rank) for miss in misses] == [
        (Cause.BEYOND_K, 3),
        (Cause.BEYOND_K, 8),
        (Cause.BEYOND_K, 9),
    ]
    assert asked == [("deeper", 50)]


def test_of_an_any_of_group_the_nearest_decides() -> None:
    """The nearest alternative of an any-of group decides the cause."""
    sample = Sample(query="q", retrieved_ids=["a"], expected_ids=[["gone", "deep"]])
    ranked = [Context(id=name) for name in ("a", "x", "deep")]
    corpus = [Context(id=name) for name in ("a", "deep", "x")]
    miss = one(
        diagnose(report_of(IdRecall(), sample), corpus=corpus, retriever=lambda _, k: ranked[:k])
    )
    assert (miss.cause, miss.rank, miss.target) == (Cause.BEYOND_K, 3, "gone | deep")
    assert miss.detail == "'deep': at rank 3 when retrieving 100"


def test_wrong_level_both_ways() -> None:
    """Chunks retrieved for documents, and documents for chunks, are a wrong level."""
    cases = [
        ("doc", Context(id="doc#3")),
        ("doc#3", Context(id="doc")),
        ("doc", Context(id="doc/chunk-3")),
        ("doc", Context("t", id="9f", source="doc")),
    ]
    for expected, retrieved in cases:
        sample = Sample(expected_ids=[expected], retrieved_contexts=[retrieved])
        miss = one(diagnose(report_of(IdRecall(), sample)))
        assert (miss.cause, miss.rank) == (Cause.WRONG_ID_LEVEL, 1)


@pytest.mark.parametrize(
    ("expected", "retrieved", "told"),
    [
        ("Docs/File0.MD", Context(id="docs/file0.md"), "the same but for letter case"),
        ("a/b c.md", Context(id="a\\b%20c.md"), "percent encoding, separators"),
        ("https://www.x.org/a", Context(id="x.org/a/"), "URL 'https://www.'"),
        ("7", Context(id="007"), "zero padding"),
        ("docs/a.md", Context(id="/srv/docs/a.md"), "directory '/srv/'"),
        ("7", Context("t", id="9f", metadata={"page_id": 7}), "id_key='page_id'"),
        ("k7", Context("t", id="9f", metadata={"a": {"b": "k7"}}), "id_key='a.b'"),
        ("k7", Context("the text of it", metadata={}), "has no ID"),
    ],
)
def test_an_id_in_another_form_or_field(expected: str, retrieved: Context, told: str) -> None:
    """The detail names the difference of two IDs, or the field with the expected one."""
    sample = Sample(
        expected_ids=[expected],
        retrieved_contexts=[retrieved, Context("other", id="other")],
        reference_contexts=[Context("the text of it", id=expected)],
    )
    miss = one(diagnose(report_of(IdRecall(), sample)))
    assert (miss.cause, miss.rank) == (Cause.ID_MISMATCH, 1)
    assert told in miss.detail


@pytest.mark.parametrize(
    ("retrieved", "corpus", "cause", "told"),
    [
        (
            [Context("x", id="x"), Context(TEXT)],
            [],
            Cause.ID_MISMATCH,
            "rank 2 is its text, and has no ID",
        ),
        ([Context("x"), Context(TEXT, id="b")], [], Cause.NEAR_DUPLICATE, "similarity 1.00"),
        ([Context("x"), Context(TEXT, id="b")], ["b"], Cause.ID_MISMATCH, "under the ID 'b'"),
        ([Context("x"), Context("y", id="b")], ["b"], Cause.NOT_IN_CORPUS, ""),
        ([Context("x"), Context(TEXT, id="b")], ["a", "b"], Cause.NEAR_DUPLICATE, ""),
    ],
)
def test_a_reference_under_another_id_is_known_by_its_text(
    retrieved: list[Context], corpus: list[str], cause: Cause, told: str
) -> None:
    """A retrieved context with the text proves another ID, unless the expected ID is indexed."""
    sample = Sample(
        expected_ids=["a"],
        retrieved_contexts=retrieved,
        reference_contexts=[Context(TEXT, id="a")],
    )
    indexed = [Context(TEXT, id=each) for each in corpus]
    miss = one(diagnose(report_of(IdRecall(), sample), corpus=indexed))
    assert miss.cause is cause
    assert told in miss.detail


def test_forms_that_two_documents_share_prove_nothing() -> None:
    """If `a` and `A` are two documents, letter case distinguishes them."""
    samples = [
        Sample(expected_ids=["doc-A"], retrieved_ids=["doc-a"]),
        Sample(expected_ids=["doc-A"], retrieved_ids=["DOC-A"]),
    ]
    found = diagnose(report_of(IdRecall(), *samples))
    assert found.counts() == {Cause.UNKNOWN: 2}
    assert found.changes == ()


def test_one_match_does_not_hide_the_level_of_the_others() -> None:
    """One match does not hide that sections were retrieved where pages are expected."""
    samples = [
        Sample(expected_ids=[f"p{n}.html"], retrieved_ids=[f"p{n}.html#s1"]) for n in range(50)
    ]
    samples.append(Sample(expected_ids=["p99.html"], retrieved_ids=["p99.html"]))
    found = diagnose(report_of(IdRecall(), *samples))
    assert found.counts() == {Cause.WRONG_ID_LEVEL: 50}
    (change,) = found.changes
    assert change.gain == pytest.approx(50 / 51)


def test_a_corpus_of_chunks_for_references_of_documents() -> None:
    """Documents are retrieved and match, so a corpus of their chunks is no mismatch of levels."""
    samples = [
        Sample(query="q", expected_ids=["a"], retrieved_ids=["a", "x"]),
        Sample(query="q", expected_ids=["b"], retrieved_ids=["a", "x"]),
        Sample(query="q", expected_ids=["gone"], retrieved_ids=["a", "x"]),
    ]
    corpus = [Context(f"text {n}", id=f"{name}#{n}") for name in "abx" for n in range(2)]
    found = diagnose(report_of(IdRecall(), *samples), corpus=corpus)
    assert found.counts() == {Cause.NEVER_RETRIEVED: 1, Cause.NOT_IN_CORPUS: 1}


def test_numbers_at_the_end_need_company() -> None:
    """`d_1` is a chunk of `d` only if this explains more samples than plain matches do."""
    chunks = [Sample(expected_ids=[f"d{n}x"], retrieved_ids=[f"d{n}x_1"]) for n in range(5)]
    assert diagnose(report_of(IdRecall(), *chunks)).counts() == {Cause.WRONG_ID_LEVEL: 5}
    assert diagnose(report_of(IdRecall(), *chunks[:2])).counts() == {Cause.UNKNOWN: 2}
    whole = [Sample(expected_ids=[f"e{n}"], retrieved_ids=[f"e{n}"]) for n in range(6)]
    assert diagnose(report_of(IdRecall(), *chunks, *whole)).counts() == {Cause.UNKNOWN: 5}


@pytest.mark.parametrize("retrieved", ["doc1", "doc-1", "doc.other", "d", "other#3"])
def test_ids_that_look_alike_are_of_one_level(retrieved: str) -> None:
    """IDs with a common beginning are not thereby of different levels."""
    sample = Sample(expected_ids=["doc"], retrieved_ids=[retrieved])
    assert one(diagnose(report_of(IdRecall(), sample))).cause is Cause.UNKNOWN


def test_one_level_is_known_by_an_id_that_was_found() -> None:
    """If some expected ID was retrieved, a numbered ID is another document, not a chunk."""
    samples = [
        Sample(expected_ids=["2023"], retrieved_ids=["2023-01"]),
        Sample(expected_ids=["2024"], retrieved_ids=["2024"]),
    ]
    assert one(diagnose(report_of(IdRecall(), *samples))).cause is Cause.UNKNOWN


def test_a_split_that_was_retrieved_in_full() -> None:
    """A text whose two halves were both retrieved is split: no single context has it whole."""
    halves = [TEXT[:45], TEXT[45:]]
    sample = Sample(reference_contexts=[TEXT], retrieved_contexts=["Rome is old.", *halves])
    scorer = TextRecall(threshold=0.9)
    miss = one(diagnose(report_of(scorer, sample)))
    assert (miss.cause, miss.rank) == (Cause.SPLIT_ACROSS_CHUNKS, 3)
    assert miss.detail == "all of it was retrieved, in parts, at ranks 2, 3"
    report = report_of(scorer, sample)
    assert one(diagnose(report, corpus=[*halves, "Rome is old."])).cause is miss.cause


def test_part_of_a_text_is_no_split_without_the_corpus() -> None:
    """Only the corpus shows whether another chunk has a text whole that was retrieved in part."""
    sample = Sample(reference_contexts=[TEXT], retrieved_contexts=[TEXT[:45]])
    miss = one(diagnose(report_of(SpanRecall(), sample)))
    assert miss.cause is Cause.UNKNOWN
    assert "% of it was retrieved" in miss.detail
    whole = one(diagnose(report_of(SpanRecall(), sample), corpus=[TEXT[:45], TEXT]))
    assert whole.cause is Cause.NEVER_RETRIEVED
    split = one(diagnose(report_of(SpanRecall(), sample), corpus=[TEXT[:45], TEXT[45:]]))
    assert split.cause is Cause.SPLIT_ACROSS_CHUNKS
    gone = one(diagnose(report_of(SpanRecall(), sample), corpus=[TEXT[:45]]))
    assert gone.cause is Cause.NOT_IN_CORPUS
    assert gone.detail.startswith("only ")


class TestJudged:
    """Causes of missed claims follow from the verdicts in a report, or from a judge asked again."""

    def claim(self, *contexts: str, **more: object) -> Sample:
        """Return a sample of one claim."""
        return Sample(
            reference_claims=["It was finished in 1889."], retrieved_contexts=contexts, **more
        )

    def test_a_false_quote(self) -> None:
        """Partial support by a quote that its context does not have is a false quote."""
        judge = FixedJudge([Verdict("partial", (Citation(0, "It was built by Romans."),))])
        miss = one(diagnose(report_of(ClaimRecall(judge=judge), self.claim("The tower is tall."))))
        assert miss.cause is Cause.JUDGED_UNSUPPORTED
        assert "quote does not occur there" in miss.detail

    def test_the_opposite(self) -> None:
        """The advice for a contradicted claim differs from that for a missing one."""
        judge = FixedJudge([Verdict("contradicted", (Citation(1, "was finished in 1923"),))])
        sample = self.claim("Rome is old.", "It was finished in 1923.")
        miss = one(diagnose(report_of(ClaimRecall(judge=judge), sample)))
        assert (miss.cause, miss.rank) == (Cause.CONTRADICTED, 2)
        assert "opposite" in miss.detail

    def test_partial_support(self) -> None:
        """A claim with a verdict of partial support earned no credit, and the cause says so."""
        judge = FixedJudge([Verdict("partial", (Citation(0, "in 1889"),))])
        miss = one(diagnose(report_of(ClaimRecall(judge=judge), self.claim("Finished in 1889."))))
        assert (miss.cause, miss.rank) == (Cause.PARTLY_SUPPORTED, 1)
        assert "in part only" in miss.detail

    @pytest.mark.parametrize(
        ("text", "abstains"),
        [
            ("The documents do not say when it was finished.", True),
            ("The provided context doesn't contain enough information.", True),
            ("I don't know.", True),
            ("This cannot be determined.", True),
            ("It does not include batteries.", False),
            ("The context manager does not give the lock back.", False),
            ("No one knows why the tower leans.", False),
        ],
    )
    def test_a_reference_that_abstains(self, text: str, *, abstains: bool) -> None:
        """A sentence that says there is no answer is not a claim; a negated sentence is."""
        sample = Sample(reference_claims=[text], retrieved_contexts=["Rome is old."])
        judge = FixedJudge([Verdict("not_supported")])
        miss = one(diagnose(report_of(ClaimRecall(judge=judge), sample)))
        assert (miss.cause is Cause.REFERENCE_ABSTAINS) is abstains

    def test_its_very_words(self) -> None:
        """A judge is wrong if it denies a claim that a context states word for word."""
        judge = FixedJudge([Verdict("not_supported")])
        sample = self.claim("Rome is old.", "As we know, it was finished in 1889.")
        miss = one(diagnose(report_of(ClaimRecall(judge=judge), sample)))
        assert (miss.cause, miss.rank) == (Cause.JUDGED_UNSUPPORTED, 2)

    def test_unknown_where_only_the_judge_could_tell(self) -> None:
        """Without the supporting context the cause is unknown: score the reference contexts."""
        scorer = ClaimRecall(judge=ContainmentJudge())
        report = report_of(scorer, self.claim("Rome is old.", reference_contexts=["Rome."]))
        miss = one(diagnose(report, corpus=["Rome is old."], retriever=lambda _, __: []))
        assert miss.cause is Cause.UNKNOWN
        assert "score reference_contexts by SpanRecall()" in miss.detail


class FixedJudge(ContainmentJudge):
    """A judge that gives the same verdicts for any request."""

    def __init__(self, verdicts: Sequence[Verdict]) -> None:
        super().__init__("fixed")
        object.__setattr__(self, "verdicts", verdicts)

    def _verdict(self, target: str, contexts: Sequence[str]) -> Verdict:
        raise NotImplementedError

    def attribute(self, targets, contexts, *, question=None, relation="claim"):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
        """Return the verdicts."""
        yield from ()
        return self.verdicts[: len(targets)]


def test_an_entity_is_looked_for_by_its_name() -> None:
    """An entity that no document of the corpus names is not in the corpus."""
    sample = Sample(reference_entities=["Paris", "Oslo"], retrieved_contexts=["Rome is old."])
    found = diagnose(report_of(EntityRecall(), sample), corpus=["Rome is old.", "Oslo is cold."])
    assert [miss.cause for miss in found] == [Cause.NOT_IN_CORPUS, Cause.NEVER_RETRIEVED]


def test_a_retriever_that_raises_is_asked_once_and_named() -> None:
    """A retriever that raises is asked once, named in the detail, and the other samples go on."""
    asked = []

    def broken(question: str, k: int) -> list[str]:
        asked.append((question, k))
        raise TimeoutError("no answer")

    sample = Sample(query="q", retrieved_ids=["a"], expected_ids=["b", "c"])
    found = diagnose(report_of(IdRecall(), sample), retriever=broken, deep_k=9)
    assert [miss.cause for miss in found] == [Cause.FAILED_CALL] * 2
    assert found.misses[0].detail == "the retriever failed: TimeoutError: no answer"
    assert asked == [("q", 9)]


def test_what_it_adds_up_to() -> None:
    """A diagnosis has counts, shares per score, a table with the fixes, and exports."""
    samples = [
        Sample(
            id=n,
            retrieved_ids=["a", "b"],
            expected_ids=["b", "z"],
            reference_entities=["E"],
            retrieved_contexts=["x", "y"],
        )
        for n in range(3)
    ]
    report = evaluate(samples, [IdRecall(), EntityRecall()], progress=False)
    found = diagnose(report, k=1, corpus=[Context("x", id="a"), Context("y", id="b")])
    assert found.counts("id_recall@1") == {Cause.BEYOND_K: 3, Cause.NOT_IN_CORPUS: 3}
    assert found.counts() == {Cause.NOT_IN_CORPUS: 6, Cause.BEYOND_K: 3}
    shown = str(found)
    assert "not in corpus" in shown
    assert "3 (50%)" in shown
    assert FIXES[Cause.NOT_IN_CORPUS] in shown
    assert found.to_dict()["causes"] == {"not_in_corpus": 6, "beyond_k": 3}
    frame = found.to_frame()
    assert list(frame.columns) == list(Diagnosed._fields)
    assert frame["rank"].tolist()[0] == 2


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"k": 0}, ParameterError, "k must be a whole number"),
        ({"deep_k": 0}, ParameterError, "deep_k must be"),
        ({"corpus": "file.jsonl"}, InputError, "corpus must be an iterable of contexts"),
        ({"corpus": [1]}, InputError, "corpus, item 0: expected a str, a Context"),
        ({"corpus": {"a": None}}, InputError, "corpus, item 'a'"),
    ],
)
def test_wrong_use(options: dict[str, object], error: type[Exception], why: str) -> None:
    """Each wrong value is an error that names the expected value."""
    report = report_of(IdRecall(), Sample(retrieved_ids=["a"], expected_ids=["b"]))
    with pytest.raises(error, match=why):
        diagnose(report, **options)  # type: ignore[arg-type]


GERMAN = "Der Mieter darf die Kündigung binnen 14 Tagen verlangen und zahlt monatlich an ihn."
FRENCH = "Le locataire est tenu de payer le loyer avec les charges dans le mois et de le dire."


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        (GERMAN, GERMAN.replace("binnen", "nicht binnen")),
        (GERMAN, GERMAN.replace("monatlich", "jährlich")),
        (FRENCH, FRENCH.replace("avec", "sans")),
    ],
)
def test_other_languages_are_not_taken_for_duplicates(wanted: str, there: str) -> None:
    """In German and French too, a denial or another word makes a text no duplicate."""
    sample = Sample(
        retrieved_contexts=[Context(there, id="b")],
        reference_contexts=[Context(wanted, id="a")],
        reference_context_ids=["a"],
    )
    miss = one(diagnose(report_of(IdRecall(), sample)))
    assert miss.cause is Cause.LOOKALIKE, miss


def test_inflections_in_other_languages_are_no_difference() -> None:
    """In other languages too, an inflected or misspelled word is the same word."""
    text = (
        "Der Mieter darf die Kündigung binnen 14 Tagen verlangen und zahlt monatlich Zins an ihn."
    )
    sample = Sample(
        retrieved_contexts=[Context(text.replace("verlangen", "verlagnen"), id="b")],
        reference_contexts=[Context(text, id="a")],
        reference_context_ids=["a"],
    )
    assert one(diagnose(report_of(IdRecall(), sample))).cause is Cause.NEAR_DUPLICATE


def test_a_number_alone_names_parts_where_several_ids_show_it() -> None:
    """` Abs. 2` names a part; `-2` does where three samples show it: one may be a version."""

    def asked(end: str, *names: str) -> Diagnosis:
        samples = [
            Sample(retrieved_ids=[f"{name}{end}", f"{name}x{end}"], expected_ids=[name])
            for name in names
        ]
        return diagnose(report_of(IdRecall(), *samples))

    assert one(asked(" Abs. 2", "§ 12")).cause is Cause.WRONG_ID_LEVEL
    assert one(asked("-2", "a12")).cause is Cause.UNKNOWN
    found = asked("-2", "a12", "b40", "c77")
    assert {miss.cause for miss in found} == {Cause.WRONG_ID_LEVEL}
    assert found.changes[0].kind == "id_level"
    assert found.changes[0].gain == pytest.approx(1.0)


def test_copies_within_a_short_list_crowd_out_a_target_of_the_deeper_list() -> None:
    """Copies are the cause if dropping them would return the target; otherwise k is the cause."""
    copies = [Context(TEXT, id=own_id) for own_id in ("a", "b", "c")]
    others = [Context(f"Page {n} has other words: {n * 7}.", id=f"d{n}") for n in range(6)]
    samples = [
        Sample(user_input=f"{n}?", expected_ids=[f"d{n}"], retrieved_contexts=copies)
        for n in (1, 2)
    ]
    found = diagnose(report_of(IdRecall(), *samples), retriever=lambda _: [*copies, *others])
    assert [(miss.cause, miss.rank) for miss in found] == [
        (Cause.CROWDED_OUT, 5),
        (Cause.BEYOND_K, 6),
    ]
    copied = "2 of the contexts before it are duplicates of others"
    assert all(miss.detail.endswith(copied) for miss in found)
