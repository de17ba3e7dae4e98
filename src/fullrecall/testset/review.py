"""Let people review a random sample of a test set, to bound its share of good questions."""

from __future__ import annotations

import json
import random
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import Any, ClassVar

from fullrecall._util.parameters import check_k
from fullrecall._util.truth import NoTruth
from fullrecall.errors import InputError, ParameterError
from fullrecall.files.documents import Documents, DocumentsLike, documents_of
from fullrecall.files.strict_json import parsed
from fullrecall.files.text_files import existing_file, whole_text
from fullrecall.run.evaluate import as_samples
from fullrecall.samples.context import Context
from fullrecall.samples.corpus import origin_of
from fullrecall.samples.sample import Sample, SampleLike
from fullrecall.show.output import written
from fullrecall.testset.completeness import hypergeometric_cdf
from fullrecall.testset.content import texts_named

_AROUND = 200
DECISIONS = ("good", "bad")
GOOD = 0.9
CONFIDENCE = 0.95
ALLOWED = 2
"""The most bad questions with which a review of the default size passes."""


def to_review(
    samples: Iterable[SampleLike],
    path: str | Path,
    *,
    n: int | None = None,
    documents: DocumentsLike | Documents | None = None,
    seed: int = 0,
    title: str = "Review of a test set",
) -> int:
    """Draw questions for people to review, write them to `path`, and return their number.

    The file is an `.html` page: open it in a browser, and save the decisions there. `n` is fixed
    before the review. The default is large enough to prove that 90 % of all questions are good,
    even if two of the drawn ones are bad. With `documents`, each quote is shown in its source.
    Raises `ParameterError` for another ending or an `n` out of range, and `InputError` without
    samples, or for samples without unique IDs.
    """
    identified = _identified(samples)
    n = reviews_needed(len(identified)) if n is None else n
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= len(identified):
        raise ParameterError(f"must be from 1 to {len(identified)}, got {n!r}", "n")
    if Path(path).suffix != ".html":
        raise ParameterError(f"must end in .html, got {Path(path).name!r}", "path")
    drawn = random.Random(f"{seed}:review").sample(identified, n)  # noqa: S311 - a sample, no secret
    texts = texts_named(drawn, () if documents is None else documents_of(documents))
    rows = [_row(sample, texts) for sample in drawn]
    page = _page(rows, _digest(identified), total=len(identified), title=title)
    written(page, path)
    return n


@dataclass(frozen=True)
class Review(NoTruth):
    """People's decisions, and the share of good questions that they prove.

    `samples` is the set without the bad questions; `reasons` are the reasons why these are bad.
    `bound` is the lower bound of the share of good questions in the original set, with 95 %
    confidence; None unless all drawn questions were reviewed.
    """

    read: ClassVar[str] = ".passed"

    samples: Sequence[Sample]
    total: int
    planned: int
    good: int
    bad: int
    reasons: Mapping[str, str]
    bound: float | None

    @property
    def passed(self) -> bool | None:
        """Whether the review proves that 90 % of the questions are good; None if unfinished."""
        return None if self.bound is None else self.bound >= GOOD

    def __str__(self) -> str:
        reviewed = self.good + self.bad
        summary = f"{reviewed:,} of {self.planned:,} drawn were reviewed: {self.good:,} good, "
        summary += f"{self.bad:,} bad"
        if self.bound is None:
            return f"{summary}\nReview all that were drawn: a part of them proves nothing"
        outcome = "PASS" if self.passed else "CANNOT TELL"
        return (
            f"{summary}\n{outcome}: at least {self.bound:.1%} of {self.total:,} questions are good "
            f"(95% confidence; {GOOD:.0%} are wanted)"
        )


def apply_review(samples: Iterable[SampleLike], path: str | Path) -> Review:
    """Return the review: the samples without bad questions, and a bound of the share of good ones.

    `path` is the file that the page saved. Raises `InputError` for any other file, for the file of
    another set, and for a decision that is neither good nor bad.
    """
    identified = _identified(samples)
    planned, decisions = _read(Path(path), identified)
    bad = [d for d in decisions.values() if d["decision"] == "bad"]
    reasons = {str(decision["id"]): str(decision.get("reason") or "") for decision in bad}
    kept = [sample for sample in identified if str(sample.id) not in reasons]
    # Give no bound before all drawn questions are reviewed. A review that stops as soon as the
    # result looks good would pass a set with 90 % good questions with probability 0.11, not 0.05.
    is_finished = len(decisions) >= planned
    bound = lower_bound(len(decisions), len(bad), len(identified)) if is_finished else None
    good = len(decisions) - len(bad)
    return Review(kept, len(identified), planned, good, len(bad), reasons, bound)


