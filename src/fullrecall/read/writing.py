"""Test sets in the formats of other tools, which say what they could not keep; and our own."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fullrecall.context import Context, ContextLike, as_context
from fullrecall.errors import InputError, MissingExtraError, ParameterError
from fullrecall.read.documents import Document
from fullrecall.read.export_set import Alternatives, ExportSet
from fullrecall.read.formats import CONTEXTS, FORMATS, IDS, Format
from fullrecall.read.frames import from_rows
from fullrecall.read.text_files import FilePath
from fullrecall.sample import Sample
from fullrecall.views.exports import written

WRITABLE = tuple(name for name, form in FORMATS.items() if form.container)
"""The formats that `write` knows."""


@dataclass(frozen=True)
class Written:
    """What was made, and what of the test set it does not say.

    `value` is the plain data: rows, or one object. `notes` are empty where nothing was lost.
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
    documents: Iterable[ContextLike | Document] = (),
    alternatives: Alternatives = "all",
) -> Written:
    """Return samples as another tool has them, and write them to `path` if there is one.

    `read` reads all of these files back but TREC's, which have no questions.

    - "ragas": rows of `user_input`, `reference`, `reference_contexts`, `reference_context_ids`.
    - "embedding_qa", "labelled_rag": LlamaIndex's two data sets as JSON.
    - "langsmith": rows of `inputs`, `outputs`, `metadata`, with all references.
    - "deepeval": goldens as JSON rows.
    - "hotpotqa", "squad": rows with the documents' texts.
    - "beir", "mteb": a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv or .jsonl.
      "trec": qrels.
    - "hugging_face": a `datasets.Dataset`, saved to the folder `path`. "parquet": a file.

    `documents` are texts by ID: the corpus, where a format holds it. No format but LangSmith's
    rows and the last two has any-of groups: `alternatives` says what becomes of them, and the
    notes say what that does to recall. Raises `ParameterError` for an unknown format,
    `InputError` where a format cannot hold a sample, and `MissingExtraError` without the package
    that it needs.
    """
    if format not in WRITABLE:
        raise ParameterError(f"unknown format {format!r}: choose one of {', '.join(WRITABLE)}")
    if alternatives not in ("all", "first"):
        raise ParameterError(f"alternatives: choose one of all, first, got {alternatives!r}")
    texts = {}
    for item in documents:
        context = item if isinstance(item, Context) else _as_context(item)
        texts[str(context.id)] = context.text or ""
    exported, form = ExportSet(list(from_rows(samples)), alternatives, texts), FORMATS[format]
    value, save = CONTAINERS[str(form.container)](form.value_of(exported))
    notes = [*_notes(exported, form), *_corpus_notes(value)]
    if path is not None:
        save(Path(path))
    return Written(format, value, (*notes, *filter(None, (form.note,))))


def _as_context(item: Any) -> Context:
    if isinstance(item, tuple) and len(item) >= 2:  # noqa: PLR2004 - a `Document`
        return Context(item[1], id=item[0])
    return as_context(item)


_LEFT_OUT = {
    "user_input": "questions",
    "reference": "reference answers",
    "reference_claims": "claims",
}


def _notes(exported: ExportSet, form: Format) -> Iterator[str]:
    """Yield what is lost of a set by a format."""
    samples, keeps = exported.samples, form.keeps
    ids = [r for s in samples for r in s.reference_context_ids or ()]
    alternatives = sum(
        any(len(r.any_of) > 1 for r in s.reference_context_ids or () if IDS in keeps)
        or any(len(group) > 1 for group in s.reference_contexts or () if CONTEXTS in keeps)
        for s in samples
    )
    if alternatives and "alternatives" not in keeps:
        did = (
            "each alternative becomes a separate target there: recall falls"
            if exported.alternatives == "all"
            else "only the first alternative is there: the others count as not relevant"
        )
        have = "1 sample has" if alternatives == 1 else f"{alternatives:,} samples have"
        yield f"{have} any-of groups, which this format lacks; {did}"
    if IDS in keeps and "grades" not in keeps and any(r.grade != 1 for r in ids):
        yield "grades are left out: every reference counts alike"
    if IDS not in keeps and ids:
        yield "reference IDs are left out: recall is by text there"
    several = sum(len(exported.ids(sample)) > 1 for sample in samples)
    if several and "several" not in keeps:
        yield f"{several:,} samples have several references: the first alone is there"
    for field, called in _LEFT_OUT.items():
        if field not in keeps and any(getattr(sample, field) for sample in samples):
            yield f"{called} are left out"


