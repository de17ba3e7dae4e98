"""The design's table of edge cases: each class is a row, and its tests are the cells."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import Context, IdRecall, Sample, SpanRecall, TextRecall, evaluate
from fullrecall.errors import InputError, ParameterError
from fullrecall.measures import MEASURES, Precision, Recall, Relevant, nDCG
from fullrecall.samples.retrieval import Retrieval
from fullrecall.scorers.result import Status


class TestNoReferenceItems:
    """Edge case: a sample has no reference items."""

    def test_undefined_left_out_of_means_and_counted(self) -> None:
        """An undefined sample is in no mean, and the summary counts it."""
        samples = [
            Sample(retrieved_context_ids=["a"], reference_context_ids=["a", "b"]),
            Sample(retrieved_context_ids=["a"], reference_context_ids=[]),
        ]
        summary = evaluate(samples, IdRecall(), progress=False).summary()["id_recall"]
        assert (summary.mean, summary.scored, summary.undefined) == (0.5, 1, 1)

    @pytest.mark.parametrize("convention", [0.0, 1.0])
    def test_zero_division_reproduces_the_conventions_of_others(self, convention: float) -> None:
        """`zero_division` gives reval's 0.0 and the claim convention's 1.0."""
        result = IdRecall().score(retrieved_context_ids=["a"], reference_context_ids=[])
        assert (result.status, result.score) == ("undefined", None)
        assert result[Recall(zero_division=convention) @ 3] == convention
        report = evaluate(
            [Sample(retrieved_ids=["a"], expected_ids=[])], IdRecall(), progress=False
        )
        measure = Recall(zero_division=convention)
        assert report.summary(measure)["id_recall"][measure].mean == convention

    def test_blank_ids_and_empty_groups_are_no_items(self) -> None:
        """`[""]`, `[[]]` and `[[""]]` hold no reference item."""
        for blank in ([""], [[]], [[""]], {"": 2}):
            result = IdRecall().score(retrieved_context_ids=["a"], reference_context_ids=blank)
            assert result.status is Status.UNDEFINED


class TestNothingRetrieved:
    """Edge case: nothing was retrieved (an empty list)."""

    @pytest.mark.parametrize("scorer", [IdRecall(), TextRecall(), SpanRecall()])
    def test_scores_zero(self, scorer: IdRecall | TextRecall | SpanRecall) -> None:
        """An empty list is a valid retrieval: every measure of the found targets is 0.0."""
        result = scorer.score(
            retrieved_contexts=[], reference_context_ids=["a"], reference_contexts=["a text"]
        )
        measures = [m for m in MEASURES.values() if not m.of_sample and m != Relevant]
        assert {result[measure] for measure in measures} == {0.0}
        assert result.missed in {("a",), ("a text",)}


class TestNotMeasured:
    """Edge case: no retrieval was observed, a retriever or judge failed, or a field is missing."""

    def test_no_retrieval_observed(self) -> None:
        """A sample without contexts and IDs is unscored, and the reason names both fields."""
        result = IdRecall().score(reference_context_ids=["a"])
        assert result.status is Status.UNSCORED
        assert "retrieved_contexts" in result.reason
        assert "retrieved_context_ids" in result.reason

    def test_retriever_raised(self) -> None:
        """The retriever's error is the reason of its unscored sample."""
        sample = Sample(
            reference_context_ids=["a"], retrieval={"error": "ConnectionError: refused"}
        )
        assert "ConnectionError: refused" in IdRecall().score(sample).reason

    def test_field_missing(self) -> None:
        """The reason names the missing field."""
        result = IdRecall().score(retrieved_context_ids=["a"])
        assert (result.status, result.score) == ("unscored", None)
        assert result.reason == "reference_context_ids is missing"

    def test_contexts_without_any_id(self) -> None:
        """Contexts without any ID leave the sample unscored by ID, not 0.

        The reason is the same for any number of contexts, and names their fields.
        """
        contexts = [Context("text", metadata={"source": "a.md"})]
        results = [
            IdRecall().score(retrieved_contexts=contexts * count, reference_context_ids=["a"])
            for count in (1, 3)
        ]
        assert {result.status for result in results} == {Status.UNSCORED}
        (reason,) = {result.reason for result in results}
        assert "no retrieved context has an ID" in reason
        assert reason.endswith("id_key= (it has 'source')")

    def test_some_contexts_without_id_are_counted(self) -> None:
        """A sample is scored if some contexts have an ID; the reason counts those without one."""
        result = IdRecall().score(
            retrieved_contexts=[Context("t", id="a"), "bare"], reference_context_ids=["a"]
        )
        assert result.score == 1.0
        assert "1 of 2 retrieved contexts have no ID" in result.reason

    @pytest.mark.parametrize("blank", [None, ""])
    def test_contexts_without_id_are_counted_in_long_lists(self, blank: str | None) -> None:
        """Long lists are scored as columns, here with references that share an alternative."""
        ids = [*(f"d{number}" for number in range(200)), blank, "d200"]
        sample = Sample(
            retrieved_context_ids=ids, reference_context_ids=[["d200", "x"], ["d200", "y"]]
        )
        row = evaluate([sample], IdRecall(), progress=False)[0]
        assert str(row.results[0]) == str(IdRecall().score(sample))
        assert row.results[0].note == "1 of 202 retrieved contexts have no ID"

    def test_ids_alone_have_no_text(self) -> None:
        """Text scorers leave samples of IDs alone unscored."""
        for scorer in (TextRecall(), SpanRecall()):
            result = scorer.score(retrieved_context_ids=["a"], reference_contexts=["text"])
            assert result.status is Status.UNSCORED

    def test_a_failing_scorer_is_unscored_not_a_lost_run(self) -> None:
        """A similarity that raises on one sample leaves the others scored."""

        def fragile(reference: str, text: str) -> float:
            if "bad" in text:
                raise ZeroDivisionError("bad text")
            return float(reference == text)

        samples = [
            Sample(retrieved_contexts=["good"], reference_contexts=["fine"]),
            Sample(retrieved_contexts=["bad"], reference_contexts=["fine"]),
            Sample(retrieved_contexts=["fine"], reference_contexts=["fine"]),
        ]
        report = evaluate(samples, TextRecall(similarity=fragile), progress=False)
        assert [row.results[0].score for row in report] == [0.0, None, 1.0]
        assert "ZeroDivisionError: bad text" in report.rows[1].results[0].reason


