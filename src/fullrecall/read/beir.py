"""BEIR's and MTEB's folders: questions, and judgments by split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fullrecall.errors import InputError
from fullrecall.read.containers import kind_of, rows_of_file
from fullrecall.read.text_files import FilePath, existing_file
from fullrecall.read.trec import judgments
from fullrecall.sample import Sample

_ENDINGS = (".jsonl", ".jsonl.gz", ".parquet")
_QRELS = (".tsv", ".tsv.gz", *_ENDINGS)


def is_beir(folder: Path) -> bool:
    """Return whether a folder has questions and judgments as BEIR or MTEB has them."""
    return _existing(folder / "queries", _ENDINGS) is not None and (folder / "qrels").is_dir()


def read_beir(folder: Path, split: str) -> Iterator[Sample]:
    """Yield the questions that a split judges, in the order of the judgments.

    Raises `InputError` for a split that is not there, and for a judged query without a text.
    """
    questions_path = _existing(folder / "queries", _ENDINGS)
    qrels = _existing(folder / "qrels" / split, _QRELS)
    if questions_path is None or qrels is None:
        there = sorted(path.name.partition(".")[0] for path in (folder / "qrels").iterdir())
        raise InputError(f"no judgments of the split {split!r}: choose one of {', '.join(there)}")
    texts = {str(row.get("_id", row.get("id"))): row.get("text") for row in _rows(questions_path)}
    for query, grades in _grades(qrels).items():
        if query not in texts:
            raise InputError(f"the query {query!r} of {qrels.name} is not in {questions_path.name}")
        yield Sample(id=query, user_input=texts[query], reference_context_ids=grades)


def read_qrels(path: FilePath) -> Iterator[Sample]:
    """Yield one sample for each query of TREC's or BEIR's qrels, without its question."""
    for query, grades in judgments(existing_file(path)).items():
        yield Sample(id=query, reference_context_ids=grades)


def _grades(path: Path) -> Mapping[str, Mapping[str, float]]:
    if path.name.endswith((".tsv", ".tsv.gz")):
        return judgments(str(path))
    judged: dict[str, dict[str, float]] = {}
    for row in _rows(path):
        grades = judged.setdefault(str(row["query-id"]), {})
        grades[str(row["corpus-id"])] = float(row.get("score", 1))
    return judged


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    kind = kind_of(path.name) or "jsonl"
    return (row for _, row in rows_of_file(str(path), kind))


def _existing(stem: Path, endings: tuple[str, ...]) -> Path | None:
    paths = (stem.with_name(stem.name + ending) for ending in endings)
    return next((path for path in paths if path.is_file()), None)
