"""A review at its limits: bounds, what is drawn, what is shown, and decisions that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.testset.test_review import TEXT, decisions, reviewed, samples

from fullrecall import Sample
from fullrecall.errors import InputError, ParameterError
from fullrecall.testset import apply_review, lower_bound, reviews_needed, to_review
from fullrecall.testset.review import _row


@pytest.mark.parametrize(
    ("reviewed", "bad", "total", "bound"),
    [
        (0, 0, 10, 0.0),
        (1, 1, 10, 0.0),
        (2, 2, 10, 0.0),
        (1, 0, 1, 1.0),
        (1, 0, 10, 0.1),
        (2, 1, 10, 0.1),
        (5, 0, 10, 0.7),
        (9, 0, 10, 0.9),
        (10, 0, 10, 1.0),
        (10, 3, 10, 0.7),
        (9, 3, 10, 0.6),
    ],
)
def test_the_share_that_a_review_proves(reviewed: int, bad: int, total: int, bound: float) -> None:
    """The bound is exact: the questions that were not drawn are counted as far as likely."""
    assert lower_bound(reviewed, bad, total) == pytest.approx(bound)


@pytest.mark.parametrize(
    ("total", "allowed", "needed"), [(1, 0, 1), (1, 2, 1), (10, 0, 8), (20, 0, 12), (20, 1, 17)]
)
def test_how_many_are_reviewed(total: int, allowed: int, needed: int) -> None:
    """The fewest reviews that prove 90 %, or the whole set."""
    assert reviews_needed(total, allowed) == needed


@pytest.mark.parametrize(
    ("total", "allowed", "message"),
    [(0, 0, "total"), (10, -1, "allowed"), (1.5, 0, "total"), (10, True, "allowed")],
)
def test_numbers_of_reviews_out_of_range(total: Any, allowed: Any, message: str) -> None:
    """A total from 1 and an allowance from 0 are needed."""
    with pytest.raises(ParameterError, match=message):
        reviews_needed(total, allowed)


@pytest.mark.parametrize("n", [0, 5, True, 1.0, -1])
def test_a_number_to_draw_out_of_range(tmp_path: Path, n: Any) -> None:
    """At least one question is drawn, and at most all."""
    with pytest.raises(ParameterError, match=f"n must be from 1 to 4, got {n!r}"):
        to_review(samples(4), tmp_path / "a.html", n=n)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], "no samples to review"),
        ([Sample(id="a"), Sample(id="a")], "each sample needs a unique ID to be reviewed"),
        ([Sample(id="a"), Sample()], "each sample needs a unique ID to be reviewed"),
    ],
)
def test_samples_that_cannot_be_reviewed(tmp_path: Path, given: list[Sample], problem: str) -> None:
    """Questions are told apart by their IDs."""
    with pytest.raises(InputError, match=problem):
        to_review(given, tmp_path / "a.html")


@pytest.mark.parametrize(("n", "drawn"), [(1, 1), (4, 4), (None, 4)])
def test_what_is_drawn(tmp_path: Path, n: int | None, drawn: int) -> None:
    """The page has the drawn questions, and the count is returned."""
    assert to_review(samples(4), tmp_path / "a.html", n=n) == drawn
    index = decisions((tmp_path / "a.html").read_text("utf-8"))
    assert (index["planned"], len(index["samples"])) == (drawn, drawn)


def test_a_row_pairs_claims_and_quotes() -> None:
    """Each claim has its quote beside it; the shorter list is filled."""
    place = {"text": TEXT[18:45], "source": "doc", "start": 18, "end": 45}
    row = _row(Sample(id="a", reference_claims=["A.", "B."], reference_contexts=[place]), {})
    assert row == {
        "id": "a",
        "question": "",
        "answer": "",
        "kind": "question",
        "claims": ["A.", "B."],
        "quotes": [[["doc", "", TEXT[18:45], ""]], []],
    }
    long = f"{'x' * 500}QUOTE{'y' * 500}"
    place = {"text": "QUOTE", "source": "doc", "start": 500, "end": 505}
    own = Sample(id="a", user_input="q", reference="r", reference_contexts=[place, {"text": "t"}])
    row = _row(own, {"doc": long})
    ((source, before, quote, after),) = row["quotes"][0]
    assert (source, quote, row["quotes"][1]) == ("doc", "QUOTE", [["", "", "t", ""]])
    assert (row["question"], row["answer"], row["claims"]) == ("q", "r", ["", ""])
    assert set(before) == {"x"}
    assert set(after) == {"y"}
    assert len(before) == len(after) < 500


def test_decisions_count_once_and_bad_ones_may_lack_a_reason(tmp_path: Path) -> None:
    """The last decision on a question counts, and a review is finished if all have one."""
    given = samples(3)
    to_review(given, tmp_path / "a.html")
    saved = decisions((tmp_path / "a.html").read_text("utf-8"))
    names = [str(each["id"]) for each in saved.pop("samples")]
    rows = [{"id": name, "decision": "good"} for name in names]
    saved["decisions"] = [*rows, {"id": names[0], "decision": "bad", "reason": None}]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(saved))
    done = apply_review(given, path)
    assert (done.good, done.bad, done.reasons) == (2, 1, {names[0]: ""})
    assert [sample.id for sample in done.samples] == [
        n for n in ("q0", "q1", "q2") if n != names[0]
    ]
    assert done.bound == pytest.approx(2 / 3)
    assert done.passed is False
    saved["decisions"] = rows[:2]
    path.write_text(json.dumps(saved))
    assert (apply_review(given, path).bound, apply_review(given, path).passed) == (None, None)
    saved["decisions"] = [{"id": "other", "decision": "good"}]
    path.write_text(json.dumps(saved))
    with pytest.raises(InputError, match="other: unknown decision 'good': choose one of good, bad"):
        apply_review(given, path)


@pytest.mark.parametrize(
    ("bad", "counts", "outcome"),
    [
        (2, "51 good, 2 bad", "PASS: at least 90.0%"),
        (3, "50 good, 3 bad", "CANNOT TELL: at least 87.5%"),
    ],
)
def test_a_review_in_words(tmp_path: Path, bad: int, counts: str, outcome: str) -> None:
    """The counts, the outcome, the proven share, and the wanted one."""
    assert str(reviewed(tmp_path, samples(200), bad=bad)).splitlines() == [
        f"53 of 53 drawn were reviewed: {counts}",
        f"{outcome} of 200 questions are good (95% confidence; 90% are wanted)",
    ]


@pytest.mark.parametrize(
    ("n", "allowed"), [(1, "0 of them are"), (36, "1 of them is"), (46, "2 of them are")]
)
def test_the_page_says_how_many_may_be_bad(tmp_path: Path, n: int, allowed: str) -> None:
    """The page has the most bad questions at which 90 % are proved good; 0 if none is enough."""
    to_review(samples(100), tmp_path / "a.html", n=n)
    assert f"If at most {allowed} bad" in (tmp_path / "a.html").read_text("utf-8")
