"""A deadline and Ctrl-C take effect inside a sample, and texts have a bound."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from rapidfuzz.distance import Levenshtein

from fullrecall import IdRecall, Sample, TextRecall, aevaluate, evaluate
from fullrecall._util.pieces import pause, watched
from fullrecall.scorers import Unmeasured
from fullrecall.scorers import text as text_recall
from fullrecall.scorers.text import BoundedSimilarity


def sample(references: list[str], contexts: list[str]) -> Sample:
    """Return a sample of texts."""
    return Sample(user_input="q", reference_contexts=references, retrieved_contexts=contexts)


def counting(at: int, then: Callable[[], Any]) -> tuple[list[int], Callable[[str, str], float]]:
    """Return a list of calls, and a similarity that logs them and calls `then` in call `at`."""
    calls: list[int] = []

    def compared(_: str, __: str) -> float:
        calls.append(len(calls))
        if len(calls) == at:
            then()
        return 0.0

    return calls, compared


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pause after each comparison."""
    monkeypatch.setattr(text_recall, "_PIECE", 0.0)


@pytest.mark.usefixtures("small_pieces")
def test_ctrl_c_ends_a_sample_between_two_comparisons() -> None:
    """Ctrl-C ends a sample between two comparisons, unscored, and keeps the rows before it."""
    calls, compared = counting(5, lambda: os.kill(os.getpid(), signal.SIGINT))
    samples = [sample(["a"], ["b"]), sample(["a", "b"], [f"{n}" for n in range(1_000)])]
    with pytest.raises(KeyboardInterrupt) as caught:
        evaluate(samples, TextRecall(similarity=compared), progress=False)
    rows = list(caught.value.report)
    assert [row.results[0].score for row in rows] == [0.0, None]
    assert rows[1].results[0].note == "the run was interrupted before it was judged"
    assert len(calls) <= 6


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("is_async", [False, True])
def test_a_deadline_ends_a_sample_between_two_comparisons(
    monkeypatch: pytest.MonkeyPatch, *, is_async: bool
) -> None:
    """A deadline ends a sample between two comparisons, without an exception."""
    real, shift = time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: real() + shift[0])
    calls, compared = counting(5, lambda: shift.__setitem__(0, 1e6))
    samples = [sample(["a"], ["b"]), sample(["a", "b"], [f"{n}" for n in range(1_000)])] * 2
    scorer = TextRecall(similarity=compared)
    if is_async:
        report = asyncio.run(aevaluate(samples, scorer, deadline=1e5, progress=False))
    else:
        report = evaluate(samples, scorer, deadline=1e5, progress=False)
    assert [row.results[0].score for row in report] == [0.0, None, None, None]
    late = "the run's deadline passed before it was judged"
    assert [row.results[0].note for row in report][1:] == [late] * 3
    assert len(calls) <= 6


@pytest.mark.usefixtures("small_pieces")
def test_a_cancelled_run_leaves_no_comparison_behind() -> None:
    """Canceling a task ends the thread that compares for it."""

    async def main() -> list[int]:
        began = asyncio.Event()
        loop = asyncio.get_running_loop()
        calls, compared = counting(5, lambda: loop.call_soon_threadsafe(began.set))
        texts = [f"{n}" for n in range(10**6)]
        running = asyncio.create_task(
            aevaluate([sample(["a"], texts)], TextRecall(similarity=compared), progress=False)
        )
        await began.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return calls

    calls = asyncio.run(main())  # This stops the loop without waiting for any thread.
    assert 5 <= len(calls) < 10**6


def test_a_pause_outside_of_a_run_is_nothing() -> None:
    """`pause` raises the exception of the innermost check, and none outside of a check."""

    def over() -> None:
        raise Unmeasured("over")

    pause()
    with watched(over):
        with watched(lambda: None):
            pause()
        with pytest.raises(Unmeasured, match="over"):
            pause()
    pause()


NAMES = sorted(text_recall._by_name())


