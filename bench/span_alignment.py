"""Compare `SpanRecall` by aligned text with `SpanRecall` by offsets, over several chunkers.

Needs a folder with documents' chunks and questions with character spans, in the form of Chroma's
chunking evaluation (`corpus.jsonl` with `title`, `start`, `end`, `text`, contiguous; and
`queries.jsonl` with `doc` and `reference_excerpts` of `start`, `end`). Offsets are the truth; the
texts alone are aligned. Most places found beyond the truth are repeated text.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

from fullrecall import Context, SpanRecall

CHUNKERS = ((100, 0), (200, 0), (200, 100), (400, 0), (800, 100), (1500, 0))
"""Characters in a chunk, and characters shared with the next."""


def main() -> None:
    """Print a row for each chunker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--retrieved", type=int, default=10)
    parser.add_argument("--min-run", type=int, default=SpanRecall().min_run)
    options = parser.parse_args()
    documents = documents_of(options.data)
    lines = (options.data / "queries.jsonl").read_text("utf-8").splitlines()
    questions = random.Random(0).sample([json.loads(line) for line in lines], options.questions)
    print("| chunk | shared | mean difference | found beyond | not found | equal |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for size, shared in CHUNKERS:
        pairs = list(scores(documents, questions, size, shared, options))
        beyond = fmean(max(0.0, text - truth) for text, truth in pairs)
        lost = fmean(max(0.0, truth - text) for text, truth in pairs)
        equal = fmean(abs(text - truth) < 1e-9 for text, truth in pairs)
        row = (f"{beyond + lost:.4f}", f"{beyond:.4f}", f"{lost:.4f}", f"{equal:.3f}")
        print(f"| {size} | {shared} | {' | '.join(row)} |")


def documents_of(folder: Path) -> dict[str, str]:
    """Return the documents, joined from their contiguous chunks."""
    parts: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines():
        chunk = json.loads(line)
        parts[chunk["title"]].append(chunk)
    return {
        title: "".join(chunk["text"] for chunk in sorted(chunks, key=lambda c: c["start"]))
        for title, chunks in parts.items()
    }


def scores(
    documents: dict[str, str],
    questions: list[dict[str, Any]],
    size: int,
    shared: int,
    options: argparse.Namespace,
) -> Any:
    """Yield each question's score by aligned text and by offsets."""
    import bm25s

    chunks = [chunk for title in documents for chunk in chunked(title, documents, size, shared)]
    index = bm25s.BM25()
    texts = [chunk.text for chunk in chunks]
    index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    asked = bm25s.tokenize([question["text"] for question in questions], show_progress=False)
    found, _ = index.retrieve(asked, k=options.retrieved, show_progress=False)
    for question, positions in zip(questions, found, strict=True):
        retrieved = [chunks[position] for position in positions]
        title = question["doc"]
        references = [
            Context(
                documents[title][span["start"] : span["end"]],
                source=title, start=span["start"], end=span["end"],
            )
            for span in question["reference_excerpts"]
        ]  # fmt: skip
        by_text = SpanRecall(min_run=options.min_run).score(
            retrieved_contexts=[context.text for context in retrieved],
            reference_contexts=[context.text for context in references],
        )
        by_place = SpanRecall().score(retrieved_contexts=retrieved, reference_contexts=references)
        yield by_text.score, by_place.score


def chunked(title: str, documents: dict[str, str], size: int, shared: int) -> list[Context]:
    """Return a document in chunks that end between words, stripped of white space."""
    text = documents[title]
    chunks = []
    start = 0
    while start < len(text):
        end = min(len(text), start + size)
        if end < len(text) and (space := text.rfind(" ", start, end)) > start:
            end = space
        piece = text[start:end]
        first = start + len(piece) - len(piece.lstrip())
        if piece.strip():
            last = first + len(piece.strip())
            chunks.append(Context(text[first:last], source=title, start=first, end=last))
        start = max(start + 1, end - shared)
    return chunks


if __name__ == "__main__":
    main()
