"""Write test sets in fullrecall's and other tools' formats, with notes on the data left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from fullrecall._util.extras import pyarrow
from fullrecall._util.parameters import as_path
from fullrecall._util.values import changed_by_json
from fullrecall.errors import InputError, ParameterError
from fullrecall.files.columns import is_id_like
from fullrecall.files.documents import DocumentsLike, documents_of
from fullrecall.files.formats import FORMATS, Format
from fullrecall.files.frames import from_rows
from fullrecall.files.placing import place
from fullrecall.files.text_files import FilePath
from fullrecall.samples.context import Context
from fullrecall.samples.sample import Claim, Sample
from fullrecall.show.output import written

IDS, CONTEXTS = "reference_context_ids", "reference_contexts"


@dataclass(frozen=True)
class Written:
    """A test set in another format, with notes on the data that the format cannot hold.

    `value` is the plain data: rows, a text, or a mapping from file names to contents. `notes` is
    empty if the format keeps everything.
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
    """Return samples in another tool's format, and write them to `path` if one is given.

    `read` reads all of these files back. The formats with a row for each sample:

    - "ragas" (0.2 to 0.4), "ragas_0.1", "deepeval", "langsmith", "langfuse", "mlflow" and its
      older "mlflow_requests", "azure", "bedrock", "trulens", "promptfoo", "autorag",
      "legalbench_rag" (spans).

    The formats that turn all samples into one object or folder:

    - "beir": a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv.
    - "mteb": rows of judgments; "qrels": `{query: {document: grade}}` as ranx and pytrec_eval
      have it; "llama_index_pairs": questions, corpus and relevant documents.

    The path's ending decides whether rows are written as JSON Lines or as Parquet. With any other
    ending they are written as JSON, which YAML readers can read too. `documents` are the corpus of
    BEIR and LlamaIndex. The notes name the data that a format cannot keep: only LangSmith, Langfuse
    and AutoRAG keep any-of groups; elsewhere each alternative becomes a separate reference. Raises
    `ParameterError` for an unknown format.
    """
    if format not in WRITTEN:
        raise ParameterError(f"unknown format {format!r}: choose one of {', '.join(WRITTEN)}")
    read = list(from_rows(samples))
    numbered = [(sample.id or f"q{number}", sample) for number, sample in enumerate(read, start=1)]
    notes = list(_notes(read, _kept(format)))
    if format in _WHOLE:
        value: Any = _WHOLE[format].made(numbered, documents)
        if isinstance(value, Mapping) and not value.get("corpus.jsonl", value.get("corpus", True)):
            notes.append("the corpus is empty: pass documents= to fill it")
    else:
        value = [_row(FORMATS[format], name, sample) for name, sample in numbered]
    if path is not None:
        _save(value, Path(path))
    return Written(format, value, tuple(notes))


def _save(value: Any, path: Path) -> None:
    if isinstance(value, Mapping) and "corpus.jsonl" in value:
        (path / "qrels").mkdir(parents=True, exist_ok=True)
        for name, content in value.items():
            _save(content, path / name)
    elif isinstance(value, str):
        written(value, path)
    elif path.suffix == ".jsonl" and isinstance(value, list):
        save_rows(value, path)
    elif path.suffix == ".parquet" and isinstance(value, list):
        pa = pyarrow("writing Parquet")
        pa.parquet.write_table(pa.Table.from_pylist(value), path)
    else:
        written(json.dumps(value, indent=1) + "\n", path)


def save_rows(rows: Iterable[Mapping[str, Any]], path: str | Path) -> None:
    """Write rows of plain values to a file, as JSON Lines."""
    written("".join(json.dumps(row) + "\n" for row in rows), path)


def _ids(sample: Sample) -> dict[str, float]:
    """Return the reference IDs with their grades; each alternative of a reference is separate.

    An ID in several references has the highest of their grades.
    """
    grades: dict[str, float] = {}
    for reference in sample.reference_context_ids or ():
        for name in reference.any_of:
            grades[name] = max(reference.grade, grades.get(name, reference.grade))
    return grades


def _row(form: Format, name: str, sample: Sample) -> dict[str, Any]:
    """Return a sample as a row of a format: each field at the format's path, and `name` as ID."""
    row: dict[str, Any] = deepcopy(dict(form.constants))
    for field, path in (form.writes or {}).items():
        value = name if field == "id" else _value(form, field, path, sample)
        if value is not None:
            place(row, path, value)
    return row


def _value(form: Format, field: str, path: str, sample: Sample) -> Any:
    """Return a sample's field as a format writes it at a path; None for a missing field."""
    value = getattr(sample, field)
    # A path such as `outputs.FIELD` holds the field in fullrecall's own notation.
    if value is not None and form.groups and path.endswith(f".{field}"):
        return sample.to_dict()[field]
    if value is not None and field in _VALUES:
        return _VALUES[field](form, path, sample)
    return list(value) if isinstance(value, tuple) else value


def _texts(items: Iterable[Claim | Context] | None) -> list[str | None]:
    return [each.text for each in items or ()]


def _reference_ids(form: Format, path: str, sample: Sample) -> list[Any]:
    if form.groups:
        return [list(reference.any_of) for reference in sample.reference_context_ids or ()]
    grades = _ids(sample)
    if "grade:" not in path:
        return list(grades)
    return [{"id": name, "grade": grade} for name, grade in grades.items()]


def _reference_contexts(_: Format, path: str, sample: Sample) -> list[Any]:
    contexts = [one for group in sample.reference_contexts or () for one in group]
    if "start:" not in path:
        return [one.text for one in contexts if one.text]
    spans = ("text", "source", "start", "end")
    return [{name: getattr(one, name) for name in spans} for one in contexts]