class TestIdentifiers:
    """Edge cases: the IDs `1` and `"1"`, a bare `str`, duplicates, and the order."""

    def test_int_and_str_are_equal(self) -> None:
        """IDs are compared as `str` on both sides, so 1 equals "1"."""
        score = IdRecall().score(retrieved_context_ids=[1, "2"], reference_context_ids=["1", 2])
        assert score.score == 1.0

    def test_a_bare_str_is_one_reference_and_no_retrieved_list(self) -> None:
        """A single text is one reference ID, never its characters, and no retrieved list."""
        one = IdRecall().score(retrieved_ids=["b", "abc"], expected_ids="abc")
        assert (one.score, one.targets[0].any_of) == (1.0, ("abc",))
        for several in ("a, b", "a;b", "a|b", "a\nb", [{"any_of": "a, b"}]):
            with pytest.raises(InputError, match="may be several IDs: pass them as a list"):
                Sample(expected_ids=several)
        (file,) = Sample(expected_ids=["Gibbs, Josiah.pdf"]).reference_context_ids or ()
        assert file.any_of == ("Gibbs, Josiah.pdf",)
        text = "Whole, with commas; and more."
        assert TextRecall().score(retrieved_contexts=[text], reference_contexts=text).score == 1.0
        with pytest.raises(InputError, match="retrieved_context_ids: expected a list, got the str"):
            Sample(retrieved_ids="abc")

    def test_duplicate_retrieved_ids_are_cut_at_k_first(self) -> None:
        """A duplicate takes up its rank, and counts once."""
        sample = Sample(retrieved_context_ids=["a", "a", "b"], reference_context_ids=["a", "b"])
        result = IdRecall().score(sample)
        assert (result[Recall @ 2], result[Precision @ 2]) == (0.5, 0.5)

    def test_duplicate_reference_ids_are_one_target(self) -> None:
        """`[a, 'a', b]` is two targets, graded or not, in groups or not."""
        for references in (["a", "a", "b"], [["a"], "a", "b"], [["a", "a"], ["b"]]):
            result = IdRecall().score(retrieved_context_ids=["a"], reference_context_ids=references)
            assert result.score == 0.5

    def test_the_lists_order_is_the_rank(self) -> None:
        """Rank is the order of the list; scores of contexts never re-sort it."""
        contexts = [Context(id="x", score=0.1), Context(id="a", score=0.9), Context(id="b")]
        result = IdRecall().score(retrieved_contexts=contexts, reference_context_ids=["a"])
        assert result.findings[0].rank == 2


