"""Read relevance judgments (qrels) and results (runs): dicts, or the files of TREC and BEIR."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from itertools import groupby
from math import isfinite, isnan, nan
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias, get_args

from fullrecall._util.parameters import check_choice
from fullrecall._util.values import shown
from fullrecall.errors import InputError
from fullrecall.files.containers import json_lines
from fullrecall.files.rows import in_file
from fullrecall.files.text_files import (
    FilePath,
    as_text,
    byte_lines,
    existing_file,
    plain_text,
    text_lines,
)
from fullrecall.samples.context import as_number
from fullrecall.samples.identifiers import as_id
from fullrecall.samples.retrieval import Retrieval
from fullrecall.samples.sample import Sample
from fullrecall.table.part import TIED

Ties = Literal["trec", "order"]

ScoredDocuments: TypeAlias = list[tuple[float, str]]
"""The documents of a run for one query, as (score, ID)."""

_BEIR_HEADER = ["query-id", "corpus-id", "score"]
_QRELS = ("query", "iteration", "document", "grade")
_BEIR = ("query", "document", "grade")
_RUN = ("query", "Q0", "document", "rank", "score", "tag")


def read_trec(qrels: FilePath, run: FilePath, *, ties: Ties = "trec") -> Iterator[Sample]:
    """Return one sample per query, in the order in which `qrels` first names them.

    - `qrels`: lines of `query iteration document grade`, or tab-separated under BEIR's header
      `query-id corpus-id score`. Grades of 0 and below are kept, but are not targets.
    - `run`: lines of `query Q0 document rank score tag`, in any order; the tag may have blanks.
    - `ties`: "trec" orders documents as trec_eval does: by descending score in single precision,
      and among equal scores by descending ID. "order" keeps the file's order of equal scores.
      Either way the rank column is ignored.

    Lines that begin with `#` are comments; both files may be gzipped. All judgments are read into
    memory, but only one query's lines of the run at a time.

    A query that occurs only in `qrels` gets a retrieval with an error, so it counts as unscored.
    Queries that occur only in `run` come last; they are unjudged, and left out of means. (trec_eval
    leaves out both kinds; with `-c` it counts queries that occur only in `qrels` as 0.)

    Raises `InputError` for a line of another form, a document judged twice with different grades,
    and an empty file; `ParameterError` for other `ties`.
    """
    check_choice(ties, "ties", get_args(Ties))
    return _from_files(existing_file(qrels), existing_file(run), ties)


def from_qrels_run(qrels: object, run: object, *, ties: Ties = "trec") -> Iterator[Sample]:
    """Return one sample per query, in the order of `qrels`, as `read_trec` does for files.

    `qrels` is `{query: {document: grade}}` and `run` `{query: {document: score}}`, as ranx,
    pytrec_eval and ir_measures take them. Objects whose `to_dict()` returns such a dict are also
    accepted, such as ranx's `Qrels` and `Run`. `ties="order"` keeps the dict's order of equal
    scores, as ranx does.

    Raises `InputError`, naming the query, for a wrong grade, score or ID; `ParameterError` for
    other `ties`.
    """
    check_choice(ties, "ties", get_args(Ties))
    return _from_mappings(qrels, run, ties)


def _from_mappings(qrels: object, run: object, ties: Ties) -> Iterator[Sample]:
    results = _queries(run, "run")

    def scored(query: str) -> ScoredDocuments:
        try:
            return [(_score(score), as_id(name)) for name, score in results[query].items()]
        except ValueError as error:
            raise InputError(f"run: query {query!r}: {error}", field="run") from None

    yield from _joined(_queries(qrels, "qrels"), results, scored, ties, "run")


def _from_files(qrels: str, run: str, ties: Ties) -> Iterator[Sample]:
    judged = judgments(qrels)
    with plain_text(run) as file:
        results = _RunLines(run, file)
        yield from _joined(judged, results.ranges, results.scored, ties, f"run {run}")


class _RunLines:
    """The lines of a run, read query by query.

    The lines of a query may be in several blocks. `ranges` has the offset, the length and the first
    line number of each block, by query.
    """

    def __init__(self, path: str, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self.ranges: dict[str, list[tuple[int, int, int]]] = {}
        query, start, first = "", file.tell(), 1
        end = start
        for number, line in in_file(path, byte_lines(file), "results"):
            own = _query_of(line)
            if own not in (query, None):
                self._add(query, start, end, first)
                query, start, first = own, end, number
            end += len(line)
        self._add(query, start, end, first)
        if not self.ranges:
            raise InputError("holds no results", path=path)

    def _add(self, query: str, start: int, end: int, first: int) -> None:
        if query:
            self.ranges.setdefault(query, []).append((start, end - start, first))

    def scored(self, query: str) -> ScoredDocuments:
        """Return the documents of a query with their scores, in the order of the file."""
        scored = []
        for start, size, first in self.ranges[query]:
            self._file.seek(start)
            lines = self._file.read(size).decode("utf-8", "surrogateescape").split("\n")
            for number, text in in_file(
                self._path, ((n, as_text(text, n)) for n, text in enumerate(lines, first)), ""
            ):
                if not _is_content(text):
                    continue
                fields = _split(text, len(_RUN))
                score = _number(fields[4]) if len(fields) == len(_RUN) else nan
                if isnan(score):
                    raise _unreadable(text, _RUN, self._path, number)
                # The same documents occur in many queries: intern their IDs to save memory.
                scored.append((score, sys.intern(fields[2])))
        return scored


def _query_of(line: bytes) -> str | None:
    """Return the query on a line of a run; None for a comment or a blank line."""
    words = line.split(None, 1)
    if not words or line.startswith(b"#"):
        return None
    if b"\t" in line:  # A query between tabs may have blanks.
        return _split(line.decode("utf-8", "surrogateescape"), len(_RUN))[0]
    return words[0].decode("utf-8", "surrogateescape")


def judgments(path: str) -> dict[str, dict[str, float]]:
    """Return the grade of each document that a file judges, by query."""
    judged: dict[str, dict[str, float]] = {}
    names: tuple[str, ...] = _QRELS
    for line, text in _lines(path):
        fields = _split(text, len(names))
        if not judged and [name.lower().replace("_", "-") for name in fields] == _BEIR_HEADER:
            names = _BEIR
            continue
        grade = _number(fields[-1]) if len(fields) == len(names) else nan
        if not isfinite(grade):
            raise _unreadable(text, names, path, line)
        query, document = fields[0], sys.intern(fields[-2])
        before = judged.setdefault(query, {}).setdefault(document, grade)
        if before != grade:
            problem = f"judges {document!r} twice: {before:g} before, {grade:g} here; keep one"
            raise InputError(f"query {query!r} {problem}", path=path, line=line)
    if not judged:
        raise InputError("holds no judgments", path=path)
    return judged


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield each line that is neither blank nor a comment, with its number."""
    with closing(text_lines(path)) as lines:
        yield from in_file(path, ((line, text) for line, text in lines if _is_content(text)), "")


