"""LlamaIndex's data sets, as files and as objects, in front of its retrievers.

The classes left llama-index-core at 0.14.21. Where they are still there, the objects are real and
the files are written by them; elsewhere the same fields stand in a plain object.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.bridge.pydantic import BaseModel

from fullrecall import IdRecall, SpanRecall, TextRecall, evaluate
from fullrecall.errors import InputError
from fullrecall.read import from_rows, read
from llama_index.evaluation.fullrecall import observed

PLACE = "The Eiffel Tower stands in Paris."
BANANA = "Bananas hold much potassium."

EMBEDDING_QA: dict[str, Any] = {
    "queries": {
        "q1": "Where in Paris does the Eiffel Tower stand?",
        "q2": "What do bananas hold?",
        "q3": "Nothing is relevant to this.",
    },
    "corpus": {"place": PLACE, "rome": "Rome is the capital of Italy.", "banana": BANANA},
    "relevant_docs": {"q1": ["place", "rome"], "q2": ["banana"], "q3": []},
    "mode": "text",
}
LABELLED_RAG: dict[str, Any] = {
    "examples": [
        {
            "query": "Where in Paris does the Eiffel Tower stand?",
            "query_by": {"model_name": "gpt-x", "type": "ai"},
            "reference_contexts": [PLACE, "Rome is the capital of Italy."],
            "reference_answer": "In Paris.",
            "reference_answer_by": {"model_name": "", "type": "human"},
        },
        {
            "query": "What do bananas hold?",
            "query_by": None,
            "reference_contexts": [BANANA],
            "reference_answer": "Potassium.",
            "reference_answer_by": None,
        },
    ]
}


class Example(BaseModel):
    """The fields of LlamaIndex's `LabelledRagDataExample`, a pydantic model as well."""

    query: str
    query_by: Any
    reference_contexts: list[str]
    reference_answer: str
    reference_answer_by: Any


def framework_class(*names: str) -> Any:
    """Return LlamaIndex's own class from the first module that has it, None since 0.14.21."""
    for name in names:
        module, _, own = name.rpartition(".")
        try:
            return getattr(importlib.import_module(module), own)
        except (ImportError, AttributeError):
            continue
    return None


def embedding_qa(path: Path) -> Any:
    """Write the file, as the class does where there is one, and return the object."""
    kind = framework_class(
        "llama_index.core.llama_dataset.legacy.embedding.EmbeddingQAFinetuneDataset",
        "llama_index.core.evaluation.EmbeddingQAFinetuneDataset",
    )
    if kind is None:
        path.write_text(json.dumps(EMBEDDING_QA), encoding="utf-8")
        return SimpleNamespace(**EMBEDDING_QA)
    dataset = kind(**EMBEDDING_QA)
    dataset.save_json(str(path))
    return dataset


def labelled_rag(path: Path) -> Any:
    """Write the file, as the class does where there is one, and return the object."""
    package = "llama_index.core.llama_dataset"
    kind = framework_class(f"{package}.LabelledRagDataset")
    if kind is None:
        path.write_text(json.dumps(LABELLED_RAG), encoding="utf-8")
        return SimpleNamespace(examples=[Example(**row) for row in LABELLED_RAG["examples"]])
    example = framework_class(f"{package}.LabelledRagDataExample")
    dataset = kind(examples=[example(**row) for row in LABELLED_RAG["examples"]])
    dataset.save_json(str(path))
    return dataset


def test_an_embedding_qa_set_is_scored_by_id_and_by_text(
    index: VectorStoreIndex, tmp_path: Path
) -> None:
    """It has IDs, and its corpus has their texts: object and file give the same samples."""
    path = tmp_path / "qa.json"
    dataset = embedding_qa(path)
    samples = list(from_rows(dataset))
    assert samples == list(read(path)) == list(read(path))
    assert [sample.id for sample in samples] == ["q1", "q2", "q3"]
    report = evaluate(
        samples,
        [IdRecall(), TextRecall(threshold=0.9)],
        retriever=observed(index.as_retriever(similarity_top_k=2)),
        progress=False,
    )
    scores = [[result.score for result in row.results] for row in report]
    assert scores == [[0.5, 0.5], [1.0, 1.0], [None, None]]
    assert report.summary()["id_recall"].undefined == 1


def test_a_labelled_rag_set_is_scored_by_text(index: VectorStoreIndex, tmp_path: Path) -> None:
    """It has no IDs: recall over it is by text or span, and who wrote what is kept."""
    path = tmp_path / "rag.json"
    dataset = labelled_rag(path)
    samples = list(from_rows(dataset))
    from_file = list(read(path))
    assert [sample.reference for sample in samples] == ["In Paris.", "Potassium."]
    assert [s.reference_contexts for s in samples] == [s.reference_contexts for s in from_file]
    assert [s.user_input for s in samples] == [s.user_input for s in read(path)]
    assert all(sample.reference_context_ids is None for sample in samples)
    assert "query_by" in samples[0].metadata
    report = evaluate(
        samples,
        [SpanRecall(), TextRecall(threshold=0.9), IdRecall()],
        retriever=observed(index.as_retriever(similarity_top_k=2)),
        progress=False,
    )
    assert [[result.score for result in row.results] for row in report] == [
        [0.5, 0.5, None],
        [1.0, 1.0, None],
    ]
    assert report.rows[0].results[2].reason == "reference_context_ids is missing"


def test_what_is_no_such_set_is_refused() -> None:
    """An object of another kind is an error that shows it."""
    with pytest.raises(InputError, match=r"expected an iterable of rows, got .*queries={}"):
        list(from_rows(SimpleNamespace(queries={})))
