"""BEIR's folders: questions, and the judgments of several splits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fullrecall.errors import InputError
from fullrecall.files.containers import json_lines
from fullrecall.files.trec import judgments
from fullrecall.samples.sample import Sample


def is_beir(folder: Path) -> bool:
    """Return whether a folder has the questions and judgments of BEIR."""
    return (folder / "qrels").is_dir() and bool([*folder.glob("queries.jsonl*")])


def read_beir(folder: Path, split: str) -> Iterator[Sample]:
    """Yield one sample for each query that a split judges, in the order of the judgments.

    Raises `InputError` for a missing split, and for a judged query without a text.
    """
    questions = next(folder.glob("queries.jsonl*"))  # The file may be compressed.
    qrels = next((folder / "qrels").glob(f"{split}.tsv*"), None)
    if qrels is None:
        splits = sorted(path.name.partition(".")[0] for path in (folder / "qrels").iterdir())
        raise InputError(f"no judgments of the split {split!r}: choose one of {', '.join(splits)}")
    texts = {str(row.get("_id")): row.get("text") for _, row in json_lines(str(questions))}
    for query, grades in judgments(str(qrels)).items():
        if query not in texts:
            raise InputError(f"the query {query!r} of {qrels.name} is not in {questions.name}")
        yield Sample(id=query, user_input=texts[query], reference_context_ids=grades)