def _corpus_notes(value: object) -> Iterator[str]:
    if isinstance(value, Mapping) and value.get("corpus", True) in ([], {}):
        yield "the corpus is empty: pass documents= to fill it"


_Saved = tuple[Any, Callable[[Path], object]]
"""What was made, in the form of its container, and what saves it."""


def _json(value: Any) -> _Saved:
    def save(path: Path) -> None:
        by_lines = path.suffix == ".jsonl" and isinstance(value, list)
        written(_lines(value) if by_lines else json.dumps(value, indent=1) + "\n", path)

    return value, save


def _text(value: str) -> _Saved:
    return value, lambda path: written(value, path)


def _folder(files: Mapping[str, Any]) -> _Saved:
    """Save a folder as BEIR has it: JSON Lines, and the judgments of a split."""

    def save(folder: Path) -> None:
        (folder / "qrels").mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            stem = "qrels/test" if name == "qrels" else name
            if isinstance(content, str):
                written(content, folder / f"{stem}.tsv")
            else:
                written(_lines(content), folder / f"{stem}.jsonl")

    return files, save


def _dataset(rows: Sequence[Mapping[str, Any]]) -> _Saved:
    try:
        from datasets import Dataset
    except ImportError:
        raise MissingExtraError("datasets", "test", "A Hugging Face data set") from None
    dataset = Dataset.from_list(list(rows))
    return dataset, lambda folder: dataset.save_to_disk(str(folder))


def _parquet(rows: list[dict[str, Any]]) -> _Saved:
    def save(path: Path) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise MissingExtraError("pyarrow", "parquet", "Writing Parquet") from None
        pq.write_table(pa.Table.from_pylist(rows), path)

    return rows, save


CONTAINERS: Mapping[str, Callable[[Any], _Saved]] = MappingProxyType(
    {
        "json": _json,
        "text": _text,
        "folder": _folder,
        "dataset": _dataset,
        "parquet": _parquet,
    }
)


def _lines(rows: Iterable[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_jsonl(samples: Iterable[Sample | Mapping[str, Any]], path: FilePath) -> int:
    """Write samples as JSON Lines that `read` reads back equal; return how many.

    A path that ends in `.gz` is compressed. The file appears when it is complete: an error on
    the way leaves what was there before. Raises `InputError` for metadata that JSON has no form
    for.
    """
    final = Path(os.fsdecode(path))
    if final.exists() and not final.is_file():  # a pipe, or /dev/stdout
        with final.open("wb") as file:
            return _write_rows(samples, file.write)
    final = final.resolve()  # a link stays one: the file that it names is replaced
    part = final.with_name(f"{final.name}.part")
    try:
        with part.open("wb") as file:
            if final.suffix == ".gz":
                # No name and no time in the header: the same samples give the same bytes.
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    count = _write_rows(samples, packed.write)
            else:
                count = _write_rows(samples, file.write)
        part.replace(final)
    finally:
        part.unlink(missing_ok=True)
    return count


def _write_rows(
    samples: Iterable[Sample | Mapping[str, Any]], write: Callable[[bytes], object]
) -> int:
    count = 0
    for count, sample in enumerate(from_rows(samples), start=1):
        try:
            text = json.dumps(sample.to_dict(), ensure_ascii=False)
        except (TypeError, ValueError, RecursionError) as error:
            problem = f"metadata holds what JSON has no form for: {error}"
            raise InputError(problem, line=count, field="metadata") from None
        try:
            line = text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, which JSON can only escape
            line = json.dumps(sample.to_dict()).encode()
        write(line + b"\n")
    return count
