"""The bounds of the guess: rows on both sides of each, with the whole plan of either."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall.errors import InputError
from fullrecall.files.guess import guessed
from fullrecall.files.plans import Given, named_plan

Q = {"question": "Who is it?"}
GOLD = {"gold_id": "d-1"}
RULE = {"prompt": "Use the rules."}
IDS = ("KN-4", "LB-17", "MD-9", "KN-31", "RT-2")
ASKED = tuple(f"Which lock {n} opens?" for n in range(5))
TOLD = tuple(f"Lock {n} opens at low water, one hour before the tide." for n in range(4))
SAID = ("Say who.", "Tell me.", "Say it.", "Look.", "Go on.")


def plan_for(columns: dict[str, Any], **given: Any) -> list[str]:
    """Return the plan of columns as lines: the fields, then each doubt with its paths.

    A tuple has a value for each row; any other value is in all rows.
    """
    count = max([len(each) for each in columns.values() if isinstance(each, tuple)] or [1])
    rows = [
        {name: each[n] if isinstance(each, tuple) else each for name, each in columns.items()}
        for n in range(count)
    ]
    plan = guessed(rows, Given(**given), None)
    fields = ", ".join(f"{name}={path}" for name, path in plan.fields.items())
    doubts = [f"{each.field}=?: {each.why}: {', '.join(each.paths)}" for each in plan.doubts]
    return [fields, *doubts]


BOUNDS: list[tuple[dict[str, Any], list[str]]] = [
    # The expected answer, by its name or the name of its object.
    ({**Q, "gold_response": "Ann and Bo"}, ["user_input=question, reference=gold_response"]),
    ({**Q, "final_answer": "Ann and Bo"}, ["user_input=question, reference=final_answer"]),
    ({**Q, "solution": {"value": "Ann and Bo"}},
     ["user_input=question, reference=solution.value"]),
    ({**Q, "note": {"value": "Ann and Bo"}}, ["user_input=question"]),
    # The question: by its name, by the name of its object, or because it asks in all rows.
    ({**GOLD, "theme": ("Who?", "Why?")}, ["user_input=theme, reference_context_ids=gold_id"]),
    ({**GOLD, "theme": "Who?"},
     ["reference_context_ids=gold_id",
      "user_input=?: no column has the name of a question: theme"]),
    ({"query": (1, 2), "query_text": "Who is it?"}, ["user_input=query_text"]),
    ({"query": (1, 2)}, ["user_input=query"]),
    ({**GOLD, "inputs": {"text": "Who is it?", "lang": "in English"}},
     ["user_input=inputs.text, reference_context_ids=gold_id"]),
    ({**GOLD, "inputs": {"text": "Who is it?", "content": "in English"}},
     ["user_input=inputs.text, reference=inputs.content, reference_context_ids=gold_id"]),
    ({**GOLD, "prompt": "Who is it?", "utterance": "Tell me who."},
     ["user_input=prompt, reference_context_ids=gold_id"]),
    ({**GOLD, "prompt": 7, "request": 8}, ["user_input=request, reference_context_ids=gold_id"]),
    ({"east": "Who?", "west": "Why?", "south": "When?", "north": "How?"},
     ["", "user_input=?: no column has the name of a question: east, west, south",
      "reference_context_ids=?: no column has the name of references: "]),
    # Flags that say whether a question has an answer, and IDs of samples.
    ({**Q, "unanswerable": (0, 1)}, ["user_input=question, answerable=!unanswerable"]),
    ({**Q, "unanswerable": (0, 0)}, ["user_input=question, answerable=!unanswerable"]),
    ({**Q, "unanswerable": (1, 2)},
     ["user_input=question", "answerable=?: unanswerable may be mistyped: unanswerable"]),
    ({**Q, "q_id": ("a", None)}, ["user_input=question, id=q_id"]),
    ({**Q, "q_id": (None, 3)}, ["user_input=question, id=q_id"]),
    ({**Q, "q_id": 1.5}, ["user_input=question"]),
    # A question that is the same in four rows, beside texts of which most differ.
    ({**RULE, "text": (TOLD[0], *TOLD[:3])},
     ["", "user_input=?: prompt is the same in all rows, text is not: "]),
    ({**RULE, "text": (*TOLD[:2], *TOLD[:2])}, ["user_input=prompt"]),
    ({**RULE, "text": TOLD[:3]}, ["user_input=prompt"]),
    # A fifth of the prompts ask, or four fifths of the texts.
    ({"gold_doc": IDS, "prompt": ("Who?", *SAID[1:]), "text": ASKED},
     ["user_input=prompt, reference_context_ids=gold_doc"]),
    ({"gold_doc": IDS, "prompt": SAID, "text": (*ASKED[:4], "No")},
     ["user_input=prompt, reference_context_ids=gold_doc"]),
    ({"gold_doc": IDS, "prompt": SAID, "text": ASKED},
     ["reference_context_ids=gold_doc",
      "user_input=?: text asks, and prompt does not: text, prompt"]),
    # A list of numbers beside the references, without a 0 or of another meaning.
    ({**Q, "gold_ids": ["a-1", "b-2"], "labels": [1, 2]},
     ["user_input=question, reference_context_ids=gold_ids"]),
    ({**Q, "gold_ids": ["a-1", "b-2"], "start": [0, 5]},
     ["user_input=question, reference_context_ids=gold_ids"]),
    ({**Q, "gold_ids": ["a-1"], "marks": [0]},
     ["user_input=question, reference_context_ids=gold_ids"]),
    ({**Q, "gold_ids": ["a-1", "b-2"], "marks": [0, 5]},
     ["user_input=question",
      "reference_context_ids=?: marks may say which of gold_ids are relevant: "]),
    # A question in more than a fifth of the rows again.
    ({"question": (*ASKED[:4], ASKED[0]), "gold_id": IDS},
     ["user_input=question, reference_context_ids=gold_id"]),
    ({"question": (*ASKED[:3], ASKED[0]), "gold_id": IDS[:4]},
     ["user_input=question",
      ("reference_context_ids=?: 4 rows have 3 questions: with gold_id, each row would be a "
       "sample: ")]),
    # Two IDs in four rows may be a category.
    ({"question": ASKED[:4], "support_agent_id": ("p-1", "p-2") * 2},
     ["user_input=question",
      ("reference_context_ids=?: support_agent_id has only 2 values in 4 rows: the references, or "
       "a category: ")]),
    ({"question": ASKED[:3], "support_agent_id": ("p-1",) * 3},
     ["user_input=question, reference_context_ids=support_agent_id"]),
    # IDs of which more than half, and more than one, are those of the rows.
    ({"question": ASKED[:4], "id": IDS[:4], "relevant_ids": (*IDS[1:3], "x-1", "x-2")},
     ["user_input=question, id=id, reference_context_ids=relevant_ids"]),
    ({"question": ASKED[:4], "id": IDS[:4], "relevant_ids": (*IDS[1:4], "x-1")},
     ["user_input=question, id=id",
      "reference_context_ids=?: relevant_ids has the IDs of rows, which id has: "]),
    ({**Q, "id": IDS[0], "relevant_ids": IDS[0]},
     ["user_input=question, id=id, reference_context_ids=relevant_ids"]),
    # A page and its document, beside an answer whose sources they may be.
    ({**Q, "doc": "a.pdf", "page": 3},
     ["user_input=question, reference_context_ids={doc}#{page[]}"]),
    ({**Q, "doc": "a.pdf", "page": 3, "response": "x"},
     ["user_input=question, response=response",
      ("reference_context_ids=?: {doc}#{page[]} may be the sources of response, or those that it "
       "should have: {doc}#{page[]}")]),
    # The points of an answer are claims, whatever the other references are.
    ({**Q, "expected_ids": ["a"], "answer_points": ["Ann", "at noon"]},
     ["user_input=question, reference_context_ids=expected_ids, reference_claims=answer_points"]),
    ({**Q, "expected_ids": ["a"], "reference_contexts": [TOLD[0]], "answer_points": ["Ann", "Bo"]},
     [("user_input=question, reference_context_ids=expected_ids, "
       "reference_contexts=reference_contexts, reference_claims=answer_points")]),
    # IDs of another column: at least half of them are the same, or two continue one series.
    ({"question": ASKED[:2], "chunk_ids": (["KN-4", "LB-17"], ["MD-9"]),
      "alpha": (["KN-4", "X-1"], ["MD-9", "X-2"])},
     ["user_input=question",
      "reference_context_ids=?: chunk_ids or alpha may be the references: chunk_ids, alpha"]),
    ({"question": ASKED[:2], "chunk_ids": (["doc_1", "doc_2"], ["doc_3"]), "alpha": "doc_9"},
     ["user_input=question, reference_context_ids=chunk_ids"]),
    # Other reasons are added to a doubt.
    ({"question": ASKED[:4], "source": ("crm", "wiki", "faq", "mail"),
      "verdict": ("relevant", "not relevant") * 2},
     ["user_input=question",
      ("reference_context_ids=?: source may be the references, or a remark; verdict may say which "
       "of source are relevant: rows='[verdict=relevant]' keeps the rows of these: ")]),
    ({"question": ASKED[:2] * 2, "source": ("crm", "wiki", "faq", "mail")},
     ["user_input=question",
      ("reference_context_ids=?: source may be the references, or a remark; 4 rows have 2 "
       "questions: with source, each row would be a sample: ")]),
    # Metadata are not used beside a doubt about the same field.
    ({**Q, "expected_sentiment": "positive", "metadata": {"source": "tides.md"}},
     ["user_input=question",
      ("reference_context_ids=?: expected_sentiment may hold IDs, texts (reference_contexts), or "
       "answers (reference): ")]),
    ({**Q, "context": TOLD[0], "article": "covid-19"},
     ["user_input=question",
      ("reference_contexts=?: context may be what was retrieved, or what should be: context")]),
    ({**Q, "metadata": {"answer": 7}}, ["user_input=question"]),
    ({**Q, "expected": "doc-2", "gold_docs": "x_1"},
     ["user_input=question, reference_context_ids=gold_docs"]),
    ({**Q, "answer_doc": "yes"}, ["user_input=question, reference=answer_doc"]),
    ({**Q, "page": 3, "passage": "covid-19", "relevant": "a.pdf"},
     ["user_input=question, reference_context_ids={relevant}#{page[]}"]),
    # The last part of a name with dots is the name.
    ({"data.user_input": "Who?", "data.response": "x", "data.retrieved_contexts": ["t"]},
     [('user_input="data.user_input", response="data.response", '
       'retrieved_contexts="data.retrieved_contexts"')]),
    # Beside a generated and an expected answer, a context is a retrieved one.
    ({"response": "Ann", "reference": "Ann and Bo", "context": TOLD[0]},
     ["response=response, reference=reference, retrieved_contexts=context[]"]),
    # Claims have at most 40 words.
    ({**Q, "steps": ["word " * 39 + "end."]},
     ["user_input=question",
      ("reference_claims=?: steps may hold claims (reference_claims) or texts "
       "(reference_contexts): steps")]),
    # A span has its own ID, not that of its source.
    ({**Q, "evidence": [{"id": "a", "source": "web", "text": TOLD[0], "start": 1, "end": 5}]},
     [("user_input=question, "
       "reference_contexts=evidence[].{text: text, source: id, start: start, end: end}")]),
    # An object for each row, with a flag, as in a list of objects.
    ({"question": ASKED, "doc": tuple({"id": id_, "is_answer": id_ == "RT-2"} for id_ in IDS)},
     ["user_input=question",
      "reference_context_ids=?: doc.is_answer may say which of doc[].id are relevant: "]),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "lines"), BOUNDS, ids=[" ".join(each) for each, _ in BOUNDS])
def test_the_plan_on_each_side_of_a_bound(columns: dict[str, Any], lines: list[str]) -> None:
    """A name, a value, or one row more or less decides between two plans."""
    assert plan_for(columns) == lines


@pytest.mark.parametrize(
    ("columns", "sought", "found"),
    [
        ({"gold": "ann"}, "gold", "gold"),
        ({"gold": "ann", "expected": "bo"}, None, None),
        ({"gold": "Ann and Bo"}, None, None),
    ],
)
def test_the_only_column_that_may_hold_the_sought_field_is_used(
    columns: dict[str, Any], sought: str | None, found: str | None
) -> None:
    """A scorer's field is read from the only unclear column, if its values look like IDs."""
    doubtful = plan_for({**Q, **columns})
    lines = plan_for({**Q, **columns}, sought="reference_context_ids")
    assert ("reference_context_ids=?" in " ".join(doubtful)) == ("ann" in columns.values())
    assert (f"reference_context_ids={sought}" in lines[0]) == (found is not None)


