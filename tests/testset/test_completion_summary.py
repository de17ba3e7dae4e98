"""The summary of a completion, in full: verdicts, completeness, additions, the judge's finds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fullrecall import Context, Sample
from fullrecall.testset.completion import CompletedSet
from fullrecall.testset.pool import Pool

RELEVANT = {"y": True, "n": False, "?": None, "-": None}
AMONG = "contexts among their first 5 that nobody had labeled"
WITHIN = "among each retriever's first 5"


def completed(
    verdicts: str, labels: str = "", second: str = "", error: float = 0.0
) -> CompletedSet:
    """Return the completion of one new context for each question.

    The judge's verdicts are yes, no, none (?), or the context has no text (-); people's labels are
    relevant (+), not relevant (-), or missing (.).
    """
    samples = [
        Sample(id=f"s{n}", user_input=f"q{n}", reference_context_ids=["known"])
        for n in range(len(verdicts))
    ]
    found = [
        sample.with_retrieval(
            [
                Context("known text", id="known"),
                Context(None if verdict == "-" else f"text {n} of words w{n}", id=f"x{n}"),
            ]
        )
        for n, (sample, verdict) in enumerate(zip(samples, verdicts, strict=True))
    ]
    pool = Pool.of(samples, [found], 5)
    pairs = [
        [
            pair
            if pair.named
            else replace(pair, relevant=RELEVANT[verdict], problem="late" if verdict == "?" else "")
            for pair in listed
        ]
        for listed, verdict in zip(pool.pairs, verdicts, strict=True)
    ]
    done = CompletedSet(samples, replace(pool, pairs=pairs), 5, ["r"])
    if not labels:
        return done
    first, other = (
        {
            pair.item: "relevant" if mark == "+" else "not_relevant"
            for pair, mark in zip(done.judged, marks, strict=False)
            if mark != "."
        }
        for marks in (labels, second)
    )
    return done.with_labels(first, second=other, error=error)


def unknown(why: str, needed: int) -> str:
    """Return the line on a completeness that is not known."""
    return f"  completeness: not known: {why}; about {needed} labels make the interval 0.2 wide"


CASES: dict[str, tuple[CompletedSet, list[str], list[int]]] = {
    "no labels": (
        completed("yynn?-"),
        [
            f"6 questions, 1 retrievers: 6 {AMONG}: 2 yes, 2 no, 1 no verdict, 1 no text",
            "  1 contexts without a verdict: late",
            unknown("no pair is labeled", 5),
            "  nothing is added without labels",
        ],
        [],
    ),
    "all labeled": (
        completed("yynn?-", "+-+-+"),
        [
            f"6 questions, 1 retrievers: 6 {AMONG}: 2 yes, 2 no, 1 no verdict, 1 no text",
            "  1 contexts without a verdict: late",
            f"  references 67% complete [67%, 67%] {WITHIN} with a text, by 5 labels",
            "  3 added, 3 of them confirmed by people",
            "  50% [50%, 50%] of the judge's finds are right: only confirmed ones are added",
        ],
        [0, 2, 4],
    ),
    "a judge that is right": (
        completed("yyyyynnn", "+++++---"),
        [
            f"8 questions, 1 retrievers: 8 {AMONG}: 5 yes, 3 no",
            f"  references 62% complete [62%, 62%] {WITHIN}, by 8 labels",
            "  5 added, 5 of them confirmed by people",
            "  100% [100%, 100%] of the judge's finds are right",
        ],
        [0, 1, 2, 3, 4],
    ),
    "a second label is missing": (
        completed("yyyyynnn", "++++-+--", error=0.05),
        [
            f"8 questions, 1 retrievers: 8 {AMONG}: 5 yes, 3 no",
            f"  references 62% complete [57%, 73%] {WITHIN}, by 8 labels",
            "  5 added, 5 of them confirmed by people",
            "  1 need a second label: to_label(second=True), or --to-confirm, draws them",
            "  80% [60%, 100%] of the judge's finds are right",
        ],
        [0, 1, 2, 3, 5],
    ),
    "a second label agrees": (
        completed("yyyyynnn", "++++-+--", ".....+", 0.05),
        [
            f"8 questions, 1 retrievers: 8 {AMONG}: 5 yes, 3 no",
            f"  references 62% complete [57%, 73%] {WITHIN}, by 8 labels",
            "  5 added, 5 of them confirmed by people",
            "  80% [60%, 100%] of the judge's finds are right",
        ],
        [0, 1, 2, 3, 5],
    ),
    "a second label differs": (
        completed("yyyyynnn", "++++-+--", ".....-", 0.05),
        [
            f"8 questions, 1 retrievers: 8 {AMONG}: 5 yes, 3 no",
            f"  references 67% complete [62%, 73%] {WITHIN}, by 8 labels",
            "  4 added, 4 of them confirmed by people",
            "  80% [60%, 100%] of the judge's finds are right",
        ],
        [0, 1, 2, 3],
    ),
    "no verdict no is labeled": (
        completed("yyyyynnn", "+++++..."),
        [
            f"8 questions, 1 retrievers: 8 {AMONG}: 5 yes, 3 no",
            unknown("no pair with the verdict 'no' is labeled: use to_label or --to-label", 8),
            "  5 added, 5 of them confirmed by people",
        ],
        [0, 1, 2, 3, 4],
    ),
    "no verdict yes is labeled": (
        completed("yyyyynnn", ".....---"),
        [
            f"8 questions, 1 retrievers: 8 {AMONG}: 5 yes, 3 no",
            unknown("no pair with the verdict 'yes' is labeled: use to_label or --to-label", 8),
            "  0 added, 0 of them confirmed by people",
        ],
        [],
    ),
    "a judge that is trusted with the rest": (
        completed("yyyyyyyyyynn", "++++++....--"),
        [
            f"12 questions, 1 retrievers: 12 {AMONG}: 10 yes, 2 no",
            f"  references 55% complete [55%, 67%] {WITHIN}, by 8 labels",
            "  10 added, 6 of them confirmed by people",
            "  100% [60%, 100%] of the judge's finds are right",
        ],
        [*range(10)],
    ),
    "a judge that is just right enough": (
        completed("yyyyyyyyyynn", "++++++-...--"),
        [
            f"12 questions, 1 retrievers: 12 {AMONG}: 10 yes, 2 no",
            f"  references 60% complete [57%, 67%] {WITHIN}, by 9 labels",
            "  9 added, 6 of them confirmed by people",
            "  80% [60%, 90%] of the judge's finds are right",
        ],
        [0, 1, 2, 3, 4, 5, 7, 8, 9],
    ),
    "a judge that is not": (
        completed("yyyyyyyyyynn", "+++++-....--"),
        [
            f"12 questions, 1 retrievers: 12 {AMONG}: 10 yes, 2 no",
            f"  references 63% complete [57%, 71%] {WITHIN}, by 8 labels",
            "  5 added, 5 of them confirmed by people",
            "  70% [50%, 90%] of the judge's finds are right: only confirmed ones are added",
        ],
        [0, 1, 2, 3, 4],
    ),
    "no texts": (
        completed("--"),
        [
            f"2 questions, 1 retrievers: 2 {AMONG}: 2 no text",
            unknown("no context has a text that could be judged", 0),
            "  nothing is added without labels",
        ],
        [],
    ),
    "nothing": (
        completed(""),
        [
            f"0 questions, 1 retrievers: 0 {AMONG}",
            unknown("no retriever returned anything", 0),
            "  nothing is added without labels",
        ],
        [],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_summary_and_what_is_added(case: str) -> None:
    """People's labels decide; the judge is trusted with the rest if its finds are right."""
    done, lines, added = CASES[case]
    assert str(done).splitlines() == lines
    assert [pair.context.id for pair in done.accepted] == [f"x{n}" for n in added]
    for n, sample in enumerate(done.samples):
        names = [each.any_of for each in sample.reference_context_ids or ()]
        assert names == [("known",), *([(f"x{n}",)] if n in added else [])]
