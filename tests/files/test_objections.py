"""A guess is refused with a question if values contradict it, or if another column fits too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fullrecall.errors import InputError
from fullrecall.read import from_rows

ASKED = [f"Which lock number {n} opens at low water?" for n in range(6)]
DOCS = ["KN-4", "LB-17", "MD-9", "KN-31", "RT-2", "SA-8"]
TEXTS = [f"Lock {n} opens at low water, one hour before the tide turns." for n in range(6)]
OTHER = [*DOCS[1:], DOCS[0]]
URLS = [f"https://locks.example/{doc}" for doc in DOCS]


def rows_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return six rows: each value of a list in a row of its own, any other in all."""
    return [
        {name: each[n] if isinstance(each, list) else each for name, each in columns.items()}
        for n in range(6)
    ]


def asked(rows: list[dict[str, Any]], **options: Any) -> str:
    """Return the doubts about rows, one on each line; an empty text if the rows are read."""
    try:
        list(from_rows(rows, **options))
    except InputError as error:
        return "\n".join(line for line in error.problem.splitlines() if "=?" in line)
    return ""


def lists(*columns: list[str]) -> list[list[str]]:
    """Return rows that have a list of the values of several columns."""
    return list(map(list, zip(*columns, strict=True)))


Q = {"question": ASKED}
TRAPS: list[tuple[dict[str, Any], str, int]] = [
    # Another column fits too, or is the only one that varies.
    (
        {"instruction": ASKED, "input": TEXTS, "output": "x"},
        "instruction asks, and input does not",
        2,
    ),
    ({"prompt": "Use the rules.", "text": TEXTS, "gold_id": DOCS}, "prompt is the same in all", 4),
    # A letter or number of a choice is not an answer.
    ({**Q, "A": TEXTS, "B": "b", "answer": [*"ABBABA"]}, "answer is the letter or number", 1),
    ({**Q, "choices": lists(DOCS, OTHER), "answer": [0, 1, 1, 0, 1, 0]}, "letter or number", 1),
    # Labels say which documents are relevant.
    (
        {**Q, "doc": DOCS, "verdict": ["relevant", "not relevant"] * 3},
        "verdict may say which of doc are relevant: rows='[verdict=relevant]' keeps the rows",
        2,
    ),
    ({**Q, "doc_id": DOCS, "gold": [True, False] * 3}, "rows='[gold]' keeps the rows of these", 2),
    (
        {**Q, "passages": [[{"id": d, "is_answer": n > 3}] for n, d in enumerate(DOCS)]},
        r"passages[].is_answer may say which of passages[].id are relevant",
        5,
    ),
    ({**Q, "doc_ids": lists(DOCS, OTHER), "labels": [[1, 0]] * 6}, "labels may say which of", 1),
    (
        {**Q, "passages": lists(TEXTS, TEXTS), "scores": [[9.5, 3.25]] * 6},
        "scores may say which",
        1,
    ),
    # The references are of another kind, or of other rows.
    (
        {**Q, "chunks": lists(TEXTS, TEXTS), "gold_index": [[0]] * 6},
        "gold_index may say which of",
        1,
    ),
    (
        {**Q, "bot_answer": "x", "source_files": [["a.md"], ["b.md"]] * 3},
        "sources of bot_answer",
        1,
    ),
    ({"id": DOCS, **Q, "relevant_ids": lists(OTHER)}, "relevant_ids has the IDs of rows", 3),
    ({**Q, "support_agent_id": ["p-1", "p-2"] * 3}, "has only 2 values in 6 rows", 6),
    ({**Q, "sources_shown": lists(URLS, URLS[::-1])}, "has 2 in each row, as a retrieved list", 4),
    (
        {**Q, "worksheet": DOCS, "grade": [*"ABCABC"]},
        "grade may say which documents are relevant",
        2,
    ),
    (
        {
            **Q,
            "references": lists(
                ["at low water", "at high water"] * 3, ["No answer can be told."] * 6
            ),
            "passages": lists(TEXTS),
        },
        "references may be answers, and passages the references",
        1,
    ),
    ({**Q, "options": {"A": "x", "B": "y"}, "answer": [*"ABBABA"]}, "letter or number", 1),
    ({**Q, "answer_source": "manual"}, "answer_source has only 1 values in 6 rows", 6),
    # Two columns fit.
    (
        {**Q, "chunks_used": lists(DOCS, OTHER), "chunks_needed": lists(DOCS)},
        "chunks_used or chunks_needed may be the references",
        2,
    ),
    (
        {**Q, "gold_id": DOCS, "retrieved_dense": lists(OTHER), "retrieved_bm25": lists(DOCS)},
        "retrieved_dense or retrieved_bm25 may be it",
        1,
    ),
]
"""Columns, the doubt about them, and the rows from which there is evidence for it."""


