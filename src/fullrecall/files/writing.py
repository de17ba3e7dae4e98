"""Test sets in the formats of other tools, which say what they could not keep; and our own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fullrecall._util.parameters import as_path
from fullrecall.errors import InputError, ParameterError
from fullrecall.files.columns import is_id_like
from fullrecall.files.documents import DocumentsLike, documents_of
from fullrecall.files.frames import from_rows
from fullrecall.files.text_files import FilePath
from fullrecall.samples.sample import Sample
from fullrecall.show.output import written

IDS, CONTEXTS = "reference_context_ids", "reference_contexts"


@dataclass(frozen=True)
class Written:
    """What was made, and what of the test set it does not say.

    `value` is the plain data: rows, a text, or the files of a folder by name. `notes` are empty
    where nothing was lost.
    """

    format: str
    value: Any
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join((f"format {self.format}", *self.notes))


def write(
    samples: Iterable[Sample | Mapping[str, Any]],
    format: str,  # noqa: A002 - the format's name
    path: str | Path | None = None,
    *,
    documents: DocumentsLike = (),
) -> Written:
    """Return samples as another tool has them, and write them to `path` if there is one.

    `read` reads all of these files back.

    - "ragas": rows of `user_input`, `reference`, `reference_contexts`, `reference_context_ids`.
    - "langsmith": rows of `inputs`, `outputs`, `metadata`, with all references.
    - "deepeval": goldens as rows.
    - "beir": a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv.

    Rows are JSON, or JSON Lines where the path ends in `.jsonl`. `documents` are BEIR's corpus.
    Only LangSmith's rows keep any-of groups: elsewhere each alternative becomes a reference of its
    own, and the notes say so. Raises `ParameterError` for an unknown format.
    """
    if format not in KEPT:
        raise ParameterError(f"unknown format {format!r}: choose one of {', '.join(KEPT)}")
    read = list(from_rows(samples))
    numbered = [(sample.id or f"q{number}", sample) for number, sample in enumerate(read, start=1)]
    notes = list(_notes(read, KEPT[format]))
    if format in _ROWS:
        value: Any = [_ROWS[format](name, sample) for name, sample in numbered]
    else:
        value = _beir(numbered, documents)
        if not value["corpus.jsonl"]:
            notes.append("the corpus is empty: pass documents= to fill it")
    if path is not None:
        _save(value, Path(path))
    return Written(format, value, tuple(notes))


def _save(value: Any, path: Path) -> None:
    if isinstance(value, Mapping):
        (path / "qrels").mkdir(parents=True, exist_ok=True)
        for name, content in value.items():
            _save(content, path / name)
    elif isinstance(value, str):
        written(value, path)
    elif path.suffix == ".jsonl":
        save_rows(value, path)
    else:
        written(json.dumps(value, indent=1) + "\n", path)


def save_rows(rows: Iterable[Mapping[str, Any]], path: str | Path) -> None:
    """Write plain values as JSON Lines."""
    written("".join(json.dumps(row) + "\n" for row in rows), path)


def _ids(sample: Sample) -> dict[str, float]:
    """Return the reference IDs with their grades, each alternative by itself."""
    grades: dict[str, float] = {}
    for reference in sample.reference_context_ids or ():
        for name in reference.any_of:
            grades[name] = max(reference.grade, grades.get(name, reference.grade))
    return grades


def _texts(sample: Sample) -> list[str]:
    groups = sample.reference_contexts or ()
    return [context.text for group in groups for context in group if context.text]


def _ragas(_: str, sample: Sample) -> dict[str, Any]:
    return {
        "user_input": sample.user_input,
        "reference": sample.reference,
        CONTEXTS: _texts(sample),
        IDS: list(_ids(sample)),
    }


def _langsmith(name: str, sample: Sample) -> dict[str, Any]:
    fields = sample.to_dict().items()
    outputs = {name: value for name, value in fields if name.startswith("reference")}
    metadata = {"id": name, "group": sample.group, **sample.metadata}
    kept = {key: value for key, value in metadata.items() if value is not None}
    return {"inputs": {"question": sample.user_input}, "outputs": outputs, "metadata": kept}


def _deepeval(name: str, sample: Sample) -> dict[str, Any]:
    return {
        "input": sample.user_input,
        "expected_output": sample.reference,
        "context": _texts(sample),
        "source_file": next(iter(_ids(sample)), None),
        "additional_metadata": {"id": name, **sample.metadata},
    }


def _beir(samples: Sequence[tuple[str, Sample]], documents: DocumentsLike) -> dict[str, Any]:
    lines = ["query-id\tcorpus-id\tscore\n"]
    for name, sample in samples:
        lines += [f"{name}\t{document}\t{grade:g}\n" for document, grade in _ids(sample).items()]
    return {
        "corpus.jsonl": [
            {"_id": document.id, "title": "", "text": document.text}
            for document in documents_of(documents)
        ],
        "queries.jsonl": [{"_id": name, "text": sample.user_input} for name, sample in samples],
        "qrels/test.tsv": "".join(lines),
    }


_ROWS = {"ragas": _ragas, "langsmith": _langsmith, "deepeval": _deepeval}

KEPT: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "ragas": frozenset({"user_input", "reference", IDS, CONTEXTS}),
        "langsmith": frozenset({*Sample.names(), "alternatives", "grades"}),
        "deepeval": frozenset({"user_input", "reference", CONTEXTS}),
        "beir": frozenset({"user_input", IDS, "grades"}),
    }
)
"""The formats that `write` knows, with what each keeps of a sample."""

_LEFT_OUT = {
    "user_input": "questions",
    "reference": "reference answers",
    "reference_claims": "claims",
    IDS: "reference IDs",
}


def _notes(samples: list[Sample], keeps: frozenset[str]) -> Iterator[str]:
    """Yield what is lost of samples by a format that keeps these fields."""
    ids = [ref for sample in samples for ref in sample.reference_context_ids or ()]
    texts = [group for sample in samples for group in sample.reference_contexts or ()]
    sizes = [len(ref.any_of) for ref in ids if IDS in keeps] + [
        len(group) for group in texts if CONTEXTS in keeps
    ]
    if "alternatives" not in keeps and max(sizes, default=1) > 1:
        yield "any-of groups are taken apart: each alternative is a target there, so recall falls"
    if IDS in keeps and "grades" not in keeps and any(ref.grade != 1 for ref in ids):
        yield "grades are left out: every reference counts alike"
    for field, called in _LEFT_OUT.items():
        if field not in keeps and any(getattr(sample, field) for sample in samples):
            yield f"{called} are left out"


def write_jsonl(samples: Iterable[Sample | Mapping[str, Any]], path: FilePath) -> int:
    """Write samples as JSON Lines that `read` reads back equal; return how many.

    The file appears when it is complete: an error on the way leaves what was there before. Raises
    `InputError` for metadata that JSON has no form for.
    """
    lines = [_line(sample, n) for n, sample in enumerate(from_rows(samples), start=1)]
    written("".join(lines), as_path(path))
    return len(lines)


def _line(sample: Sample, number: int) -> str:
    try:
        return json.dumps(_unmistakable(sample.to_dict()), ensure_ascii=False) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        problem = f"metadata holds what JSON has no form for: {error}"
        raise InputError(problem, line=number, field="metadata") from None


def _unmistakable(fields: dict[str, Any]) -> dict[str, Any]:
    """Return a row, with a null for the reference IDs where its answer looks like one of them."""
    is_open = IDS not in fields and is_id_like(fields.get("reference"))
    return {**fields, IDS: None} if is_open else fields