class TestCutOffs:
    """Edge cases: k is larger than the list, 0, or negative, or `ks` is unsorted."""

    def test_k_larger_than_the_list(self) -> None:
        """A k beyond the list gives the whole list's recall, and its precision by choice."""
        sample = Sample(retrieved_context_ids=["a"], reference_context_ids=["a", "b"])
        result = IdRecall().score(sample)
        assert result[Recall @ 10] == 0.5
        assert result[Precision @ 10] == 1.0
        assert result[Precision(denominator="k") @ 10] == 0.1

    @pytest.mark.parametrize(
        ("name", "value"),
        [("k", 0), ("k", -3), ("k", 2.5), ("k", True), ("min_grade", 0), ("min_grade", -1)],
    )
    def test_bad_parameters_are_named(self, name: str, value: object) -> None:
        """A bad parameter is a `ValueError` that names the parameter and the value."""
        with pytest.raises(ParameterError, match=name) as caught:
            Recall @ value if name == "k" else Recall(**{name: value})  # type: ignore[operator]
        assert isinstance(caught.value, ValueError)
        assert repr(value) in str(caught.value)


class TestGradedReferences:
    """Edge case: references have grades."""

    SAMPLE = Sample(
        retrieved_context_ids=["b", "x", "a"], reference_context_ids={"a": 3, "b": 1, "z": 0}
    )

    def test_min_grade_makes_binary_targets(self) -> None:
        """Grade 0 is never a target; a higher `min_grade` leaves fewer targets, or none."""
        result = IdRecall().score(self.SAMPLE)
        assert len(result.findings) == 2
        at_two = [result[Recall(min_grade=grade) @ 2] for grade in (0.5, 1, 2, 3, 4)]
        assert at_two == [0.5, 0.5, 0.0, 0.0, None]
        assert result[nDCG] == IdRecall().score(self.SAMPLE)[nDCG]

    def test_ndcg_uses_grades(self) -> None:
        """Gains are the grades, the ideal order is by grade."""
        ideal = 3 / 1 + 1 / 1.584962500721156
        reached = 1 / 1 + 3 / 2
        assert IdRecall().score(self.SAMPLE)[nDCG] == pytest.approx(reached / ideal)


class TestTextSimilarity:
    """Edge case: references are found by the similarity of texts."""

    def test_threshold_is_inclusive_or_strict(self) -> None:
        """`>=` by default; `comparison="gt"` is ragas's strict `>`."""
        sample = Sample(retrieved_contexts=["ac"], reference_contexts=["ab"])
        assert TextRecall(threshold=0.5).score(sample).score == 1.0
        assert TextRecall(threshold=0.5, comparison="gt").score(sample).score == 0.0

    def test_any_rapidfuzz_scorer_and_any_callable(self) -> None:
        """A similarity is a name, RapidFuzz's own function, or any callable of two texts."""
        from rapidfuzz import fuzz
        from rapidfuzz.distance import JaroWinkler

        sample = Sample(retrieved_contexts=["b a"], reference_contexts=["a b"])
        for similarity in (
            "token_sort_ratio",
            fuzz.token_sort_ratio,
            fuzz.token_set_ratio,
            lambda reference, text: float(sorted(reference) == sorted(text)),
        ):
            assert TextRecall(similarity=similarity, threshold=1.0).score(sample).score == 1.0
        close = TextRecall(similarity=JaroWinkler.normalized_similarity, threshold=0.5)
        assert close.score(sample).score == 1.0

    def test_a_distance_and_an_unknown_name_are_refused(self) -> None:
        """A distance is refused, and the error for a misspelled name lists the names."""
        from rapidfuzz.distance import Levenshtein

        with pytest.raises(ParameterError, match="normalized_similarity"):
            TextRecall(similarity=Levenshtein.distance)
        with pytest.raises(ParameterError, match="normalized_similarity"):
            TextRecall(similarity=Levenshtein.similarity)
        with pytest.raises(ParameterError, match="a name or a callable, got 7"):
            TextRecall(similarity=7)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="levenshtein"):
            TextRecall(similarity="levenstein")

    def test_a_callable_outside_the_range_is_an_error(self) -> None:
        """A similarity outside 0 to 1, such as a percentage, is an error that names the value."""

        def percent(reference: str, text: str) -> float:
            return 83.0

        with pytest.raises(ParameterError, match=r"83\.0"):
            TextRecall(similarity=percent).score(retrieved_contexts=["a"], reference_contexts=["b"])