_VALUES: Mapping[str, Callable[[Format, str, Sample], Any]] = MappingProxyType(
    {
        IDS: _reference_ids,
        CONTEXTS: _reference_contexts,
        "reference_claims": lambda _, __, sample: _texts(sample.reference_claims),
        "retrieved_contexts": lambda _, __, sample: _texts(sample.retrieved_contexts),
        "metadata": lambda _, __, sample: dict(sample.metadata) or None,
    }
)
"""The fields that are not written as a sample holds them, with the functions that convert them."""


def _plain(grade: float) -> float:
    return int(grade) if grade == int(grade) else grade


def _qrels(samples: Sequence[tuple[str, Sample]], _: DocumentsLike) -> dict[str, Any]:
    return {
        name: {document: _plain(grade) for document, grade in _ids(sample).items()}
        for name, sample in samples
    }


def _mteb(samples: Sequence[tuple[str, Sample]], _: DocumentsLike) -> list[dict[str, Any]]:
    return [
        {"query-id": name, "corpus-id": document, "score": _plain(grade)}
        for name, sample in samples
        for document, grade in _ids(sample).items()
    ]


def _pairs(samples: Sequence[tuple[str, Sample]], documents: DocumentsLike) -> dict[str, Any]:
    return {
        "queries": {name: sample.user_input for name, sample in samples},
        "corpus": {document.id: document.text for document in documents_of(documents)},
        "relevant_docs": {name: list(_ids(sample)) for name, sample in samples},
        "mode": "text",
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


class _Whole(NamedTuple):
    """A format that turns all samples together into one object, not each sample into a row.

    `made` makes the object from the named samples and the documents. `keeps` has the sample fields
    that the format keeps.
    """

    made: Callable[[Sequence[tuple[str, Sample]], DocumentsLike], Any]
    keeps: frozenset[str]


_WHOLE: Mapping[str, _Whole] = MappingProxyType(
    {
        "beir": _Whole(_beir, frozenset({"user_input", IDS, "grades"})),
        "mteb": _Whole(_mteb, frozenset({IDS, "grades"})),
        "qrels": _Whole(_qrels, frozenset({IDS, "grades"})),
        "llama_index_pairs": _Whole(_pairs, frozenset({"user_input", IDS})),
    }
)

WRITTEN = (*(name for name, form in FORMATS.items() if form.writes is not None), *_WHOLE)
"""The formats that `write` knows."""


def _kept(name: str) -> frozenset[str]:
    """Return the fields that a format keeps.

    The set also has "alternatives" and "grades" if the format keeps the alternatives and the grades
    of reference IDs.
    """
    if name in _WHOLE:
        return _WHOLE[name].keeps
    form = FORMATS[name]
    paths = form.writes or {}
    ids = paths.get(IDS, "")
    is_own = form.groups and ids.endswith(f".{IDS}")
    kept = {"alternatives"} if form.groups else set()
    return frozenset({*paths, *kept, *({"grades"} if is_own or "grade:" in ids else ())})


LEFT_OUT = {
    "user_input": "questions",
    "reference": "reference answers",
    "reference_claims": "claims",
    IDS: "reference IDs",
    CONTEXTS: "reference contexts",
    "reference_entities": "entities",
    "forbidden_ids": "forbidden IDs",
    "forbidden_contexts": "forbidden contexts",
    "superseded": "superseded IDs",
    "retrieved_contexts": "retrieved contexts",
    "retrieved_context_ids": "retrieved IDs",
    "response": "responses",
}
"""The fields that a note mentions if a format loses them, with the words of the note."""


def _notes(samples: list[Sample], keeps: frozenset[str]) -> Iterator[str]:
    """Yield a note on each part of the samples that a format loses.

    `keeps` are the fields that the format keeps, as `_kept` returns them.
    """
    ids = [ref for sample in samples for ref in sample.reference_context_ids or ()]
    texts = [group for sample in samples for group in sample.reference_contexts or ()]
    sizes = [len(ref.any_of) for ref in ids if IDS in keeps] + [
        len(group) for group in texts if CONTEXTS in keeps
    ]
    if "alternatives" not in keeps and max(sizes, default=1) > 1:
        yield "any-of groups are taken apart: each alternative is a target there, so recall falls"
    if IDS in keeps and "grades" not in keeps and any(ref.grade != 1 for ref in ids):
        yield "grades are left out: every reference counts alike"
    for field, called in LEFT_OUT.items():
        if field not in keeps and any(getattr(sample, field) for sample in samples):
            yield f"{called} are left out"
    if any(sample.answerable is not None for sample in samples):
        yield "whether a question is answerable is left out"


def write_jsonl(samples: Iterable[Sample | Mapping[str, Any]], path: FilePath) -> int:
    """Write samples as JSON Lines that `read` reads back as equal samples; return their number.

    The file is replaced only when the new one is complete: an error leaves the old file. Raises
    `InputError` for metadata that JSON cannot hold.
    """
    lines = [_line(sample, n) for n, sample in enumerate(from_rows(samples), start=1)]
    written("".join(lines), as_path(path))
    return len(lines)


def _line(sample: Sample, number: int) -> str:
    try:
        line = json.dumps(_unmistakable(sample.to_dict()), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        problem = f"metadata holds what JSON has no form for: {error}"
        raise InputError(problem, line=number, field="metadata") from None
    changed = changed_by_json(line)
    if changed is not None:
        raise InputError(changed, line=number)
    return line + "\n"


def _unmistakable(fields: dict[str, Any]) -> dict[str, Any]:
    """Return a row; if its answer looks like an ID, add null reference IDs.

    Otherwise `read` would be in doubt whether the column `reference` has answers or IDs.
    """
    is_open = IDS not in fields and is_id_like(fields.get("reference"))
    return {**fields, IDS: None} if is_open else fields