def _is_content(text: str) -> bool:
    return bool(text.strip()) and not text.startswith("#")


def _split(text: str, columns: int) -> list[str]:
    fields = text.split()
    if len(fields) != columns and "\t" in text:
        cells = [field.strip() for field in text.strip().split("\t")]
        if len(cells) == columns:
            return cells
    # A run's last column, its tag, may have blanks: do not split it.
    return text.split(None, columns - 1) if len(fields) > columns == len(_RUN) else fields


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan


def _unreadable(text: str, names: tuple[str, ...], path: str, line: int) -> InputError:
    number = "grade" if "grade" in names else "score"
    return InputError(
        f"expected `{' '.join(names)}` with a number as {number}, got {shown(text.strip())} "
        "(qrels come first, a run second)",
        path=path,
        line=line,
    )


def _joined(
    judged: Mapping[str, Mapping[Any, Any]],
    results: Mapping[str, object],
    scored: Callable[[str], ScoredDocuments],
    ties: Ties,
    run: str,
) -> Iterator[Sample]:
    """Yield the sample of each judged query, then those of queries that occur only in the run."""
    for query in dict.fromkeys((*judged, *results)):
        fields: dict[str, Any] = {"judged": False}
        if query in judged:
            fields = {"reference_context_ids": judged[query]}
        if query in results:
            fields |= _ranked(scored(query), ties)
        else:
            fields["retrieval"] = Retrieval(error=f"query {query!r} is not in the {run}")
        try:
            sample = Sample(id=query, **fields)
        except InputError as error:
            raise InputError(f"qrels: query {query!r}: {error.problem}", field="qrels") from None
        yield sample


def _ranked(scored: ScoredDocuments, ties: Ties) -> dict[str, Any]:
    """Return two fields of a sample: IDs by descending score, and the ranks of ties as metadata."""
    if ties == "trec":
        # Compare scores in single precision, in which trec_eval stores them.
        singles = array("f", [score for score, _ in scored])
        names = [name for _, name in scored]
        ordered = sorted(zip(singles, names, strict=True), reverse=True)
    else:
        ordered = sorted(scored, key=itemgetter(0), reverse=True)
    fields: dict[str, Any] = {"retrieved_context_ids": [name for _, name in ordered]}
    if len({score for score, _ in ordered}) < len(ordered):
        fields["metadata"] = {TIED: list(_tied_ranks(ordered))}
    return fields


def _tied_ranks(ordered: ScoredDocuments) -> Iterator[list[int]]:
    """Yield the first and the last rank of each group of two or more equal scores."""
    last = 0
    for _, tied in groupby(ordered, key=itemgetter(0)):
        first, last = last + 1, last + len(list(tied))
        if first < last:
            yield [first, last]


def _score(value: object) -> float:
    """Return a score as a float; it may be infinite, but not NaN."""
    number = isinstance(value, float) and not isfinite(value) and not isnan(value)
    return float(value) if number else as_number(value, "a score")  # type: ignore[arg-type]


def _queries(queries_like: object, name: str) -> dict[str, Mapping[Any, Any]]:
    """Return the documents of each query; raise `InputError` for anything but a dict of dicts."""
    dump = getattr(queries_like, "to_dict", None)
    queries = dump() if callable(dump) else queries_like
    if not isinstance(queries, Mapping) or not queries:
        raise InputError(
            f"{name} must be {{query: {{document: number}}}}, got {type(queries_like).__name__} "
            f"{shown(queries_like)}: read_trec reads the files of trec_eval",
            field=name,
        )
    by_id: dict[str, Mapping[Any, Any]] = {}
    for query, documents in queries.items():
        try:
            key = as_id(query)
        except ValueError as error:
            raise InputError(f"{name}: {error}", field=name) from None
        if not isinstance(documents, Mapping):
            problem = f"query {key!r} must have {{document: number}}, got {shown(documents)}"
            raise InputError(f"{name}: {problem}", field=name)
        if key in by_id:
            raise InputError(f"{name}: two queries are named {key!r}", field=name)
        by_id[key] = documents
    return by_id


def is_beir(folder: Path) -> bool:
    """Return whether a folder has the files of BEIR for questions and judgments."""
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
