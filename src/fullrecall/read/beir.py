"""BEIR's and MTEB's folders: questions, and judgments, of one split or several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    has_judgments = (folder / "qrels").is_dir() or _existing(folder / "qrels", _QRELS) is not None
    return has_judgments and _existing(folder / "queries", _ENDINGS) is not None


def read_beir(folder: Path, split: str) -> Iterator[Sample]:
    """Yield the questions that a split judges, in the order of the judgments.

    A folder with one file of judgments has no splits. Raises `InputError` for a split that is not
    there, and for a judged query without a text.
    """
    questions_path = _existing(folder / "queries", _ENDINGS)
    has_splits = (folder / "qrels").is_dir()
    qrels = _existing(folder / "qrels" / split if has_splits else folder / "qrels", _QRELS)
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
    yield from _judged(judgments(existing_file(path)))


def is_judgment(row: Mapping[Any, Any]) -> bool:
    """Return whether a row judges a document for a query, as BEIR and MTEB write it."""
    return {"query-id", "corpus-id"} <= row.keys()


def samples_of_judgments(rows: Iterable[tuple[int, Mapping[str, Any]]]) -> Iterator[Sample]:
    """Yield one sample for each query of numbered rows, without its question."""
    yield from _judged(_grades_of(row for _, row in rows))


def _judged(grades: Mapping[str, Mapping[str, float]]) -> Iterator[Sample]:
    for query, own in grades.items():
        yield Sample(id=query, reference_context_ids=own)


def _grades(path: Path) -> Mapping[str, Mapping[str, float]]:
    is_table = path.name.endswith((".tsv", ".tsv.gz"))
    return judgments(str(path)) if is_table else _grades_of(_rows(path))


def _grades_of(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, Mapping[str, float]]:
    judged: dict[str, dict[str, float]] = {}
    for row in rows:
        grades = judged.setdefault(str(row["query-id"]), {})
        grades[str(row["corpus-id"])] = float(row.get("score", 1))
    return judged


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    kind = kind_of(path.name) or "jsonl"
    return (row for _, row in rows_of_file(str(path), kind))


def _existing(stem: Path, endings: tuple[str, ...]) -> Path | None:
    paths = (stem.with_name(stem.name + ending) for ending in endings)
    return next((path for path in paths if path.is_file()), None)
