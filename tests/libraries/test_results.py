"""Results that other libraries return are read: an ID, a text, and a score each.

Opt-in: `-m libraries`, with chromadb, qdrant-client, lancedb, faiss-cpu, haystack-ai and dspy.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.errors import InputError
from fullrecall.samples.hits import contexts_of

pytestmark = [pytest.mark.libraries, pytest.mark.filterwarnings("default")]

IDS = ["d0", "d1", "d2"]
TEXTS = ["The tower is high.", "A cat sat.", "The tower is old."]
VECTORS = [[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]]


def chroma(path: Path) -> Any:
    """Return Chroma's columns."""
    import chromadb

    collection = chromadb.PersistentClient(str(path)).create_collection("towers")
    collection.add(ids=IDS, documents=TEXTS, embeddings=VECTORS)  # type: ignore[arg-type]
    return collection.query(query_embeddings=[[1.0, 0.0]], n_results=2)


def qdrant(path: Path) -> Any:
    """Return Qdrant's response, whose IDs are numbers or UUIDs."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(path))
    vectors = models.VectorParams(size=2, distance=models.Distance.COSINE)
    client.create_collection("towers", vectors_config=vectors)
    points = [
        models.PointStruct(id=n, vector=VECTORS[n], payload={"text": TEXTS[n]}) for n in range(3)
    ]
    client.upsert("towers", points)
    found = client.query_points("towers", query=[1.0, 0.0], limit=2)
    client.close()
    return found


def lancedb(path: Path, form: str) -> Any:
    """Return LanceDB's rows, or a frame of them."""
    import lancedb

    rows = [{"id": IDS[n], "text": TEXTS[n], "vector": VECTORS[n]} for n in range(3)]
    table = lancedb.connect(path).create_table("towers", rows)
    return getattr(table.search([1.0, 0.0]).limit(2), form)()


def faiss(_: Path) -> Any:
    """Return FAISS's positions for the one query."""
    import faiss
    import numpy as np

    index = faiss.IndexFlatL2(2)
    index.add(np.array(VECTORS, dtype="float32"))
    _, positions = index.search(np.array([[1.0, 0.0]], dtype="float32"), 2)
    return positions[0].tolist()


def haystack(_: Path) -> Any:
    """Return the output of Haystack's retriever in memory."""
    from haystack import Document
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents([Document(id=IDS[n], content=TEXTS[n]) for n in range(3)])
    return InMemoryBM25Retriever(store, top_k=2).run("tower high")


def dspy(_: Path) -> Any:
    """Return DSPy's prediction of its own retriever."""
    import dspy
    import numpy as np

    def embedded(texts: list[str]) -> Any:
        known = dict(zip([*TEXTS, "tower"], [*VECTORS, [1.0, 0.0]], strict=True))
        return np.array([known[text] for text in texts])

    return dspy.Embeddings(corpus=TEXTS, embedder=embedded, k=2)("tower")


def sqlite(path: Path) -> Any:
    """Return rows of SQLite's full-text search."""
    connection = sqlite3.connect(path / "fts.db")
    connection.row_factory = sqlite3.Row
    connection.execute("create virtual table towers using fts5(id unindexed, text)")
    rows = zip(IDS, TEXTS, strict=True)
    connection.executemany("insert into towers values (?, ?)", rows)
    found = connection.execute(
        "select id, text, -bm25(towers) as score from towers where towers match 'tower' "
        "order by bm25(towers), id"
    ).fetchall()
    connection.close()
    return found


FOUND = [("d0", TEXTS[0]), ("d2", TEXTS[2])]
NUMBERED = [("0", TEXTS[0]), ("2", TEXTS[2])]

LIBRARIES: dict[str, tuple[Callable[[Path], Any], list[tuple[str | None, str | None]], bool]] = {
    "Chroma": (chroma, FOUND, False),
    "Qdrant": (qdrant, NUMBERED, True),
    "LanceDB": (lambda path: lancedb(path, "to_list"), FOUND, False),
    "LanceDB in Arrow": (lambda path: lancedb(path, "to_arrow"), FOUND, False),
    "LanceDB in pandas": (lambda path: lancedb(path, "to_pandas"), FOUND, False),
    "LanceDB in polars": (lambda path: lancedb(path, "to_polars"), FOUND, False),
    "FAISS": (faiss, [("0", None), ("2", None)], False),
    "Haystack": (haystack, FOUND, True),
    "DSPy": (dspy, [(None, TEXTS[0]), (None, TEXTS[2])], False),
    "SQLite": (sqlite, FOUND, True),
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_results(name: str, tmp_path: Path) -> None:
    """IDs and texts are read in order, with scores, and distances are not read as scores."""
    search, expected, scored = LIBRARIES[name]
    result = search(tmp_path)
    found = contexts_of(result)
    assert [(one.id, one.text) for one in found] == expected
    assert all((one.score is not None) == scored for one in found)
    sample = Sample(user_input="tower", reference_context_ids=[expected[0][0] or "none"])
    report = evaluate([sample], IdRecall(), retriever=lambda _: result, progress=False)
    assert report.rows[0].results[0].score == (None if expected[0][0] is None else 1.0)


def test_faiss_found_too_few() -> None:
    """FAISS fills a short list with -1, which is not read as a document."""
    import faiss
    import numpy as np

    index = faiss.IndexFlatL2(2)
    index.add(np.array(VECTORS[:1], dtype="float32"))
    _, positions = index.search(np.array([[1.0, 0.0]], dtype="float32"), 2)
    with pytest.raises(InputError, match="-1 means no result in FAISS"):
        contexts_of(positions[0].tolist())
