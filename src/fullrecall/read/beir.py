"""BEIR's and MTEB's folders: questions, and judgments, of one split or several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fullrecall.errors import InputError
from fullrecall.identifiers import shown
from fullrecall.read.containers import kind_of, rows_of_file
from fullrecall.read.trec import judge, judgments
from fullrecall.sample import Sample

_ENDINGS = (".jsonl", ".jsonl.gz", ".parquet")
_TABLES = (".tsv", ".tsv.gz")


def is_beir(folder: Path) -> bool:
    """Return whether a folder has questions and judgments as BEIR or MTEB has them."""
    return (folder / "qrels").is_dir() and _existing(folder / "queries", _ENDINGS) is not None


def read_beir(folder: Path, split: str) -> Iterator[Sample]:
    """Yield the questions that a split judges, in the order of the judgments.

    Raises `InputError` for a split that is not there, and for a judged query without a text.
    """
    questions = _existing(folder / "queries", _ENDINGS)
    qrels = _existing(folder / "qrels" / split, (*_TABLES, *_ENDINGS))
    if questions is None or qrels is None:
        there = sorted(path.name.partition(".")[0] for path in (folder / "qrels").iterdir())
        raise InputError(f"no judgments of the split {split!r}: choose one of {', '.join(there)}")
    texts = {str(row.get("_id", row.get("id"))): row.get("text") for row in _rows(questions)}
    for query, grades in _grades(qrels).items():
        if query not in texts:
            raise InputError(f"the query {query!r} of {qrels.name} is not in {questions.name}")
        yield Sample(id=query, user_input=texts[query], reference_context_ids=grades)


def _grades(path: Path) -> Mapping[str, Mapping[str, float]]:
    if path.name.endswith(_TABLES):
        return judgments(str(path))
    judged: dict[str, dict[str, float]] = {}
    for row in _rows(path):
        try:
            query, document = str(row["query-id"]), str(row["corpus-id"])
            grade = float(row.get("score", 1))
        except (KeyError, TypeError, ValueError):
            problem = f"expected query-id, corpus-id and score, got {shown(dict(row))}"
            raise InputError(problem, path=str(path)) from None
        judge(judged.setdefault(query, {}), query, document, grade)
    return judged


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    kind = kind_of(path.name) or "jsonl"
    return (row for _, row in rows_of_file(str(path), kind))


def _existing(stem: Path, endings: tuple[str, ...]) -> Path | None:
    paths = (stem.with_name(stem.name + ending) for ending in endings)
    return next((path for path in paths if path.is_file()), None)