def _identified(samples: Iterable[SampleLike]) -> list[Sample]:
    identified = list(as_samples(samples))
    if not identified:
        raise InputError("no samples to review")
    names = [sample.id for sample in identified]
    if None in names or len(set(names)) < len(names):
        raise InputError("each sample needs a unique ID to be reviewed", field="id")
    return identified


def _digest(samples: Sequence[Sample]) -> str:
    text = json.dumps([[s.id, s.user_input, s.reference] for s in samples])
    return sha256(text.encode("utf-8")).hexdigest()[:16]


def _row(sample: Sample, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return a sample as plain values for the page, with quotes beside their claims."""
    origin = origin_of(sample)
    groups = sample.reference_contexts or ()
    claims = [claim.text for claim in sample.reference_claims or ()]
    quotes = [[_shown(context, texts) for context in group] for group in groups]
    return {
        "id": sample.id,
        "question": sample.user_input or "",
        "answer": sample.reference or "",
        "kind": str(origin.get("kind", "question")),
        "claims": claims + [""] * (len(quotes) - len(claims)),
        "quotes": quotes + [[]] * (len(claims) - len(quotes)),
    }


def _shown(context: Context, texts: Mapping[str, str]) -> list[str]:
    """Return a quote with its source, and with the text before and after it."""
    text = texts.get(context.source or "")
    if text is None or context.start is None or context.end is None:
        return [context.source or context.id or "", "", context.label, ""]
    start, end = context.start, context.end
    return [
        context.source or "",
        text[max(0, start - _AROUND) : start],
        text[start:end],
        text[end : end + _AROUND],
    ]


def _page(rows: Sequence[Mapping[str, Any]], digest: str, *, total: int, title: str) -> str:
    """Return the page: one file that needs no server and makes no requests."""
    from fullrecall.page import document

    html, script, style = (
        (files("fullrecall.testset") / "page" / f"review.{kind}").read_text(encoding="utf-8")
        for kind in ("html", "js", "css")
    )
    possible = range(ceil(len(rows) * (1 - GOOD)) + 1)
    allowed = [bad for bad in possible if lower_bound(len(rows), bad, total) >= GOOD]
    index = {"set": digest, "planned": len(rows), "samples": list(rows)}
    return document(
        html,
        script,
        style,
        [("index", index)],
        title=title,
        planned=len(rows),
        total=total,
        allowed=max(allowed, default=0),
    )


def _read(path: Path, samples: Sequence[Sample]) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the number of drawn questions, and the decisions on them by their IDs."""
    text = whole_text(existing_file(path))
    try:
        values: Any = parsed(text)
        kind, rows = values["kind"], [dict(row) for row in values["decisions"]]
        digest, planned = str(values["set"]), int(values["planned"])
    except (ValueError, KeyError, TypeError):
        kind, digest, planned, rows = "", "", 0, []
    if kind != "fullrecall review":
        raise InputError("is not what the review page saved", path=str(path))
    if digest != _digest(samples):
        raise InputError("holds decisions about another set of questions", path=str(path))
    ids = {str(sample.id) for sample in samples}
    for row in rows:
        if row.get("decision") not in DECISIONS or str(row.get("id")) not in ids:
            raise InputError(
                f"{row.get('id')}: unknown decision {row.get('decision')!r}: choose one of "
                f"{', '.join(DECISIONS)}",
                path=str(path),
            )
    return planned, {str(row["id"]): row for row in rows}


def reviews_needed(total: int, allowed: int = ALLOWED) -> int:
    """Return how many of `total` questions to review to prove that at least 90 % are good.

    If at most `allowed` of the reviewed ones are bad, at least 90 % of all are good with 95 %
    confidence, by the hypergeometric distribution. Returns `total` if no smaller number is enough.
    Fix the number before the review; a review that continues until it passes does not have this
    confidence.

    Raises `ParameterError` for arguments out of range.
    """
    check_k(total, "total")
    check_k(allowed, "allowed", least=0)
    enough = (n for n in range(allowed + 1, total) if lower_bound(n, allowed, total) >= GOOD)
    return next(enough, total)


def lower_bound(reviewed: int, bad: int, total: int) -> float:
    """Return the lower bound, with 95 % confidence, of the share of good questions, in [0, 1].

    `reviewed` questions were drawn at random from a set of `total`, and `bad` of them are bad.
    Without a reviewed question, the bound is 0.
    """
    if reviewed < 1 or bad >= reviewed:
        return 0.0
    # Find the largest number of bad questions in the set for which the probability of at most `bad`
    # in the review is above 1 - CONFIDENCE.
    numbers = range(bad, total - (reviewed - bad) + 1)
    rare = bisect_left(
        numbers,
        x=True,
        key=lambda bad_in_all: (
            hypergeometric_cdf(bad, reviewed, bad_in_all, total) <= 1 - CONFIDENCE
        ),
    )
    return 1 - numbers[max(0, rare - 1)] / total
