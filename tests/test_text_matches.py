"""Text recall compares no more than is asked, on all cores, and decides as if it compared all."""

from __future__ import annotations

import os
import random
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rapidfuzz

from fullrecall import IdRecall, Sample, TextRecall, cores, evaluate
from fullrecall.errors import Interrupted
from fullrecall.findings import Evidence, LateFindings
from fullrecall.measures import AP, AllFound, Hit, Measure, Precision, Recall, nDCG
from fullrecall.report import late
from fullrecall.table.row import Row
from fullrecall.result import Result
from fullrecall.scorers import similarity, text_matches

RUNS = int(os.environ.get("FULLRECALL_RUNS", "40"))
ALPHABETS = (
    "abcde ", "ab", "äöüß éñ", "日本語の文章 ", "עברית العربية ", "👩‍👩‍👧 🇨🇭",
    "\x00\ufeff\u200b \n", "\ud800\udfff a",
)  # fmt: skip
LENGTHS = (1, 3, 8, 8, 30, 30, 70, 70, 140, 140, 600)
"""RapidFuzz takes one way up to 64 characters, and others for longer texts."""
FUNCTIONS = {
    "levenshtein": rapidfuzz.distance.Levenshtein.normalized_similarity,
    "indel": rapidfuzz.distance.Indel.normalized_similarity,
    "damerau_levenshtein": rapidfuzz.distance.DamerauLevenshtein.normalized_similarity,
    "osa": rapidfuzz.distance.OSA.normalized_similarity,
    "lcs": rapidfuzz.distance.LCSseq.normalized_similarity,
    "hamming": rapidfuzz.distance.Hamming.normalized_similarity,
    "jaro": rapidfuzz.distance.Jaro.normalized_similarity,
    "jaro_winkler": rapidfuzz.distance.JaroWinkler.normalized_similarity,
    "ratio": rapidfuzz.fuzz.ratio,
    "partial_ratio": rapidfuzz.fuzz.partial_ratio,
    "token_set_ratio": rapidfuzz.fuzz.token_set_ratio,
    "WRatio": rapidfuzz.fuzz.WRatio,
}
MEASURES: tuple[Measure, ...] = (
    Recall, Recall @ 1, Recall @ 2, Recall @ 5, AllFound @ 3, Precision @ 4, Hit @ 2, AP, nDCG @ 6,
)  # fmt: skip