@pytest.mark.parametrize(("columns", "says", "fewest"), TRAPS, ids=[says for _, says, _ in TRAPS])
def test_values_against_a_guess_are_asked_about(
    columns: dict[str, Any], says: str, fewest: int
) -> None:
    """Values that contradict a guess lead to a question; each file was once read wrongly."""
    rows = rows_of(columns)
    evident = [count for count in range(1, len(rows) + 1) if says in asked(rows[:count])]
    assert evident == [*range(fewest, len(rows) + 1)]


def test_a_question_in_several_rows_is_asked_about() -> None:
    """A question in several rows, with one ranked or relevant passage each, leads to a question."""
    rows = [{"query": ASKED[n // 3], "n": n, "passage": TEXTS[n]} for n in range(6)]
    assert "6 rows have 2 questions: with passage, each row would be a sample" in asked(rows)


def test_two_grades_of_a_document_are_asked_about() -> None:
    """If two people's grades of a document differ, the user has to leave one column out."""
    rows = [
        {"query": ASKED[n // 3], "doc_id": DOCS[n], "anna_relevance": 1, "ben_relevance": n % 2}
        for n in range(6)
    ]
    with pytest.raises(InputError, match="anna_relevance and ben_relevance may all be the grade"):
        list(from_rows(rows))
    first, _ = from_rows(rows, rename={"anna_relevance": None})
    assert [each.grade for each in first.reference_context_ids or ()] == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    "columns",
    [
        {**Q, "gold_ids": lists(DOCS), "top10": lists(OTHER)},
        {**Q, "gold_id": ["a-1", "a-2"] * 3},
        {**Q, "expected_doc": DOCS, "verified": [True, False] * 3},
        {**Q, "expected_sources": [["tides.md"]] * 6, "owner": ["Ana", "Bo"] * 3},
        {**Q, "answer": ["yes", "no"] * 3, "evidence_ids": lists(DOCS)},
        {**Q, "answer_doc_ids": lists(DOCS), "similar_question_ids": lists(OTHER)},
        {**Q, "links": [[URLS[0]], *lists(URLS, URLS[::-1])[1:]], "link_1": URLS,
         "link_2": [None, *URLS[-2::-1]]},
        {**Q, "response": "x", "expected_docs": lists(DOCS)},
        {**Q, "sources": [[*URLS[: n % 2 + 1]] for n in range(6)]},
        {"messages": [[{"role": "user", "content": each}] for each in ASKED], "gold_doc": DOCS},
    ],
)  # fmt: skip
def test_a_guess_that_values_support_is_not_asked_about(columns: dict[str, Any]) -> None:
    """A column named gold is preferred to other columns, even if it has few values."""
    assert "reference_context_ids" not in asked(rows_of(columns))


def test_a_given_field_is_not_asked_about() -> None:
    """A field that the user names is not asked about."""
    columns, *_ = TRAPS[-2]
    fields = {"reference_context_ids": "chunks_needed"}
    assert asked(rows_of(columns), fields=fields) == ""
    pages = {"question": "Who?", "gold": ["a"], "expected_ids": [["a.pdf", 3]]}
    assert asked([pages], fields={"reference_context_ids": "gold"}) == ""


def test_the_pages_of_a_record_are_not_the_page_of_its_question() -> None:
    """A document's number of pages is not the page that its question refers to."""
    documents = [
        {"doc_id": doc, "pages": 40, "questions": [{"q": q, "page": n}]}
        for n, (doc, q) in enumerate(zip(DOCS, ASKED, strict=True))
    ]
    for rows in (documents, [{"documents": documents}]):
        (first, *_) = from_rows(rows)
        assert [each.any_of for each in first.reference_context_ids or ()] == [("KN-4#0",)]
