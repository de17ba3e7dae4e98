"""LlamaIndex's two data set formats: their JSON files and, duck-typed, their objects.

Neither class is in llama-index-core any more (removed in 0.14.21); the files live on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fullrecall.context import Context
from fullrecall.errors import InputError
from fullrecall.identifiers import as_id, as_list, shown
from fullrecall.read.rows import Columns, sample_of
from fullrecall.sample import Sample

EMBEDDING_QA_KEYS = ("queries", "corpus", "relevant_docs")
LABELLED_RAG_KEY = "examples"


def from_embedding_qa(dataset: object) -> Iterator[Sample]:
    """Return one sample per query of an `EmbeddingQAFinetuneDataset`, or of a dict like it.

    `dataset` has `queries` ({id: question}), `corpus` ({id: text}) and `relevant_docs`
    ({query id: [ids]}). A query without relevant documents gives empty lists: its recall is
    undefined. Raises `InputError` for a relevant ID that is not in the corpus.

    The IDs are compared with those of the retrieved nodes. A set that was generated from whole
    documents holds document IDs, not node IDs.
    """
    queries, corpus, relevant = (_mapping(dataset, name) for name in EMBEDDING_QA_KEYS)
    texts = {str(key): text for key, text in corpus.items()}
    for query, question in queries.items():
        try:
            contexts = _relevant_contexts(relevant.get(query), texts)
            sample = Sample(
                id=query,
                user_input=question,
                reference_context_ids=[str(context.id) for context in contexts],
                reference_contexts=contexts,
            )
        except InputError as error:
            problem = f"query {query!r}: {error.problem}"
            raise InputError(problem, field=error.field) from None
        yield sample


def from_labelled_rag(dataset: object) -> Iterator[Sample]:
    """Return one sample per example of a `LabelledRagDataset`, or of a dict like it.

    An example has `query`, `reference_contexts` and `reference_answer`, and no IDs: recall over
    it is by text or by claims. Who wrote the query and the answer goes into the metadata.
    """
    examples, columns = _list(dataset, LABELLED_RAG_KEY), Columns(None)
    for number, example in enumerate(examples, start=1):
        try:
            sample = sample_of(example, columns)
        except InputError as error:
            problem = f"example {number}: {error.problem}"
            raise InputError(problem, field=error.field) from None
        yield sample


def _relevant_contexts(relevant: object, texts: Mapping[str, object]) -> list[Context]:
    try:
        ids = [as_id(item) for item in as_list(() if relevant is None else relevant, ordered=False)]
    except ValueError as error:
        raise InputError(f"relevant_docs: {error}", field="relevant_docs") from None
    contexts = []
    for document in ids:
        if document not in texts:
            raise InputError(
                f"relevant_docs names {document!r}, which is not in the corpus of {len(texts)} "
                "documents: add it there, or remove it here",
                field="relevant_docs",
            )
        text = texts[document]
        if not isinstance(text, str):
            raise InputError(
                f"expected a text for {document!r}, got {type(text).__name__} {shown(text)}",
                field="corpus",
            )
        contexts.append(Context(text, id=document))
    return contexts


def _mapping(dataset: object, name: str) -> Mapping[Any, Any]:
    value = _part(dataset, name)
    if not isinstance(value, Mapping):
        raise InputError(
            f"{name}: expected a mapping, got {type(value).__name__} {shown(value)}", field=name
        )
    return value


def _list(dataset: object, name: str) -> list[object]:
    try:
        return as_list(_part(dataset, name), ordered=False)
    except ValueError as error:
        raise InputError(f"{name}: {error}", field=name) from None


def _part(dataset: object, name: str) -> object:
    if isinstance(dataset, Mapping):
        if name in dataset:
            return dataset[name]
        has = f"the keys {', '.join(map(repr, list(dataset)[:8])) or 'none'}"
    else:
        if hasattr(dataset, name):
            return getattr(dataset, name)
        has = f"{type(dataset).__name__} {shown(dataset)}"
    raise InputError(f"{name!r} is missing from LlamaIndex's format, got {has}", field=name)