@pytest.fixture(params=["short", "lengthy"])
def lengthy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether every text counts as long: pairs are compared in calls of some, a few texts first."""
    if request.param == "lengthy":
        monkeypatch.setattr(similarity, "_LENGTHY", -1)
        monkeypatch.setattr(similarity, "_ONE_CALL", 3_000)
        monkeypatch.setattr(text_matches, "_AT_ONCE", 2)
    return bool(request.param == "lengthy")


def text_of(rng: random.Random) -> str:
    """Return a text in one of the alphabets."""
    return "".join(rng.choices(rng.choice(ALPHABETS), k=rng.choice(LENGTHS)))


def edited(text: str, rng: random.Random) -> str:
    """Return a text with some of its characters replaced, removed, or doubled: often half.

    Or shifted: its end before its beginning, or after as much that is new.
    """
    if rng.random() < 0.3:
        cut = rng.randint(0, len(text))
        return rng.choice((text[cut:] + text[:cut], "#" * cut + text, text[cut:], text * 2))
    share = rng.choice((0.0, 0.1, 0.4, 0.5, 0.5, 0.6))
    acts = (lambda _: "", lambda c: c * 2, lambda _: "#")
    return "".join(rng.choice(acts)(c) if rng.random() < share else c for c in text)


def sample_of(rng: random.Random) -> Sample:
    """Return any-of groups, and edited copies of their texts among others."""
    groups = [[text_of(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))] for _ in range(4)]
    known = [text for group in groups for text in group]
    texts = [edited(rng.choice(known), rng) for _ in range(rng.randint(0, 7))]
    texts += [text_of(rng) for _ in range(rng.randint(0, 3))]
    rng.shuffle(texts)
    return Sample(retrieved_contexts=texts, reference_contexts=groups)


def evidence_of(scorer: TextRecall, sample: Sample) -> list[list[Evidence]]:
    """Return what a plain loop over all pairs finds, each text at its first rank."""
    assert isinstance(scorer.similarity, str)
    function = FUNCTIONS[scorer.similarity]
    whole = 1 if function("same", "same") == 1 else 100
    seen, ranked = set(), []
    for rank, context in enumerate(sample.retrieved_contexts or (), start=1):
        if context.text and context.text not in seen:
            seen.add(context.text)
            ranked.append((rank, context.text))
    found = []
    groups = [tuple(one.text or "" for one in g) for g in sample.reference_contexts or ()]
    for group in dict.fromkeys(groups):
        rows = []
        for rank, text in ranked:
            best = max(1.0 if text == one else function(one, text) / whole for one in group)
            over = best > scorer.threshold
            if over or (best == scorer.threshold and scorer.comparison == "ge"):
                rows.append(Evidence(rank, similarity=best))
        found.append(rows)
    return found


@pytest.mark.usefixtures("lengthy")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_whatever_is_asked_first_the_answers_are_those_of_a_plain_loop(name: str) -> None:
    """Found, found by k, first ranks, evidence: in any order, on any text, at the threshold too."""
    rng = random.Random(name)
    for _ in range(RUNS):
        comparison = "gt" if rng.random() < 0.5 else "ge"
        threshold = rng.choice((0.0, 0.3, 0.5, 0.5, 0.9, 1.0))
        scorer = TextRecall(similarity=name, threshold=threshold, comparison=comparison)  # type: ignore[arg-type]
        sample = sample_of(rng)
        expected = evidence_of(scorer, sample)
        findings = scorer.score(sample).findings
        if not findings:
            continue
        assert isinstance(findings, LateFindings)
        firsts = [rows[0].rank if rows else None for rows in expected]

        def found(k: int | None, firsts: list[int | None] = firsts) -> int:
            return sum(first is not None and (k is None or first <= k) for first in firsts)

        cuts: list[int | None] = [*range(1, 12), None]
        rng.shuffle(cuts)
        for k in cuts[: rng.randint(0, len(cuts))]:
            assert findings.found_within(k) == found(k), (threshold, k)
        if rng.random() < 0.5:
            assert findings.found_ranks == sorted(first for first in firsts if first is not None)
        for finding, rows in zip(findings, expected, strict=True):
            assert list(finding.evidence) == rows
            assert finding.ranks == tuple(row.rank for row in rows)
        assert [findings.found_within(k) for k in cuts] == [found(k) for k in cuts]


def test_an_equal_text_settles_a_reference_without_a_comparison(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Recall of copies compares nothing; where they stand takes the texts above, up to k."""
    compared: list[str] = []
    call = similarity.BoundedSimilarity.of_pairs

    def counted(self: Any, references: list[str], texts: list[str]) -> Iterator[list[float]]:
        compared.extend(text[0] for text in texts)
        return call(self, references, texts)

    monkeypatch.setattr(similarity.BoundedSimilarity, "of_pairs", counted)
    texts = [f"{letter}" * 30 for letter in "abcdefgh"]
    result = TextRecall().score(retrieved_contexts=texts, reference_contexts=["f" * 30])
    assert result.score == 1.0
    assert result.reason == "1 of 1 found in 8 retrieved"
    assert compared == []
    assert result[Recall @ 6] == 1.0
    assert compared == []
    assert result[Recall @ 2] == 0.0
    assert compared == ["a", "b"]
    assert result[Recall @ 3] == 0.0
    assert compared == ["a", "b", "c"]