class TestTextTargetsShorterThanChunks:
    """Edge case: text targets are shorter than chunks."""

    CHUNK = "Paris is the capital of France. It lies on the Seine, and it is old and large."
    SAMPLE = Sample(
        retrieved_contexts=[CHUNK], reference_contexts=["Paris is the capital of France."]
    )

    def test_whole_string_similarity_misses_and_span_recall_does_not(self) -> None:
        """A chunk of over twice the reference's length is a miss for whole strings only."""
        assert TextRecall().score(self.SAMPLE).score == 0.0
        assert SpanRecall().score(self.SAMPLE).score == 1.0
        assert TextRecall(similarity="partial_ratio").score(self.SAMPLE).score == 1.0


class TestOverlappingSpans:
    """Edge case: reference spans overlap, or chunks do."""

    TEXT = "".join(f"sentence number {n} of the passage. " for n in range(20))

    def cut(self, start: int, end: int, *, offsets: bool) -> Context:
        """Return a piece of the passage, with or without its place."""
        place = {"source": "doc", "start": start, "end": end} if offsets else {}
        return Context(self.TEXT[start:end], **place)  # type: ignore[arg-type]

    @pytest.mark.parametrize("offsets", [True, False])
    def test_overlapping_chunks_count_once(self, *, offsets: bool) -> None:
        """Two chunks that share half their text cover their union."""
        result = SpanRecall().score(
            retrieved_contexts=[
                self.cut(0, 200, offsets=offsets),
                self.cut(100, 300, offsets=offsets),
            ],
            reference_contexts=[self.cut(0, 400, offsets=offsets)],
        )
        assert result.score == pytest.approx(0.75, abs=0.01)

    @pytest.mark.parametrize("offsets", [True, False])
    def test_overlapping_references_count_once(self, *, offsets: bool) -> None:
        """References that overlap are one target: their union. Full cover is 1.0, half is half."""
        references = [self.cut(0, 200, offsets=offsets), self.cut(100, 400, offsets=offsets)]
        whole = self.cut(0, 400, offsets=offsets)
        half = self.cut(0, 200, offsets=offsets)
        full = SpanRecall().score(retrieved_contexts=[whole], reference_contexts=references)
        part = SpanRecall().score(retrieved_contexts=[half], reference_contexts=references)
        assert (len(full.findings), full.score) == (1, 1.0)
        assert part.score == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("scorer", [IdRecall(), TextRecall(), SpanRecall()])
def test_an_unanswerable_question_needs_a_retrieval(scorer: Any) -> None:
    """An unanswerable question is undefined if its retrieval was observed, else unscored."""
    seen: list[tuple[dict[str, Any], str, str]] = [
        ({"retrieved_contexts": []}, "undefined", "nothing answers the question"),
        ({}, "unscored", "no retrieval observed"),
        ({"retrieval": Retrieval(error="index is down")}, "unscored", "index is down"),
    ]
    for fields, status, reason in seen:
        result = scorer.score(answerable=False, **fields)
        assert result.status == status
        assert reason in result.note


def test_an_unanswerable_question_among_mappings_is_undefined() -> None:
    """An unanswerable question in columns that are scored together is undefined."""
    row = {"retrieved_ids": ["d1"], "expected_ids": ["d1"]}
    report = evaluate([{**row, "answerable": flag} for flag in (True, False)], IdRecall())
    assert [each.results[0].status for each in report] == ["scored", "undefined"]
