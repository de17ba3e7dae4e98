"""JSON files: an array of rows, or a data set that is one object."""

from __future__ import annotations

from collections.abc import Iterator

from fullrecall.errors import InputError
from fullrecall.hits import IdKey
from fullrecall.identifiers import shown
from fullrecall.read.datasets import EMBEDDING_QA_KEYS, LABELLED_RAG_KEY, rows_in
from fullrecall.read.rows import FIELDS, Columns, Rename, in_file, to_samples
from fullrecall.read.strict_json import array_items, parsed
from fullrecall.read.text_files import FilePath, existing_file, whole_text
from fullrecall.sample import Sample

_COLUMNS = (
    ": it is written by columns; expected one object for each sample. In pandas, "
    "read_json(path).to_json(path, orient='records') turns it round; in Python, "
    "[dict(zip(columns, row)) for row in zip(*columns.values())]"
)


def read_json(
    path: FilePath, *, rename: Rename | None = None, id_key: IdKey | None = None
) -> Iterator[Sample]:
    """Return the samples of a JSON file; its text, not its rows, comes into memory at once.

    The file holds an array of objects, or a data set that is one object: LlamaIndex's EmbeddingQA
    or LabelledRag, or SQuAD. Raises `InputError` with the line on which the row begins, or with
    the name of the question.
    """
    name, columns = existing_file(path), Columns(rename, id_key=id_key)
    return in_file(name, _samples(name, columns))


def _samples(path: str, columns: Columns) -> Iterator[Sample]:
    text = whole_text(path).rstrip()  # so that what ends too early ends on its last line
    begun = text.lstrip()[:1]
    if not begun:
        return
    if begun == "[":
        yield from to_samples(_objects(text), columns)
        return
    document = _parsed(text)
    rows = rows_in(document) if isinstance(document, dict) else None
    if rows is None:
        raise InputError(_not_samples(document))
    yield from to_samples(rows, columns)


def _objects(text: str) -> Iterator[tuple[int, object]]:
    for line, row in array_items(text):
        if not isinstance(row, dict):
            raise InputError(
                f"each item of the array must be an object, got {type(row).__name__} {shown(row)}",
                line=line,
            )
        yield line, row


def _parsed(text: str) -> object:
    try:
        return parsed(text)
    except InputError as error:
        if "Extra data" not in error.problem:
            raise
        hint = "; JSON Lines, one object per line, are read with read(path, format='jsonl')"
        raise InputError(error.problem + hint, line=error.line) from None


def _not_samples(document: object) -> str:
    meant = (
        "expected an array of objects, or LlamaIndex's EmbeddingQA (an object with "
        f"{', '.join(EMBEDDING_QA_KEYS)}) or LabelledRag (with {LABELLED_RAG_KEY})"
    )
    if not isinstance(document, dict):
        return f"{meant}; got {type(document).__name__} {shown(document)}"
    hint = ""
    if document and document.keys() <= FIELDS.keys():
        hint = _COLUMNS if _is_by_columns(document) else ": one sample is still an array, [{…}]"
    keys = ", ".join(map(repr, list(document)[:8]))
    return f"{meant}; got an object with {f'the keys {keys}' if keys else 'no keys'}{hint}"


def _is_by_columns(document: dict[str, object]) -> bool:
    """Whether each field holds a whole column: as pandas writes it, or as a dict of lists."""
    values = list(document.values())
    if all(isinstance(value, dict) for value in values):
        return True
    lengths = {len(value) if isinstance(value, list) else -1 for value in values}
    # Of a single sample, IDs and contexts are lists too, but its texts are not.
    return len(lengths) == 1 and any(
        FIELDS[name] in ("id", "user_input", "reference", "response") and isinstance(value, list)
        for name, value in document.items()
    )
