"""Data sets that are one object, in a file or in memory: LlamaIndex's two, and SQuAD's file.

LlamaIndex's classes are not in llama-index-core any more (removed in 0.14.21); the files live on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from fullrecall.context import Context
from fullrecall.errors import InputError
from fullrecall.identifiers import as_id, as_list, shown

LabeledRows: TypeAlias = Iterator[tuple[str, object]]
"""Rows, each with what names it in an error."""

EMBEDDING_QA_KEYS = ("queries", "corpus", "relevant_docs")
LABELLED_RAG_KEY = "examples"


def rows_in(dataset: object) -> LabeledRows | None:
    """Return the rows of a data set that is one object; None for anything else.

    - EmbeddingQA: `queries` ({id: question}), `corpus` ({id: text}), `relevant_docs` ({query id:
      [ids]}). A query without relevant documents has empty lists: its recall is undefined. The
      IDs are those of nodes, or of documents where it was generated from these.
    - LabelledRag: `examples`, each with `query`, `reference_contexts` and `reference_answer`, and
      no IDs: recall is by text or by claims.
    - SQuAD: `data`, articles with paragraphs with questions.
    """
    parts = [_part(dataset, name) for name in EMBEDDING_QA_KEYS]
    if all(part is not None for part in parts):
        return _queries(*parts)
    examples = _part(dataset, LABELLED_RAG_KEY)
    if isinstance(examples, list):
        return ((f"example {number}", row) for number, row in enumerate(examples, start=1))
    articles = dataset.get("data") if isinstance(dataset, Mapping) else None
    return _squad_questions(articles) if isinstance(articles, list) else None


def _part(dataset: object, name: str) -> Any:
    return dataset.get(name) if isinstance(dataset, Mapping) else getattr(dataset, name, None)


def _queries(queries: object, corpus: object, relevant: object) -> LabeledRows:
    parts = zip(EMBEDDING_QA_KEYS, (queries, corpus, relevant), strict=True)
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


def _squad_questions(articles: list[Any]) -> LabeledRows:
    """Yield the questions of SQuAD's file, each with its paragraph."""
    for article in articles:
        for paragraph in article.get("paragraphs", ()) if isinstance(article, dict) else ():
            for question in paragraph.get("qas", ()):
                of_it = {"context": paragraph.get("context"), "title": article.get("title")}
                yield f"question {question.get('id')!r}", {**question, **of_it}
