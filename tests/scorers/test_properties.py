"""ID recall on random input equals a slow and obvious reference."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullrecall import IdRecall, Sample, TextRecall, evaluate
from fullrecall.measures import AP, MEASURES, Recall, nDCG
from fullrecall.measures.measure import GradedMeasure

IDS = st.integers(0, 12).map(lambda n: n if n % 3 else str(n))
RANKED = st.lists(IDS, max_size=15)
REFERENCES = st.lists(IDS, min_size=1, max_size=8)
GRADED = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 4), min_size=1)
KS = st.integers(1, 20)


def score(retrieved: list[int | str], references: list[int | str], k: int | None = None) -> float:
    """Return recall@k as the library computes it."""
    result = IdRecall().score(retrieved_context_ids=retrieved, reference_context_ids=references)
    value = result[Recall if k is None else Recall @ k]
    assert value is not None
    return value


class Obvious:
    """The measures, written by their definitions, on sets and loops."""

    def __init__(
        self, retrieved: list[str], grades: dict[str, float], k: int, least: int = 1
    ) -> None:
        self.top = retrieved[:k]
        self.k = k
        self.grades = grades
        self.relevant = {name for name, grade in grades.items() if grade >= least}
        self.first = [
            name in self.relevant and name not in self.top[:rank]
            for rank, name in enumerate(self.top)
        ]

    def precision_at(self, rank: int) -> float:
        """Return the share of relevant contexts among the first `rank`."""
        return sum(self.first[:rank]) / rank

    def recall(self) -> float:
        """Return the share of relevant IDs that are retrieved."""
        return len(self.relevant & set(self.top)) / len(self.relevant)

    def precision(self) -> float:
        """Return the share of retrieved IDs that are relevant."""
        return self.precision_at(len(self.top)) if self.top else 0.0

    def value(self, name: str) -> float:
        """Return a measure by its name."""
        return float(len(self.relevant)) if name == "relevant" else float(getattr(self, name)())

    def f1(self) -> float:
        """Return the harmonic mean of precision and recall."""
        both = self.precision() + self.recall()
        return 2 * self.precision() * self.recall() / both if both else 0.0

    f_beta = f1

    def r_precision(self) -> float:
        """Return the share of relevant IDs within rank R."""
        return sum(self.first[: len(self.relevant)]) / len(self.relevant)

    def rbp(self) -> float:
        """Return rank-biased precision with a persistence of 0.8."""
        return sum(0.2 * 0.8**n * good for n, good in enumerate(self.first))

    def err(self) -> float:
        """Return the expected reciprocal rank on the scale of 0 to 4."""
        total, reading = 0.0, 1.0
        for rank, name in enumerate(self.top, 1):
            grade = self.grades.get(name, 0) * (name not in self.top[: rank - 1])
            stops = (2**grade - 1) / 16
            total, reading = total + reading * stops / rank, reading * (1 - stops)
        return total

    def interpolated_precision(self) -> float:
        """Return the best precision at any rank."""
        return max((self.precision_at(n) for n in range(1, len(self.first) + 1)), default=0.0)

    def bpref(self) -> float:
        """Return the share of pairs of judged IDs in the right order, as Buckley counts them."""
        bad = {name for name in self.grades if name not in self.relevant}
        least, total = min(len(bad), len(self.relevant)), 0.0
        for rank, good in enumerate(self.first):
            above = len(bad.intersection(self.top[:rank]))
            total += good and 1 - (min(above, len(self.relevant)) / least if above else 0)
        return total / len(self.relevant)

    def judged(self) -> float:
        """Return the share of judged IDs, each once."""
        return len(self.grades.keys() & set(self.top)) / len(self.top) if self.top else 0.0

    def retrieved(self) -> float:
        """Return the number of retrieved IDs."""
        return float(len(self.top))

    def relevant_retrieved(self) -> float:
        """Return the number of retrieved relevant IDs."""
        return float(sum(self.first))

    def hit(self) -> float:
        """Return whether any relevant ID is retrieved."""
        return float(any(self.first))

    def all_found(self) -> float:
        """Return whether all relevant IDs are retrieved."""
        return float(self.relevant <= set(self.top))

    def rr(self) -> float:
        """Return the inverse rank of the first relevant ID."""
        return next((1 / rank for rank, good in enumerate(self.first, 1) if good), 0.0)

    def ap(self) -> float:
        """Return the sum of precisions at the relevant ranks over all relevant."""
        at = [self.precision_at(rank) for rank, good in enumerate(self.first, 1) if good]
        return sum(at) / len(self.relevant)

    def mean_precision(self) -> float:
        """Return the mean of precisions at the relevant ranks over the relevant retrieved."""
        at = [self.precision_at(rank) for rank, good in enumerate(self.first, 1) if good]
        return sum(at) / len(at) if at else 0.0

    def ndcg(self, gain: Callable[[float], float] = float) -> float:
        """Return discounted gain over the ideal order of all grades, for any `min_grade`."""
        gains = [
            gain(self.grades.get(name, 0)) * (name not in self.top[:rank])
            for rank, name in enumerate(self.top)
        ]
        ideal = sorted(map(gain, self.grades.values()), reverse=True)[: self.k]
        reached, best = (
            sum(gain / log2(rank + 1) for rank, gain in enumerate(order, 1))
            for order in (gains, ideal)
        )
        return reached / best


WANTED = {name: measure for name, measure in MEASURES.items() if not measure.of_sample}


@given(st.lists(st.sampled_from("abcdefghxyz"), max_size=12), GRADED, KS)
@settings(max_examples=50)
def test_every_measure_equals_its_obvious_reference(
    retrieved: list[str], grades: dict[str, int], k: int
) -> None:
    """All measures of targets, graded and with duplicates, equal their definitions."""
    if not any(grade >= 1 for grade in grades.values()):
        grades = {**grades, "a": 1}
    slow = Obvious(retrieved, dict(grades), k)
    result = IdRecall().score(retrieved_context_ids=retrieved, reference_context_ids=grades)
    for name, measure in WANTED.items():
        assert result[measure @ k] == pytest.approx(slow.value(name)), name
    exponential = slow.ndcg(lambda grade: 2.0**grade - 1)
    assert result[nDCG(gain="exponential") @ k] == pytest.approx(exponential)


@given(st.lists(st.sampled_from("abcdefghxyz"), max_size=12), GRADED, KS, st.integers(2, 4))
@settings(max_examples=50)
def test_a_relevance_level_never_touches_gains(
    retrieved: list[str], grades: dict[str, int], k: int, level: int
) -> None:
    """`min_grade` selects the targets, and nDCG ignores it and uses all grades."""
    slow = Obvious(retrieved, dict(grades), k, level)
    result = IdRecall().score(retrieved_context_ids=retrieved, reference_context_ids=grades)
    for name, measure in WANTED.items():
        if isinstance(measure, GradedMeasure):
            is_valued = slow.relevant or not measure.needs_target
            expected = pytest.approx(slow.value(name)) if is_valued else None
            assert result[measure(min_grade=level) @ k] == expected, name
    if any(grades.values()):
        assert result[nDCG @ k] == pytest.approx(slow.ndcg())


@given(RANKED, REFERENCES, KS)
def test_recall_is_bounded_and_monotone_in_k(
    retrieved: list[int | str], references: list[int | str], k: int
) -> None:
    """recall@k is in [0, 1] and never falls with k."""
    now, later = (score(retrieved, references, at) for at in (k, k + 1))
    assert 0.0 <= now <= later <= 1.0


@given(RANKED, REFERENCES, st.randoms(use_true_random=False), KS)
def test_references_have_no_order(
    retrieved: list[int | str], references: list[int | str], random: Random, k: int
) -> None:
    """A permutation of the references changes nothing."""
    shuffled = random.sample(references, len(references))
    assert score(retrieved, shuffled, k) == score(retrieved, references, k)


@given(RANKED.filter(bool), REFERENCES, st.data(), KS)
def test_duplicates_never_raise_a_score(
    retrieved: list[int | str], references: list[int | str], data: st.DataObject, k: int
) -> None:
    """A context retrieved again, behind its first rank, raises no recall@k."""
    first = data.draw(st.integers(0, len(retrieved) - 1))
    place = data.draw(st.integers(first + 1, len(retrieved)))
    doubled = [*retrieved[:place], retrieved[first], *retrieved[place:]]
    assert score(doubled, references, k) <= score(retrieved, references, k)


@given(RANKED, REFERENCES, st.integers(1, 10))
def test_irrelevant_ids_change_no_recall(
    retrieved: list[int | str], references: list[int | str], strangers: int
) -> None:
    """Irrelevant IDs at the end of the list do not change recall."""
    padded = [*retrieved, *(f"stranger-{n}" for n in range(strangers))]
    assert score(padded, references) == score(retrieved, references)
    k = len(retrieved) + 1
    assert score(padded, references, k) == score(retrieved, references, k)


ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.lists(st.one_of(IDS, st.just("")), max_size=9)),
        st.one_of(
            st.none(),
            st.lists(IDS, max_size=5),
            st.dictionaries(IDS, st.integers(0, 3), max_size=4),
            # A group of both is refused, since it may be a document with its page.
            st.lists(
                st.one_of(
                    st.lists(st.integers(0, 12), max_size=3),
                    st.lists(st.integers(0, 12).map(str), max_size=3),
                ),
                max_size=3,
            ),
        ),
    ),
    max_size=12,
)


@given(ROWS, st.lists(KS, max_size=4), st.sampled_from([Sample, dict]))
@settings(max_examples=40)
def test_chunks_give_what_samples_give(
    rows: list[tuple[Any, Any]], ks: list[int], form: Any
) -> None:
    """`evaluate` scores many samples at once as `score` does one: values, status, reason."""
    scorer = IdRecall()
    mappings = [{"retrieved_ids": ids, "expected_ids": refs} for ids, refs in rows]
    samples = [Sample(**row) for row in mappings]
    report = evaluate(samples if form is Sample else mappings, scorer, progress=False)
    for row, sample in zip(report, samples, strict=True):
        result, expected = row.results[0], scorer.score(sample)
        assert (result.status, result.reason) == (expected.status, expected.reason)
        assert tuple(result.findings) == tuple(expected.findings)
        for measure in (Recall, AP, nDCG, *(Recall @ k for k in ks)):
            assert result[measure] == expected[measure]


SOME = (
    st.integers(0, 12),
    st.one_of(st.integers(0, 3), st.integers(2**31, 2**31 + 3)),
    st.sampled_from(["a", "b", "c", "d", "ee", ""]),
    st.sampled_from(["a", "b", "c", "d", "ee"]),
)
COLUMNS = st.one_of(
    [
        st.lists(st.tuples(st.lists(ids, max_size=9), st.lists(ids, max_size=5)), max_size=40)
        for ids in SOME
    ]
)


@given(COLUMNS, st.lists(KS, max_size=4), st.sampled_from([0, 400]))
@settings(max_examples=70)
def test_columns_of_any_kind_give_what_samples_give(
    rows: list[tuple[list[Any], list[Any]]], ks: list[int], few: int
) -> None:
    """Lists, tuples, and Arrow tables of numbers or texts give the same as `score`."""
    import pyarrow as pa

    names = ("retrieved_ids", "expected_ids")
    expected = [IdRecall().score(Sample(**dict(zip(names, row, strict=True)))) for row in rows]
    mappings = [dict(zip(names, row, strict=True)) for row in rows]
    tuples = [{name: tuple(value) for name, value in row.items()} for row in mappings]
    columns = [[row[name] for row in mappings] for name in names]
    forms: list[Any] = [mappings, tuples, iter(mappings)]
    if rows:
        forms.append(pa.table(dict(zip(names, map(pa.array, columns), strict=True))))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("fullrecall.scorers.id_lists._FEW", few)
        for form in forms:
            report = evaluate(form, IdRecall(), progress=False)
            for k in ks:
                values = [row.results[0][Recall @ k] for row in report]
                assert values == [result[Recall @ k] for result in expected]


TEXTS = st.text(alphabet="abc ", min_size=1, max_size=12).filter(str.strip)


@given(st.lists(TEXTS, max_size=5), st.lists(TEXTS, min_size=1, max_size=4), st.floats(0, 1))
@settings(max_examples=40)
def test_text_recall_decides_as_ragas_formula(
    retrieved: list[str], references: list[str], threshold: float
) -> None:
    """With `comparison="gt"`, a reference needs a best similarity above the threshold."""
    from rapidfuzz.distance import Levenshtein

    unique = list(dict.fromkeys(references))
    hits = [
        max((Levenshtein.normalized_similarity(r, t) for t in retrieved), default=-1.0) > threshold
        for r in unique
    ]
    result = TextRecall(threshold=threshold, comparison="gt").score(
        retrieved_contexts=retrieved, reference_contexts=references
    )
    assert result.score == pytest.approx(sum(hits) / len(hits))
    assert set(result.missed) == {r for r, hit in zip(unique, hits, strict=True) if not hit}


@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, min_size=1, max_size=3))
def test_a_threshold_on_the_border_is_exact(retrieved: list[str], references: list[str]) -> None:
    """RapidFuzz's internal cut-offs change no decision, at every similarity that occurs."""
    from rapidfuzz.distance import Levenshtein

    for reference in references:
        for text in retrieved:
            threshold = Levenshtein.normalized_similarity(reference, text)
            sample = Sample(retrieved_contexts=[text], reference_contexts=[reference])
            assert TextRecall(threshold=threshold).score(sample).score == 1.0
            strict = TextRecall(threshold=threshold, comparison="gt").score(sample)
            assert strict.score == 0.0
