"""Reports of every scorer, and edits of their files: of each leaf, list, and mapping."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.containment_judge import ContainmentJudge

from fullrecall import (
    ClaimRecall,
    ContextPrecision,
    EntityRecall,
    IdRecall,
    QuestionRecall,
    Report,
    SpanRecall,
    TextRecall,
    evaluate,
)
from fullrecall.judge import Panel
from fullrecall.scorers import Scorer

JUDGE = ContainmentJudge()

SCORERS: dict[str, Scorer] = {
    "ids": IdRecall(),
    "texts": TextRecall(),
    "spans": SpanRecall(min_run=4),
    "entities": EntityRecall(),
    "claims": ClaimRecall(judge=JUDGE, partial_credit=0.5),
    "claims with evidence": ClaimRecall(judge=JUDGE, require_evidence=True, min_measured=0.5),
    "a panel": ClaimRecall(judge=Panel([JUDGE, ContainmentJudge(), ContainmentJudge()])),
    "questions": QuestionRecall(judge=JUDGE),
    "judged precision": ContextPrecision(judge=JUDGE),
}

FIRST = "The Eiffel Tower is in Paris, France, and opened in 1889."
SECOND = "Mount Everest is 8849 metres high. Tenzing Norgay stood there in 1953."
THIRD = "Rivers run to the sea, and the longest of them is the Nile in Africa."

SAMPLES: list[dict[str, Any]] = [
    {
        "id": "q1",
        "user_input": "Where is the Eiffel Tower?",
        "retrieved_contexts": [{"id": f"d{n}", "text": text} for n, text in enumerate(texts, 1)],
        "reference_context_ids": references,
        "reference_contexts": [FIRST, "No context has any of these words."],
        "reference_claims": claims,
        "reference_entities": ["Eiffel Tower", "1889", "Oslo"],
        "reference": "The Eiffel Tower is in Paris, France.",
        "response": "The Eiffel Tower is in Paris, France",
    }
    for texts, references, claims in (
        ([SECOND, FIRST, THIRD], ["d2", "d9"], ["The Eiffel Tower is in Paris, France", "No."]),
        ([FIRST, SECOND], {"d1": 2, "d2": 1}, [{"text": "1953", "importance": "okay"}, "Mars"]),
        ([THIRD], [["d1", "d7"], ["d8"]], ["the longest of them is the Nile in Africa"]),
        ([], ["d1"], ["Anything"]),
        ([SECOND], [], []),
    )
] + [{"id": "q9", "user_input": "Nothing was observed?", "reference_context_ids": ["d1"]}]


def report(name: str) -> Report:
    """Return the report of a scorer on samples that find, miss, and have no score."""
    samples = [{**sample, "id": f"q{row}"} for row, sample in enumerate(SAMPLES)]
    return evaluate(samples, SCORERS[name], progress=False)


class Edit(NamedTuple):
    """One edit of a plain value: its kind, its path, and the function that makes it."""

    kind: str
    path: tuple[str | int, ...]
    apply: Callable[[Any], Any]


def edited(plain: Any, edit: Edit) -> Any:
    """Return a copy of a value with one edit in it."""
    whole = {"": copy.deepcopy(plain)}
    holder: Any = whole
    *above, last = ("", *edit.path)
    for key in above:
        holder = holder[key]
    value = edit.apply(holder[last])
    if value is GONE:
        del holder[last]
    else:
        holder[last] = value
    return whole[""]


GONE = object()


def edits(plain: Any, path: tuple[str | int, ...] = ()) -> Iterator[Edit]:
    """Yield edits of a value and of all values in it."""
    name = ".".join("*" if isinstance(key, int) else key for key in path)
    for kind, apply in _of_value(plain):
        if (path or kind != "taken out") and apply(plain) != plain:
            yield Edit(f"{name}: {kind}", path, apply)
    if isinstance(plain, (dict, list)):
        for key, value in plain.items() if isinstance(plain, dict) else enumerate(plain):
            yield from edits(value, (*path, key))


def _of_value(value: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    if not isinstance(value, dict):
        yield "taken out", lambda _: GONE
    yield "a list in its place", lambda _: [[]]
    yield "a mapping in its place", lambda _: {"a": 1}
    yield "null in its place", lambda _: None
    if isinstance(value, bool):
        yield "turned", lambda old: not old
    elif isinstance(value, (int, float)):
        yield "raised", lambda old: old + 1
        yield "halved", lambda old: old / 2
        yield "zero", lambda _: 0
    elif isinstance(value, str):
        yield "another text", lambda old: f"{old} or so"
        yield "of another kind", lambda _: "supported"
    elif isinstance(value, list):
        yield "emptied", lambda _: []
        yield "its last taken out", lambda old: old[:-1]
        yield "its last twice", lambda old: old + old[-1:]
        yield "turned around", lambda old: old[::-1]
    elif isinstance(value, dict):
        yield "a field more", lambda old: {**old, "bonus": 1}