def many(count: int, seed: int = 5) -> list[Sample]:
    """Return samples with IDs, three in each group."""
    rng = random.Random(seed)
    samples = [sample_of(rng) for _ in range(count)]
    ids = {"retrieved_context_ids": None}
    return [
        Sample(**{**sample.to_dict(), **ids, "id": f"s{n}", "group": f"g{n // 3}"})
        for n, sample in enumerate(samples)
    ]


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Scoring by one and by three threads, in blocks of which some are worked out at once."""
    monkeypatch.setattr(cores, "cores", lambda: request.param)
    monkeypatch.setattr(similarity, "_LENGTHY", 400)
    monkeypatch.setattr(late, "_LENGTHY", 2_000)
    monkeypatch.setattr(late, "_BLOCK", 9_000)
    before = set(threading.enumerate())
    yield request.param
    assert not [one for one in threading.enumerate() if one not in before]


def test_reports_do_not_depend_on_the_number_of_threads(threads: int, tmp_path: Path) -> None:
    """The same rows in the same order, the same bytes, the same totals, with rows and without."""
    samples = many(30)
    scorers = [TextRecall(), IdRecall(), TextRecall(name="strict", threshold=0.9)]
    seen: list[str] = []
    report = evaluate(samples, scorers, progress=False, sink=lambda row: seen.append(row.label))
    assert seen == [f"s{n}" for n in range(30)]
    totals = evaluate(samples, scorers, progress=False, keep="summary", measures=MEASURES)
    assert totals.summary(*MEASURES).to_dict() == report.summary(*MEASURES).to_dict()
    report.save(tmp_path / f"{threads}.jsonl")
    plain = type(report)([scorer.method for scorer in scorers])
    for row in report:
        results = tuple(scorer.score(row.sample) for scorer in scorers)
        plain.add(type(row)(row.position, row.sample, results))
    plain.save(tmp_path / "plain.jsonl")
    assert (tmp_path / f"{threads}.jsonl").read_bytes() == (tmp_path / "plain.jsonl").read_bytes()


@pytest.mark.usefixtures("threads")
def test_a_function_of_the_user_meets_no_other_thread() -> None:
    """Neither a similarity that is a callable nor a scorer of one's own is called in a thread."""
    met = set()

    def equal(reference: str, text: str) -> float:
        met.add(threading.current_thread())
        return float(reference == text)

    class Own(IdRecall):
        def score(self, *args: object, **fields: object) -> object:  # type: ignore[override]
            met.add(threading.current_thread())
            return super().score(*args, **fields)  # type: ignore[arg-type]

    scorers = [TextRecall(), TextRecall(similarity=equal, name="mine"), Own()]
    evaluate(many(12), scorers, progress=False).summary()
    assert met == {threading.current_thread()}


@pytest.mark.usefixtures("threads")
def test_what_ends_a_run_comes_after_the_rows_before_it() -> None:
    """An error of the samples, and Ctrl-C, keep all rows that were read, in order."""

    def broken() -> Iterator[Sample]:
        yield from many(9)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone") as caught:
        evaluate(broken(), TextRecall(), progress=False)
    assert [row.label for row in caught.value.report] == [f"s{n}" for n in range(9)]  # type: ignore[attr-defined]

    def interrupted() -> Iterator[Sample]:
        yield from many(9)[:7]
        os.kill(os.getpid(), 2)
        yield from many(9)[7:]

    with pytest.raises(Interrupted) as stopped:
        evaluate(interrupted(), TextRecall(), progress=False)
    kept = [row.label for row in stopped.value.report]
    assert kept == [f"s{n}" for n in range(len(kept))]
    assert 7 <= len(kept) < 9


@pytest.mark.usefixtures("threads")
def test_a_sink_that_raises_ends_the_run_and_its_threads() -> None:
    """The rows before it are in the report, and no thread goes on."""

    def sink(row: object) -> None:
        if row.label == "s3":  # type: ignore[attr-defined]
            raise OSError("full")

    with pytest.raises(OSError, match="full") as caught:
        evaluate(many(20), TextRecall(), progress=False, sink=sink)
    assert [row.label for row in caught.value.report] == ["s0", "s1", "s2", "s3"]  # type: ignore[attr-defined]