def test_pieces_change_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """With any bounds of the pieces, each value equals that of the direct call."""
    draw = random.Random(51)

    def text(longest: int) -> str:
        return "".join(draw.choice("ab c") for _ in range(draw.randint(0, longest)))

    for _ in range(300):
        name, threshold = draw.choice(NAMES), draw.choice([0.0, 0.3, 0.5, 0.9])
        longest = draw.choice([3, 30])
        references = [text(longest) for _ in range(draw.randint(0, 5))]
        texts = [text(longest) for _ in range(draw.randint(0, 6))]
        compared = BoundedSimilarity(name, threshold)
        plain = [[compared(reference, text) for text in texts] for reference in references]
        for piece, long in ((0.0, 1e8), (50.0, 1e8), (400.0, 1e8), (2e9, 10.0), (2e9, 1e8)):
            monkeypatch.setattr(text_recall, "_PIECE", piece)
            monkeypatch.setattr(text_recall, "_LONG", long)
            assert compared.rows(references, texts) == plain


@pytest.mark.parametrize("name", NAMES)
def test_texts_over_the_bound_are_unscored(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason names both lengths; texts that differ only in a short part are compared."""
    most = {"hamming": 9e-6, "damerau_levenshtein": 270.0}
    monkeypatch.setattr(text_recall, "_MOST", most.get(name, 9.0))
    monkeypatch.setattr(text_recall, "_LONG", 0.0)
    scorer = TextRecall(similarity=name)
    middle = sample(["x" * 50 + "abcd" + "y" * 50], ["x" * 50 + "efgh" + "y" * 50])
    assert scorer.score(middle).score is None, "4 characters each are 16 cells"
    near = sample(["x" * 50 + "a" + "y" * 50], ["x" * 50 + "b" + "y" * 50])
    assert scorer.score(near).score is not None
    far = scorer.score(sample(["abcdefgh"], ["ijklmnopqr"]))
    assert far.score is None
    assert far.note is not None
    assert "of 8 characters and a retrieved text of 10 are too long" in far.note
    assert scorer.score(sample(["abcdefgh"], ["abcdefgh"])).score == 1.0


def test_lengths_that_decide_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A book and a sentence are compared, since their lengths alone decide."""
    monkeypatch.setattr(text_recall, "_MOST", 100.0)
    monkeypatch.setattr(text_recall, "_LONG", 0.0)
    book = "abcdefghij" * 100
    result = TextRecall().score(sample(["klmnopqrst uvwxyz"], [book]))
    assert result.score == Levenshtein.normalized_similarity(
        "klmnopqrst uvwxyz", book, score_cutoff=0.5
    )
    assert result.score == 0.0


def test_long_equal_texts_take_no_time() -> None:
    """Half a million equal characters, and as many with one edit, are compared fast."""
    text = "".join(random.Random(1).choice("abcdefgh ") for _ in range(500_000))
    edited = f"{text[:250_000]}!{text[250_001:]}"
    assert TextRecall(threshold=0.9).score(sample([text], [edited])).score == 1.0
    assert TextRecall().score(sample([text], [text])).score == 1.0


@pytest.mark.parametrize("kind", ["ids", "groups", "texts"])
def test_a_long_row_has_pauses(kind: str) -> None:
    """With IDs or texts as targets, a run that is ending leaves a long row in the middle."""
    many = [str(number) for number in range(60_000)]
    scorer: IdRecall | TextRecall = IdRecall()
    if kind == "texts":
        scorer, row = TextRecall(), sample(many[:1_500], ["a text"])
    else:
        references: list[Any] = many if kind == "ids" else [[each, "x"] for each in many]
        row = Sample(reference_context_ids=references, retrieved_context_ids=many)
    pauses = []

    def check() -> None:
        pauses.append(kind)
        if len(pauses) == 3 or kind == "ids":
            raise Unmeasured("it is to end")

    with watched(check):
        result = scorer.score(row)
    assert result.note == "it is to end"


def test_short_texts_are_compared_in_pieces() -> None:
    """A user's own similarity of many short texts can be ended after every hundred calls."""
    pauses: list[None] = []
    compared = TextRecall(similarity=lambda *_: 0.0)
    with watched(lambda: pauses.append(None)):
        compared.score(sample(["a"], [f"{n}" for n in range(1_000)]))
    assert len(pauses) >= 9
