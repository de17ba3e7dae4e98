"""References of each form become the fields that the scorer needs."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage

from fullrecall import ClaimRecall, EntityRecall, IdRecall, SpanRecall, TextRecall
from fullrecall.errors import InputError
from langchain_fullrecall.documents import DocumentReader
from langchain_fullrecall.references import example_fields, reference_fields

READER = DocumentReader()
OWN = Document("text", id="a")
CHAT = [HumanMessage("q"), AIMessage("answer")]


@pytest.mark.parametrize(
    ("reference", "scorer", "fields"),
    [
        (None, IdRecall(), {}),
        ("a", IdRecall(), {"reference_context_ids": "a"}),
        (["a", "b"], IdRecall(), {"reference_context_ids": ["a", "b"]}),
        ([["a", "b"], "c"], IdRecall(), {"reference_context_ids": [["a", "b"], "c"]}),
        ({"a": 1, "b": 0.5}, IdRecall(), {"reference_context_ids": {"a": 1, "b": 0.5}}),
        (OWN, IdRecall(), {"reference_context_ids": "a"}),
        ([OWN], IdRecall(), {"reference_context_ids": ["a"]}),
        (["text"], TextRecall(), {"reference_contexts": ["text"]}),
        (["text"], SpanRecall(), {"reference_contexts": ["text"]}),
        (["Ann"], EntityRecall(), {"reference_entities": ["Ann"]}),
        ("answer", ClaimRecall(), {"reference": "answer"}),
        (["claim"], ClaimRecall(), {"reference_claims": ["claim"]}),
        (CHAT, ClaimRecall(), {"reference": "answer"}),
        (CHAT[:1], ClaimRecall(), {}),
        ({}, ClaimRecall(), {}),
        ({"reference_context_ids": ["a"], "other": 1, "reference": None}, IdRecall(),
         {"reference_context_ids": ["a"]}),
    ],
)  # fmt: skip
def test_a_reference_is_read_for_its_scorer(
    reference: Any, scorer: Any, fields: dict[str, Any]
) -> None:
    """A mapping names its fields; otherwise the scorer decides."""
    assert reference_fields(reference, scorer, READER) == fields


def test_a_reference_that_cannot_be_read() -> None:
    """Unknown keys, a document without an ID, and an example without the output."""
    with pytest.raises(InputError, match="none of the keys 'other'"):
        reference_fields({"other": "x"}, IdRecall(), READER)
    with pytest.raises(InputError, match="has no ID"):
        reference_fields([Document("text")], IdRecall(), READER)
    with pytest.raises(InputError, match="has no output 'ids': it has 'other'"):
        example_fields({"other": 1}, "ids", IdRecall(), READER)
    with pytest.raises(InputError, match="it has none"):
        example_fields({}, "ids", IdRecall(), READER)
    with pytest.raises(InputError, match="name the one with reference_key="):
        example_fields({"one": ["a"], "two": ["b"]}, None, IdRecall(), READER)


@pytest.mark.parametrize(
    ("outputs", "key", "fields"),
    [
        ({"ids": ["a"], "other": 1}, "ids", {"reference_context_ids": ["a"]}),
        ({"ids": ["a"]}, None, {"reference_context_ids": ["a"]}),
        ({"reference_context_ids": ["a"], "note": "x"}, None, {"reference_context_ids": ["a"]}),
        ({}, None, {}),
    ],
)
def test_the_outputs_of_an_example(outputs: Any, key: Any, fields: dict[str, Any]) -> None:
    """A key, the names of fields, or the only output."""
    assert example_fields(outputs, key, IdRecall(), READER) == fields