def test_findings_that_many_threads_read_are_those_of_one() -> None:
    """Reading the same result from several threads in any order never mixes up what is known."""
    rng = random.Random(11)
    for _ in range(max(3, RUNS // 10)):
        sample = sample_of(rng)
        scorer = TextRecall()
        alone = [scorer.score(sample)[measure] for measure in MEASURES]
        result = scorer.score(sample)
        read: list[list[float | None]] = []

        def look(seed: int, result: Result, read: list[list[float | None]]) -> None:
            order = list(MEASURES)
            random.Random(seed).shuffle(order)
            values = {measure: result[measure] for measure in order}
            read.append([values[measure] for measure in MEASURES])

        running = [threading.Thread(target=look, args=(n, result, read)) for n in range(6)]
        for one in running:
            one.start()
        for one in running:
            one.join()
        assert read == [alone] * 6


def test_long_texts_are_compared_in_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """All the pairs of a block in one call, away from the thread that reads samples."""
    monkeypatch.setattr(cores, "cores", lambda: 2)
    calls = []
    compared = similarity.BoundedSimilarity._compared

    def watched(self: Any, references: list[str], texts: list[str]) -> list[float]:
        calls.append((threading.current_thread(), len(texts)))
        return compared(self, references, texts)

    monkeypatch.setattr(similarity.BoundedSimilarity, "_compared", watched)
    rng = random.Random(3)
    texts = ["".join(rng.choices("abcdefgh ", k=900 + n)) for n in range(12)]
    samples = [
        Sample(retrieved_contexts=texts[:6], reference_contexts=texts[4:9]) for _ in range(4)
    ]
    summary = evaluate(samples, TextRecall(), progress=False).summary(Recall)
    assert summary[0].mean == pytest.approx(0.4)
    assert threading.main_thread() not in {thread for thread, _ in calls}
    # Two equal, three that are not found: the likeliest text of each, then the five others.
    assert sorted(count for _, count in calls) == [4 * 3, 4 * 3 * 5]


def test_a_scorer_that_scores_in_another_way_is_asked_in_that_way() -> None:
    """What derives from TextRecall and has a `score` of its own is never passed over."""

    class Strict(TextRecall):
        def score(self, *args: Any, **fields: Any) -> Result:
            return TextRecall(threshold=1.0, name="strict").score(*args, **fields)

    sample = Sample(retrieved_contexts=["abcd"], reference_contexts=["abce"])
    report = evaluate([sample], [TextRecall(), Strict(name="strict")], progress=False)
    assert [result.score for result in report[0].results] == [1.0, 0.0]


@pytest.mark.usefixtures("threads")
def test_rows_do_not_wait_for_a_source_that_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample that took its time is given on before the next one is read."""
    monkeypatch.setattr(late, "_SECONDS", -1.0)
    monkeypatch.setattr(late, "_LENGTHY", 10**9)
    seen: list[str] = []
    known: list[int] = []

    def slow() -> Iterator[Sample]:
        for sample in many(6):
            known.append(len(seen))
            yield sample

    evaluate(slow(), TextRecall(), progress=False, sink=lambda row: seen.append(row.label))
    assert known == [0, 1, 2, 3, 4, 5]


@pytest.mark.usefixtures("threads")
def test_evaluate_within_evaluate_and_within_a_fork() -> None:
    """A sink may evaluate, in its own process or in a child: no thread waits for another."""

    def mean() -> float | None:
        return evaluate(many(6), TextRecall(), progress=False).summary(Recall)[0].mean

    expected, inner, codes = mean(), [], []

    def sink(row: Row) -> None:
        inner.append(mean())
        if row.position == 2 and hasattr(os, "fork"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads
                child = os.fork()
            if child == 0:
                os._exit(0 if mean() == expected else 1)
            codes.append(os.waitpid(child, 0)[1])

    evaluate(many(3), TextRecall(), progress=False, sink=sink)
    assert inner == [expected] * 3
    assert codes in ([], [0])


def test_ctrl_c_ends_comparisons_between_two_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a sample with endless texts, too; what was read is kept, and worked out when asked."""
    monkeypatch.setattr(cores, "cores", lambda: 2)
    monkeypatch.setattr(late, "_LENGTHY", -1)
    monkeypatch.setattr(late, "_BLOCK", -1)

    steps: list[int] = []

    def endless(*_: object) -> Iterator[list[float]]:
        if not steps:
            os.kill(os.getpid(), 2)
        while len(steps) < most:
            steps.append(len(steps))
            time.sleep(0.001)
            yield []

    most = 20_000
    samples = [Sample(retrieved_contexts=["abcd"], reference_contexts=["abce"])] * 3
    with monkeypatch.context() as patch:
        patch.setattr(similarity.BoundedSimilarity, "of_pairs", endless)
        with pytest.raises(Interrupted) as stopped:
            evaluate(samples, TextRecall(), progress=False)
    assert len(steps) < most
    assert {row.results[0].score for row in stopped.value.report} == {1.0}


def test_a_closed_run_takes_no_further_step() -> None:
    """Steps that never end do not keep their thread once nobody waits for them."""

    def endless() -> Iterator[None]:
        while True:
            yield

    done = cores.on_cores([("first", None), ("second", endless())], threads=2)
    assert next(done) == "first"
    done.close()
    assert not [one for one in threading.enumerate() if one.name.startswith("fullrecall")]
