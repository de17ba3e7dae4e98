"""LlamaIndex's two data sets: EmbeddingQA and LabelledRag, each one object of a file or a class.

The classes are not in llama-index-core any more (removed in 0.14.21); the files live on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fullrecall.context import Context
from fullrecall.corpus import origin_of
from fullrecall.errors import InputError
from fullrecall.identifiers import as_id, as_list, shown
from fullrecall.read.export_set import ExportSet
from fullrecall.sample import Sample

_PARTS = ("queries", "corpus", "relevant_docs")


def rows_of_embedding_qa(dataset: object) -> Iterator[tuple[str, object]] | None:
    """Return the rows of an EmbeddingQA; None for anything else.

    It has `queries` ({id: question}), `corpus` ({id: text}) and `relevant_docs` ({query id:
    [ids]}). A query without relevant documents has empty lists: its recall is undefined. The IDs
    are those of nodes, or of documents where it was generated from these.
    """
    parts = [_part(dataset, name) for name in _PARTS]
    return _queries(*parts) if all(part is not None for part in parts) else None


def rows_of_labelled_rag(dataset: object) -> Iterator[tuple[str, object]] | None:
    """Return the rows of a LabelledRag; None for anything else.

    It has `examples`, each with `query`, `reference_contexts` and `reference_answer`, and no IDs:
    recall is by text or by claims.
    """
    examples = _part(dataset, "examples")
    if not isinstance(examples, list):
        return None
    return ((f"example {number}", row) for number, row in enumerate(examples, start=1))


def _part(dataset: object, name: str) -> Any:
    return dataset.get(name) if isinstance(dataset, Mapping) else getattr(dataset, name, None)


def _queries(queries: object, corpus: object, relevant: object) -> Iterator[tuple[str, object]]:
    parts = zip(_PARTS, (queries, corpus, relevant), strict=True)
    questions, texts, relevant_ids = (_mapping(name, part) for name, part in parts)
    texts = {str(key): text for key, text in texts.items()}
    for query, question in questions.items():
        label = f"query {query!r}"
        try:
            contexts = _relevant_contexts(relevant_ids.get(query), texts)
        except InputError as error:
            raise InputError(f"{label}: {error.problem}", field=error.field) from None
        yield (
            label,
            {
                "id": query,
                "user_input": question,
                "reference_context_ids": [context.id for context in contexts],
                "reference_contexts": contexts,
            },
        )


def _mapping(name: str, part: object) -> Mapping[Any, Any]:
    if not isinstance(part, Mapping):
        problem = f"{name}: expected a mapping, got {type(part).__name__} {shown(part)}"
        raise InputError(problem, field=name)
    return part


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
            problem = f"expected a text for {document!r}, got {type(text).__name__} {shown(text)}"
            raise InputError(problem, field="corpus")
        contexts.append(Context(text, id=document))
    return contexts


def embedding_qa(samples: ExportSet, _: object) -> Any:
    """Return a set as an EmbeddingQA; raise `InputError` where a reference has no text."""
    corpus = dict(samples.texts)
    corpus |= {document: samples.text(document, name) for name, document, _ in samples.judged()}
    return {
        "queries": {name: sample.user_input for name, sample in samples.numbered()},
        "corpus": corpus,
        "relevant_docs": {name: list(samples.ids(sample)) for name, sample in samples.numbered()},
        "mode": "text",
    }


def labelled_rag(samples: ExportSet, rows: list[dict[str, Any]]) -> Any:
    """Return a set as a LabelledRag."""
    for row, sample in zip(rows, samples.samples, strict=True):
        row["reference_answer"] = row["reference_answer"] or ""
        row |= {"query_by": _writer(sample), "reference_answer_by": _writer(sample)}
    return {"examples": rows}


def _writer(sample: Sample) -> dict[str, str]:
    model = origin_of(sample).get("model")
    return {"model_name": str(model) if model else "", "type": "ai"}
