"""The review page returns decisions, and the result says how much they prove."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from fullrecall import Sample
from fullrecall.errors import InputError, ParameterError
from fullrecall.testset import apply_review, lower_bound, reviews_needed, to_review

TEXT = "Before the quote. The mill was built in 1502. After the quote, more stands here."


def samples(count: int) -> list[Sample]:
    """Return questions with a claim and a quote each."""
    start = TEXT.index("The mill")
    return [
        Sample(
            id=f"q{n}",
            user_input=f"Question {n}?",
            reference=f"Answer {n}",
            reference_claims=[f"Claim {n}."],
            reference_contexts=[
                {
                    "text": "The mill was built in 1502.",
                    "source": "doc",
                    "start": start,
                    "end": start + 27,
                }
            ],
            metadata={"testset": {"kind": "one_fact"}},
        )
        for n in range(count)
    ]


def decisions(page: str) -> dict[str, Any]:
    """Return the file that the page would save without a decision."""
    index = json.loads(page.split('id="index">', 1)[1].split("</script>", 1)[0])
    return {
        "kind": "fullrecall review",
        "set": index["set"],
        "planned": index["planned"],
        "decisions": [],
        "samples": index["samples"],
    }


def reviewed(tmp_path: Path, given: list[Sample], *, bad: int = 0, n: int | None = None) -> Any:
    """Return a review of the page in which the first `bad` questions are bad."""
    to_review(given, tmp_path / "review.html", n=n)
    plain = decisions((tmp_path / "review.html").read_text("utf-8"))
    plain["decisions"] = [
        {"id": one["id"], "decision": "bad" if at < bad else "good", "reason": "unclear"}
        for at, one in enumerate(plain.pop("samples"))
    ]
    (tmp_path / "review.json").write_text(json.dumps(plain))
    return apply_review(given, tmp_path / "review.json")


def test_the_numbers_are_those_of_the_hypergeometric_distribution() -> None:
    """A review needs at most the whole set; large sets have Clopper and Pearson's numbers."""
    assert [reviews_needed(100, bad) for bad in range(4)] == [23, 36, 46, 56]
    assert [reviews_needed(200, bad) for bad in range(4)] == [26, 40, 53, 65]
    assert [reviews_needed(100_000, bad) for bad in range(4)] == [29, 46, 61, 76]
    assert reviews_needed(20, 2) <= 20
    assert lower_bound(20, 1, 20) == 0.95
    assert lower_bound(0, 0, 20) == 0.0
    assert lower_bound(61, 2, 100_000) == pytest.approx(0.9000, abs=0.001)


@pytest.mark.long
@pytest.mark.parametrize("total", [100_000, 100, 200])
def test_a_review_passes_a_set_that_is_not_good_in_few_cases(total: int) -> None:
    """A set with just under 90 % good samples passes in about 5 % of simulated reviews at most."""
    draw = random.Random(1)
    bad_in_all = total // 10 + 1
    n = reviews_needed(total, 2)
    passed = 0
    for _ in range(4_000):
        bad = sum(at < bad_in_all for at in draw.sample(range(total), n))
        passed += lower_bound(n, bad, total) >= 0.9
    assert passed / 4_000 <= 0.055


def test_the_page_shows_quotes_where_they_stand(tmp_path: Path) -> None:
    """Each quote is shown with the text around it; without documents, alone."""
    given = samples(5)
    assert to_review(given, tmp_path / "a.html", documents={"doc": TEXT}) == 5
    shown = decisions((tmp_path / "a.html").read_text("utf-8"))["samples"][0]
    ((place,),) = shown["quotes"]
    assert place == [
        "doc",
        "Before the quote. ",
        "The mill was built in 1502.",
        " After the quote, more stands here.",
    ]
    to_review(given, tmp_path / "b.html")
    shown = decisions((tmp_path / "b.html").read_text("utf-8"))["samples"][0]
    assert shown["quotes"] == [[["doc", "", "The mill was built in 1502.", ""]]]


def test_a_review_passes_a_good_set(tmp_path: Path) -> None:
    """Two bad of 53 pass for a set of 200, three do not; bad samples are removed."""
    given = samples(200)
    done = reviewed(tmp_path, given, bad=2)
    assert (done.planned, done.good, done.bad, done.passed) == (53, 51, 2, True)
    assert len(done.samples) == 198
    assert set(done.reasons.values()) == {"unclear"}
    assert "PASS: at least 90" in str(done)
    done = reviewed(tmp_path, given, bad=3)
    assert done.passed is False
    assert "CANNOT TELL: at least 8" in str(done)


def test_a_part_of_a_review_proves_nothing(tmp_path: Path) -> None:
    """A review that stops early proves nothing, because the reviewer chose the samples."""
    given = samples(100)
    to_review(given, tmp_path / "review.html")
    plain = decisions((tmp_path / "review.html").read_text("utf-8"))
    plain["decisions"] = [{"id": one["id"], "decision": "good"} for one in plain["samples"][:29]]
    (tmp_path / "review.json").write_text(json.dumps(plain))
    done = apply_review(given, tmp_path / "review.json")
    assert (done.bound, done.passed) == (None, None)
    assert "proves nothing" in str(done)


def test_a_review_of_another_set_is_refused(tmp_path: Path) -> None:
    """Reviews of another set, other files, unknown decisions, and missing files are errors."""
    given = samples(4)
    reviewed(tmp_path, given)
    saved = tmp_path / "review.json"
    with pytest.raises(InputError, match="another set of questions"):
        apply_review(samples(5), saved)
    saved.write_text(saved.read_text().replace('"good"', '"fine"'))
    with pytest.raises(InputError, match="unknown decision 'fine': choose one of good, bad"):
        apply_review(given, saved)
    saved.write_text("[]")
    with pytest.raises(InputError, match="not what the review page saved"):
        apply_review(given, saved)
    with pytest.raises(InputError, match="no such file"):
        apply_review(given, tmp_path / "none.json")
    with pytest.raises(InputError, match="needs a unique ID"):
        to_review([Sample(user_input="q")], tmp_path / "a.html")
    with pytest.raises(ParameterError, match="n must be from 1 to 4, got 5"):
        to_review(given, tmp_path / "a.html", n=5)
    with pytest.raises(ParameterError, match="must end in"):
        to_review(given, tmp_path / "a.pdf")


def hostile(payloads: tuple[str, ...], count: int = 3) -> list[Sample]:
    """Return questions whose every field holds every payload."""
    evil = " ".join(payloads)
    return [
        Sample(
            id=f"{evil} {n}",
            user_input=evil,
            reference=evil,
            reference_claims=[evil],
            reference_contexts=[{"text": evil, "source": evil, "start": 0, "end": len(evil)}],
            metadata={"testset": {"kind": evil}},
        )
        for n in range(count)
    ]


def test_hostile_texts_are_data_in_the_page(tmp_path: Path, payloads: tuple[str, ...]) -> None:
    """No payload ends the block of data or reaches the markup; one script runs, by its hash."""
    path = tmp_path / "evil.html"
    to_review(hostile(payloads), path, title=" ".join(payloads))
    page = path.read_text("utf-8")
    assert page.count("<script>") == 1
    assert "<img" not in page
    assert "<iframe" not in page
    assert "default-src &#39;none&#39;" in page
    assert "window.hit" in page  # The payload is present as text.