@pytest.mark.parametrize(
    ("depth", "path"), [(1, "expected.a.gold_ids"), (2, "expected.a.a.gold_ids"), (3, None)]
)
def test_objects_are_opened_three_levels_deep(depth: int, path: str | None) -> None:
    """References are proposed from objects within objects, down to the third level."""
    value: Any = {"gold_ids": ["d-1"]}
    for _ in range(depth):
        value = {"a": value}
    _, doubt = plan_for({**Q, "expected": value})
    assert (path in doubt) if path else ("gold_ids" not in doubt)


def test_a_given_answer_leaves_the_reference_ids_to_the_guess() -> None:
    """Reference IDs are guessed beside a given answer, but not beside given reference texts."""
    columns = {**Q, "truth": "Ann and Bo", "gold_ids": ["d-1"]}
    assert plan_for(columns, fields={"reference": "truth"}) == [
        "reference=truth, user_input=question, reference_context_ids=gold_ids"
    ]
    assert plan_for(columns, fields={"reference_contexts": "truth"}) == [
        "reference_contexts=truth, user_input=question"
    ]


def test_a_column_that_is_left_out_is_no_reference() -> None:
    """No field is guessed from a column that the user leaves out."""
    lines = plan_for({**Q, **GOLD}, left_out=frozenset(["gold_id"]))
    assert lines == ["user_input=question"]


def test_columns_named_like_fields_need_no_guess() -> None:
    """A plan by names alone has each field once, without the columns that are not fields."""
    given = Given(fields={"reference": "note"})
    plan = named_plan(["question", "note", "answer_expected"], given)
    assert (plan.fields, plan.left_out) == (
        {"reference": "note", "user_input": "question"},
        ["answer_expected"],
    )
    with pytest.raises(InputError) as raised:
        named_plan(["question", "query"], Given())
    assert raised.value.problem == "two columns mean 'user_input': leave one out"
    with pytest.raises(InputError, match="note"):
        named_plan(["question"], given)
    left_out = Given(left_out=frozenset(["query"]))
    assert named_plan(["question", "query"], left_out).fields == {"user_input": "question"}
