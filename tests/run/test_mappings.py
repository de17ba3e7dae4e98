"""In mappings, the scorers decide whether a column has IDs or answers."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import ClaimRecall, IdRecall, evaluate
from fullrecall.errors import InputError

QUESTIONS: list[dict[str, Any]] = [
    {"question": "how do I set up the client?", "expected": ["vpn"]},
    {"question": "lost phone", "expected": ["mfa"]},
]


@pytest.mark.parametrize("wrap", [list, iter])
def test_a_column_that_may_hold_ids_does_where_ids_are_scored(wrap: Any) -> None:
    """A column that may hold IDs is read as IDs if all scorers compare IDs."""
    report = evaluate(wrap(QUESTIONS), IdRecall(), retriever=lambda _: ["vpn"], progress=False)
    assert [row.results[0].score for row in report] == [1.0, 0.0]


@pytest.mark.rooms
def test_other_scorers_leave_it_open() -> None:
    """Other scorers leave the column ambiguous, and sentences are never IDs."""
    with pytest.raises(InputError, match="expected may hold IDs"):
        evaluate(QUESTIONS, [IdRecall(), ClaimRecall()], progress=False)
    texts = [{"question": "where?", "expected": ["in the old town"]}]
    assert evaluate(texts, IdRecall(), progress=False).summary()["id_recall"].unscored == 1


def test_every_key_of_every_mapping_is_read() -> None:
    """A mapping may have more keys than the first one, and two names of a field conflict."""
    rows = [{"retrieved_ids": ["a"], "expected_ids": ["a"]} for _ in range(2)]
    report = evaluate([rows[0], {**rows[1], "id": "q"}], IdRecall(), progress=False)
    assert [row.sample.id for row in report] == [None, "q"]
    both = [{**row, "reference_context_ids": ["b"]} for row in rows]
    with pytest.raises(InputError, match="reference_context_ids"):
        evaluate(both, IdRecall(), progress=False)
